/* SPDX-License-Identifier: Apache-2.0
 *
 * Layout of the shared segment: fixed-width fields, offsets, 64-byte aligned hot words. The layout
 * test nails every offset; any change raises RANKSHARE_LAYOUT.
 */
#ifndef RANKSHARE_SEGMENT_H
#define RANKSHARE_SEGMENT_H

#include <rankshare/names.h>
#include <rankshare/version.h>

#include <stdint.h>

struct rs_segment;
struct rs_slot;

enum { RS_JOB_NAME_MAX = 96 };

enum rs_event_type {
    RS_EVENT_HIT = 1,      /* found at the first look */
    RS_EVENT_LEASE,        /* became the producer */
    RS_EVENT_STORE,        /* stored; value: nanoseconds since the lease */
    RS_EVENT_WAIT,         /* waited; value: nanoseconds */
    RS_EVENT_TIMEOUT,      /* gave up waiting; value: nanoseconds */
    RS_EVENT_TAKEOVER,     /* took over from a dead producer */
    RS_EVENT_UNPRODUCTIVE, /* a lease ended without a store */
    RS_EVENT_VIEW,         /* an entry was shown with another ordinal; value: bytes */
    RS_EVENT_REFUSED,      /* not shared; value: enum rs_reason */
};

struct rs_event {
    uint64_t time_ns; /* CLOCK_REALTIME */
    uint64_t value;
    uint32_t pid;
    int32_t rank;
    uint32_t job; /* index into the job table */
    uint8_t type; /* enum rs_event_type */
    uint8_t kind; /* enum rs_kind */
    uint8_t reserved[2];
    uint8_t key[32];
};

#endif
