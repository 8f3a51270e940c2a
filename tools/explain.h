/* SPDX-License-Identifier: Apache-2.0
 *
 * What went otherwise than it should in a job, in sentences: for stats, run and doctor.
 */
#ifndef RS_TOOLS_EXPLAIN_H
#define RS_TOOLS_EXPLAIN_H

#include "view.h"

typedef void explain_say(void *context, const char *sentence);

/* Calls SAY for each thing: refusals with their reasons, counters that stay at zero in a healthy
 * job, and what ranks disagree in. */
void explain_job(const struct view_job *job, explain_say *say, void *context);

#endif
