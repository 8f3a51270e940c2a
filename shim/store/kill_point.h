/* SPDX-License-Identifier: Apache-2.0
 *
 * RS_KILL_POINT(name): a test build (-DRS_KILL_POINTS) kills, stops or holds up the process here
 * when the test has armed that point; every other build has nothing here.
 */
#ifndef RS_STORE_KILL_POINT_H
#define RS_STORE_KILL_POINT_H

#ifdef RS_KILL_POINTS

enum rs_kill {
    RS_KILL_NONE,
#define RS_KILL(name, text) RS_KILL_##name,
#include "store/kill_points.def"
#undef RS_KILL
    RS_KILL_COUNT
};

/* Defined by the test program: does not return when POINT is armed. */
void rs_kill_point(enum rs_kill point);
#define RS_KILL_POINT(name) rs_kill_point(RS_KILL_##name)

#else
#define RS_KILL_POINT(name) ((void)0)
#endif

#endif
