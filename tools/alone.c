/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys that one rank alone looked for, out of the segment's events: where ranks should share and
 * each has keys of its own, this says so.
 */
#include "alone.h"

#include "tool.h"

#include <rankshare/segment.h>
#include <stdlib.h>
#include <string.h>

/* The ring may be full with torn entries left out. */
enum { FULL = RS_EVENTS - RS_EVENTS / 64 };

static const uint8_t no_key[32];

/* Events of keys, of ranks that are known. */
static bool counts(const struct rs_event *event)
{
    return event->job < RS_JOBS && event->rank >= 0 && memcmp(event->key, no_key, 32) != 0;
}

static int by_key(const void *left, const void *right)
{
    const struct rs_event *a = left, *b = right;

    if (a->job != b->job)
        return a->job < b->job ? -1 : 1;
    return memcmp(a->key, b->key, sizeof(a->key));
}

/* Ranks that load AOTAutograd entries come to FX keys without looking for them. */
static bool others_load_aot(const struct view_job *job, int rank)
{
    for (size_t i = 0; i < job->count; i++) {
        const uint64_t *c = job->processes[i].counters;

        if (job->processes[i].rank != rank && c[RS_C_aot_hits] + c[RS_C_aot_waited] > 0)
            return true;
    }
    return false;
}

static struct view_alone *of_rank(struct view_job *job, int rank)
{
    for (size_t i = 0; i < job->alone_count; i++)
        if (job->alone[i].rank == rank)
            return &job->alone[i];
    job->alone = reallocarray(job->alone, job->alone_count + 1, sizeof(*job->alone));
    if (!job->alone) {
        tool_error(NULL, "out of memory");
        exit(TOOL_UNREADABLE);
    }
    struct view_alone *alone = &job->alone[job->alone_count++];
    *alone = (struct view_alone){.rank = rank};
    return alone;
}

/* EVENTS are all those of one key. */
static void judge(struct view_job *job, const struct rs_event *events, size_t count)
{
    bool fx = false, aot = false;
    int rank = events[0].rank;

    for (size_t i = 0; i < count; i++) {
        if (events[i].rank != rank)
            return;
        fx = fx || events[i].kind == RS_KIND_fx_details;
        aot = aot || events[i].kind == RS_KIND_aot_details;
    }
    if (aot)
        of_rank(job, rank)->aot++;
    else if (fx && !others_load_aot(job, rank))
        of_rank(job, rank)->fx++;
}

void alone_find(const struct rs_store *store, struct view_job *jobs)
{
    struct rs_event *events = tool_alloc(RS_EVENTS * sizeof(*events));
    size_t all = rs_events_read(store, events, RS_EVENTS), count = 0;

    for (size_t i = 0; i < all; i++)
        if (counts(&events[i]))
            events[count++] = events[i];
    if (all >= FULL) /* the other rank's look may have been overwritten */
        count = 0;
    qsort(events, count, sizeof(*events), by_key);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && by_key(&events[i], &events[next]) == 0; next++)
            ;
        judge(&jobs[events[i].job], &events[i], next - i);
    }
    free(events);
}
