/* SPDX-License-Identifier: Apache-2.0
 *
 * The lease table: finding a place's entries, judging owners, reclaiming what is over. A place's
 * entries lie in one window of the table; all changes go through apply steps of lease_word.h.
 */
#ifndef RS_STORE_LEASE_TABLE_H
#define RS_STORE_LEASE_TABLE_H

#include "store/lease_word.h"
#include "store/store.h"

enum { RS_WINDOW = 32, RS_NO_LEASE = -1 };

/* An entry as it was read: WORD says whether it still is. */
struct rs_lease_ref {
    int index; /* in the table, or RS_NO_LEASE */
    uint64_t word;
};

/* What one reading of a place's window found. */
struct rs_lease_look {
    struct rs_lease_ref active; /* for this place: HELD, else PENDING with the lowest index */
    struct rs_lease_ref vacant; /* may be claimed: FREE rather than STORED */
    bool unproductive;          /* a mark for this place and this run */
};

/* Who asks. */
struct rs_asker {
    struct rs_segment *segment;
    struct rs_slot *slot;
    struct rs_lease_owner owner;
    uint32_t job, run;
    int32_t tid;
    uint64_t patience_ns; /* after so long an owner that can't be judged is overdue */
};
bool rs_asker_init(struct rs_asker *asker, struct rs_store *store, struct rs_slot *slot);

struct rs_lease *rs_lease_at(const struct rs_segment *segment, int index);

/* Index of the entry number I (below RS_WINDOW) of a place's window. */
int rs_lease_index(const struct rs_place *place, int i);

/* Reads the window. Entries other than SKIP (an index, or RS_NO_LEASE). */
void rs_lease_look(const struct rs_asker *asker, const struct rs_place *place, int skip,
                   struct rs_lease_look *look);

/* The HELD entry of a place; false where there is none. */
bool rs_lease_find_held(const struct rs_asker *asker, const struct rs_place *place,
                        struct rs_lease_ref *ref);

enum rs_owner_state {
    RS_OWNER_ALIVE,       /* or can't be judged: wait */
    RS_OWNER_THREAD_GONE, /* the process lives */
    RS_OWNER_DEAD,
    RS_OWNER_OVERDUE, /* can't be judged, and has held the lease too long: no death, no takeover */
    RS_OWNER_CHANGED, /* the entry is not what it was: look again */
};
enum rs_owner_state rs_lease_judge(const struct rs_asker *asker, struct rs_lease_ref ref);

/* Whether the run that the entry counts for is the asker's, or still has processes. */
bool rs_lease_same_run(const struct rs_asker *asker, struct rs_lease_ref ref);

/* One compare-and-swap. */
bool rs_lease_apply(struct rs_segment *segment, struct rs_lease_ref ref, uint64_t to);
/* The same for a step that ends a lease: tells all waiters. */
bool rs_lease_end(struct rs_segment *segment, struct rs_lease_ref ref, uint64_t to);

/* Frees what is over in a window that has no vacancy. True when something was freed. */
bool rs_lease_reclaim(const struct rs_asker *asker, const struct rs_place *place);

/* Whether the calling thread holds a lease of KIND; *REF gets it. */
bool rs_lease_of_thread(const struct rs_asker *asker, int kind, struct rs_lease_ref *ref);

/* Writes the fields that go with HELD. */
void rs_lease_sign(const struct rs_asker *asker, struct rs_lease *lease, uint64_t thread_start);

#endif
