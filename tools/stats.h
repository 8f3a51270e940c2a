/* SPDX-License-Identifier: Apache-2.0
 *
 * What the counters say, for people.
 */
#ifndef RS_TOOLS_STATS_H
#define RS_TOOLS_STATS_H

#include "view.h"

#include <stdio.h>

/* One line: what a job compiled, loaded, waited for and refused. JOB may be NULL. False: the line
 * says that nothing was looked up. */
bool stats_summary(const struct view_job *job, FILE *out);

/* The job's own line, its table by rank, and its refusals with their reasons. */
void stats_job(const struct view_job *job, FILE *out);

#endif
