/* SPDX-License-Identifier: Apache-2.0
 *
 * What the segment says, copied out of it: jobs, their processes, and counters. A plain snapshot
 * that stays as it is while ranks go on counting.
 */
#ifndef RS_TOOLS_VIEW_H
#define RS_TOOLS_VIEW_H

#include "modules.h"
#include "store/inspect.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One process of a job, or the sum of those whose slots were reused (FOLDED: no pid, no rank). */
struct view_process {
    bool folded;
    int rank; /* -1: unknown */
    long pid;
    int ordinal; /* -1: unknown */
    int alive;   /* 1 yes, 0 no, -1 can't be judged */
    uint64_t counters[RS_COUNTER_COUNT];
};

/* Shared keys that this rank looked for and no other one did. */
struct view_alone {
    int rank;
    unsigned fx, aot;
};

struct view_job {
    char id[RS_JOB_NAME_MAX];
    /* "": unknown; "A / B": its processes disagree. */
    char torch[RS_VERSION_MAX], triton[RS_VERSION_MAX], device[RS_DEVICE_MAX];
    uint64_t first_ns;              /* CLOCK_REALTIME of its first process */
    int world;                      /* 0 unknown */
    struct view_process *processes; /* by rank, then pid; folded last */
    size_t count;
    struct view_alone *alone; /* in no order */
    size_t alone_count;
    uint64_t total[RS_COUNTER_COUNT];
};

struct view {
    struct view_job *jobs; /* oldest first */
    size_t count;
    struct rs_artifact_sums artifacts;
    struct modules modules;
};

/* What the program's own processes that put artifacts are called: no job of the user's, and none in
 * a view. */
#define VIEW_OWN_JOB "rankshare warm"

/* Opens the segment NAME for reading and copies it. On failure VIEW is empty. */
enum rs_store_status view_read(const char *name, struct view *view);
void view_free(struct view *view);
const struct view_job *view_find(const struct view *view, const char *id);

/* Sum of the refusal counters. */
uint64_t view_refused(const uint64_t counters[RS_COUNTER_COUNT]);

/* A setting of the job that its details showed: INDEX counts from 0 over those with a counter above
 * 0. NULL: there are no more. *DETAILS: how many details showed it. */
const char *view_flag(const uint64_t counters[RS_COUNTER_COUNT], size_t index, uint64_t *details);

/* The same for who only reports: nonsense in RANKSHARE_SEGMENT means the default there. */
bool view_segment_name_of_library(const char *override, char name[RS_SEGMENT_NAME_MAX]);

/* Name of the segment: OVERRIDE (an option's argument), else RANKSHARE_SEGMENT, else the user's
 * own. Says so and returns false when it can't be a name. */
bool view_segment_name(const char *override, char name[RS_SEGMENT_NAME_MAX]);

#endif
