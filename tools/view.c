/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies jobs, processes and counters out of the segment.
 */
#include "view.h"

#include "alone.h"
#include "base/config.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool view_segment_name_of_library(const char *override, char name[RS_SEGMENT_NAME_MAX])
{
    struct rs_config config;

    if (!override) {
        rs_config_read(&config, environ);
        override = config.segment;
    }
    return view_segment_name(override, name);
}

bool view_segment_name(const char *override, char name[RS_SEGMENT_NAME_MAX])
{
    if (!override)
        override = getenv("RANKSHARE_SEGMENT");
    if (rs_store_name(name, getuid(), override))
        return true;
    tool_error(override, "a segment's name holds no slash and has at most %d characters",
               RS_SEGMENT_NAME_MAX - 32);
    return false;
}

uint64_t view_refused(const uint64_t counters[RS_COUNTER_COUNT])
{
    uint64_t sum = 0;

    for (int i = RS_C_REFUSED; i < RS_COUNTER_COUNT; i++)
        sum += counters[i];
    return sum;
}

const char *view_flag(const uint64_t counters[RS_COUNTER_COUNT], size_t index, uint64_t *details)
{
    static const char prefix[] = "flag_";

    for (int i = 0; i < RS_C_REFUSED; i++) {
        const char *name = rs_counter_name((enum rs_counter)i);

        if (counters[i] && strncmp(name, prefix, strlen(prefix)) == 0 && index-- == 0) {
            *details = counters[i];
            return name + strlen(prefix);
        }
    }
    return NULL;
}

/* By rank, then pid; who has no rank comes last. */
static int compare(const void *left, const void *right)
{
    const struct view_process *a = left, *b = right;
    unsigned rank_a = (unsigned)a->rank, rank_b = (unsigned)b->rank; /* -1 is the largest */

    if (a->folded != b->folded)
        return a->folded ? 1 : -1;
    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

static struct view_process *add_process(struct view_job *job, const uint64_t *counters)
{
    struct view_process *processes =
        reallocarray(job->processes, job->count + 1, sizeof(*processes));

    if (!processes) {
        tool_error(NULL, "out of memory");
        exit(TOOL_UNREADABLE);
    }
    job->processes = processes;
    struct view_process *process = &processes[job->count++];
    *process = (struct view_process){.rank = -1, .ordinal = -1, .alive = -1};
    for (int i = 0; i < RS_COUNTER_COUNT; i++) {
        process->counters[i] = counters[i];
        job->total[i] += counters[i];
    }
    return process;
}

static bool any(const uint64_t counters[RS_COUNTER_COUNT])
{
    for (int i = 0; i < RS_COUNTER_COUNT; i++)
        if (counters[i])
            return true;
    return false;
}

static void copy_job(struct view_job *job, const struct rs_job_view *from)
{
    memcpy(job->id, from->name, sizeof(job->id));
    memcpy(job->torch, from->torch, sizeof(job->torch));
    memcpy(job->triton, from->triton, sizeof(job->triton));
    memcpy(job->device, from->device, sizeof(job->device));
    job->world = from->world;
    job->first_ns = from->first_ns;
    if (any(from->counters))
        add_process(job, from->counters)->folded = true;
}

static void copy_process(struct view_job *job, const struct rs_slot_view *from)
{
    struct view_process *process = add_process(job, from->counters);

    process->rank = from->rank;
    process->pid = from->pid;
    process->ordinal = from->ordinal;
    process->alive = from->alive;
}

static int older(const void *left, const void *right)
{
    const struct view_job *a = left, *b = right;

    return (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

static void free_job(struct view_job *job)
{
    free(job->processes);
    free(job->alone);
}

/* Fills VIEW, then drops the places of the job table that are empty. */
static void copy(const struct rs_store *store, struct view *view)
{
    struct view_job *jobs = tool_alloc((RS_JOBS + 1) * sizeof(*jobs));
    struct view_job *unnamed = &jobs[RS_JOBS]; /* of processes that found the job table full */
    struct rs_job_view job;
    struct rs_slot_view slot;

    for (unsigned i = 0; i < RS_JOBS; i++)
        if (rs_job_read(store, i, &job))
            copy_job(&jobs[i], &job);
    for (unsigned i = 0; i < RS_SLOTS; i++)
        if (rs_slot_read(store, i, &slot))
            copy_process(slot.job < RS_JOBS ? &jobs[slot.job] : unnamed, &slot);
    alone_find(store, jobs);
    for (unsigned i = 0; i <= RS_JOBS; i++) {
        if (strcmp(jobs[i].id, VIEW_OWN_JOB) == 0) {
            free_job(&jobs[i]);
            continue;
        }
        if (jobs[i].count == 0)
            continue;
        qsort(jobs[i].processes, jobs[i].count, sizeof(*jobs[i].processes), compare);
        jobs[view->count++] = jobs[i];
    }
    qsort(jobs, view->count, sizeof(*jobs), older);
    view->jobs = jobs;
}

enum rs_store_status view_read(const char *name, struct view *view)
{
    struct rs_store store;
    enum rs_store_status status = rs_store_open(name, false, false, &store);

    *view = (struct view){0};
    if (status == RS_STORE_OK) {
        status = rs_store_check(&store);
        if (status == RS_STORE_OK) {
            copy(&store, view);
            rs_artifact_sums(&store, &view->artifacts);
            modules_read(&store, &view->modules);
        }
        rs_store_close(&store);
    }
    return status;
}

void view_free(struct view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        free_job(&view->jobs[i]);
    }
    free(view->jobs);
    modules_free(&view->modules);
    *view = (struct view){0};
}

const struct view_job *view_find(const struct view *view, const char *id)
{
    for (size_t i = 0; id && i < view->count; i++)
        if (strcmp(view->jobs[i].id, id) == 0)
            return &view->jobs[i];
    return NULL;
}
