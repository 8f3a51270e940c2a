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
    RS_AT_MODULES = RS_AT_EVENTS + RS_EVENTS * sizeof(struct rs_event_cell),
    RS_SEGMENT_SIZE = RS_AT_MODULES + RS_MODULES * sizeof(struct rs_module),
};

/* The artifact store's index has a mapping of its own, at a multiple of every page size; offsets in
 * it. Only what is reserved may be touched: chains, pins and wants at once, of the bitmap what the
 * arena needs, of the others as many entries as the header says. */
enum {
    RS_INDEX_ALIGN = 65536,
    RS_AT_INDEX = (RS_SEGMENT_SIZE + RS_INDEX_ALIGN - 1) / RS_INDEX_ALIGN * RS_INDEX_ALIGN,
    RS_IN_GROUP_HEADS = 0,
    RS_IN_OBJECT_HEADS = RS_IN_GROUP_HEADS + RS_HEADS * sizeof(uint32_t),
    RS_IN_PINS = RS_IN_OBJECT_HEADS + RS_HEADS * sizeof(uint32_t),
    RS_IN_WANTED = RS_IN_PINS + RS_PINS * sizeof(struct rs_pin),
    RS_IN_BITMAP = RS_IN_WANTED + RS_WANTED * sizeof(uint64_t),
    RS_IN_STAMPS = RS_IN_BITMAP + RS_ARENA_MAX / RS_GRANULE / 8,
    RS_IN_GROUPS = RS_IN_STAMPS + RS_GROUPS * sizeof(uint64_t),
    RS_IN_OBJECTS = RS_IN_GROUPS + RS_GROUPS * sizeof(struct rs_group),
    RS_INDEX_SIZE = RS_IN_OBJECTS + RS_OBJECTS * sizeof(struct rs_object),
    RS_AT_ARENA = RS_AT_INDEX + RS_INDEX_SIZE,
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

static inline struct rs_module *rs_modules(const struct rs_segment *segment)
{
    return rs_at(segment, RS_AT_MODULES);
}

#endif
