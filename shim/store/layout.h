/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the tables lie in a mapped segment. Pure.
 */
#ifndef RS_STORE_LAYOUT_H
#define RS_STORE_LAYOUT_H

#include <rankshare/segment.h>

#include <stddef.h>

enum {
    RS_AT_JOBS = sizeof(struct rs_segment),
    RS_AT_SLOTS = RS_AT_JOBS + RS_JOBS * sizeof(struct rs_job),
    RS_AT_LEASES = RS_AT_SLOTS + RS_SLOTS * sizeof(struct rs_slot),
    RS_AT_EVENTS = RS_AT_LEASES + RS_LEASES * sizeof(struct rs_lease),
    RS_SEGMENT_SIZE = RS_AT_EVENTS + RS_EVENTS * sizeof(struct rs_event_cell),
};

/* The header says the same offsets, and opening has compared them. */
static inline void *rs_at(const struct rs_segment *segment, size_t offset)
{
    return (unsigned char *)(uintptr_t)segment + offset;
}

static inline struct rs_job *rs_jobs(const struct rs_segment *segment)
{
    return rs_at(segment, RS_AT_JOBS);
}

static inline struct rs_slot *rs_slots(const struct rs_segment *segment)
{
    return rs_at(segment, RS_AT_SLOTS);
}

static inline struct rs_lease *rs_leases(const struct rs_segment *segment)
{
    return rs_at(segment, RS_AT_LEASES);
}

static inline struct rs_event_cell *rs_events(const struct rs_segment *segment)
{
    return rs_at(segment, RS_AT_EVENTS);
}

#endif
