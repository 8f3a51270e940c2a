/* SPDX-License-Identifier: Apache-2.0
 *
 * The node's shared segment: header, jobs, process slots with counters, leases, event ring, and the
 * artifact store behind them (artifact.h). One POSIX shared-memory object per user and layout,
 * 0600, offsets only, no pthread object, no pointer, usable after a SIGKILL at any instruction.
 * The store knows no PyTorch: keys are opaque.
 *
 * No function here allocates, prints, raises or blocks, except rs_lease_wait(), which says how
 * long. (rs_slot_claim() and rs_slot_versions() may wait up to a second for another process that is
 * at the same table.) errno is not preserved. All are thread safe. After fork the child must call
 * rs_store_forked() before anything else (base/fork does). Writers never hold anything across a
 * system call that could block.
 */
#ifndef RS_STORE_STORE_H
#define RS_STORE_STORE_H

#include "route/key.h"
#include <rankshare/names.h>
#include <rankshare/segment.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rs_store_status {
    RS_STORE_OK = 0,
    RS_STORE_ABSENT,     /* no such segment, and it was not to be made */
    RS_STORE_OWNER,      /* belongs to another user, or others may write it */
    RS_STORE_TYPE,       /* not a regular file (a symbolic link, a directory, ...) */
    RS_STORE_MAGIC,      /* not a rankshare segment, or one whose making was cut short */
    RS_STORE_LAYOUT,     /* another layout number or other sizes */
    RS_STORE_BOOT,       /* made before the last boot, or on another machine */
    RS_STORE_SPACE,      /* no room in /dev/shm */
    RS_STORE_PERMISSION, /* not allowed */
    RS_STORE_CONTENT,    /* tables that no rankshare process wrote */
    RS_STORE_FAILED,     /* anything else: errno says more */
};
const char *rs_store_status_text(enum rs_store_status status); /* one clear sentence */

enum { RS_SEGMENT_NAME_MAX = 128 };

/* A mapping of the segment in this process. Never unmapped while hooks may run. */
struct rs_store {
    struct rs_segment *segment;
    size_t size;
    bool writable;
    /* How long a lease is believed whose owner can't be judged (it is in a foreign pid namespace):
     * as long as this process may wait. At least 600 s, whatever stands here. */
    uint64_t patience_ns;
    /* The artifact store (artifact.h). */
    uint64_t artifact_bytes; /* RANKSHARE_SIZE; RS_SIZE_UNSET: the default */
    const char *dir;         /* RANKSHARE_DIR; NULL or empty: the default. Outlives the store */
    char name[RS_SEGMENT_NAME_MAX];
    uint64_t dev, ino;              /* of the segment */
    _Atomic(unsigned char *) index; /* its second mapping; NULL: not needed yet */
};

/* Name of the shared-memory object: "/rankshare.<uid>.<layout>", or with OVERRIDE
 * (RANKSHARE_SEGMENT; may be NULL or empty) "/rankshare.<uid>.<layout>.<override>". False when
 * OVERRIDE holds a slash or is too long. */
bool rs_store_name(char name[RS_SEGMENT_NAME_MAX], unsigned uid, const char *override);

/* Maps the segment. CREATE makes it when it is absent (complete under a temporary name first, then
 * link(2): nobody ever sees half a segment). WRITABLE false maps it read-only (the tool). */
enum rs_store_status rs_store_open(const char *name, bool create, bool writable,
                                   struct rs_store *store);
/* Whether the tables hold what processes write there: states, counts and indexes in their ranges.
 * RS_STORE_OK or RS_STORE_CONTENT. For the tool, before it prints them. */
enum rs_store_status rs_store_check(const struct rs_store *store);
void rs_store_close(struct rs_store *store);            /* nobody else may be using it */
enum rs_store_status rs_store_remove(const char *name); /* unlinks a segment of this user */

/* ---- jobs and process slots ---------------------------------------------------------------- */

struct rs_identity {
    const char *job; /* at most RS_JOB_NAME_MAX - 1 characters are kept */
    int rank;        /* RANK, else LOCAL_RANK, else -1: the tool then shows the pid */
    int world;       /* WORLD_SIZE, or 0 */
};

/* Takes a slot for this process (pid, start time, pid namespace read here). Reuses dead processes'
 * slots of the oldest kind when none is free, folding their counters into their job. NULL: full,
 * and the caller goes on without. Counters start at zero. */
struct rs_slot *rs_slot_claim(struct rs_store *store, const struct rs_identity *identity);

/* Whether the process of SLOT still lives: 1 yes, 0 no, -1 can't be judged (foreign pid namespace).
 */
int rs_slot_alive(const struct rs_slot *slot);

/* Adds to a counter; relaxed atomic. SLOT may be NULL (nothing happens). */
void rs_slot_count(struct rs_slot *slot, enum rs_counter counter, uint64_t add);
/* Rank and world size as they are now; the job stays what it was. SLOT may be NULL. */
void rs_slot_identify(struct rs_store *store, struct rs_slot *slot,
                      const struct rs_identity *identity);
/* This process's primary ordinal, shown by stats; -1 unknown. */
void rs_slot_ordinal(struct rs_slot *slot, int ordinal);
/* What the slot's job runs, shown in one line by stats: lists, as its processes may disagree. */
void rs_slot_versions(struct rs_store *store, struct rs_slot *slot, const char *torch,
                      const char *triton, const char *device);

/* A sign of work of this process: it hashes, or touches a managed file. Cheap: it is called at
 * every hash, and writes once a second. */
void rs_slot_beat(struct rs_slot *slot);

/* A process as the tool shows it. */
struct rs_slot_view {
    int pid, rank, world, ordinal;
    unsigned job;        /* index, or RS_NO_JOB */
    int alive;           /* rs_slot_alive() */
    uint64_t claimed_ns; /* CLOCK_REALTIME */
    uint64_t counters[RS_COUNTER_COUNT];
};
/* A job as the tool shows it. The counters are those of processes whose slots were reused. */
struct rs_job_view {
    char name[RS_JOB_NAME_MAX];
    char torch[RS_VERSION_MAX], triton[RS_VERSION_MAX], device[RS_DEVICE_MAX]; /* "": unknown */
    int world;                                                                 /* 0: unknown */
    uint64_t first_ns, last_ns; /* CLOCK_REALTIME of its first and latest process */
    uint64_t counters[RS_COUNTER_COUNT];
};
/* Copy number INDEX (below RS_SLOTS, RS_JOBS). False: nothing there. Work on read-only mappings. */
bool rs_slot_read(const struct rs_store *store, unsigned index, struct rs_slot_view *view);
bool rs_job_read(const struct rs_store *store, unsigned index, struct rs_job_view *view);

/* ---- events -------------------------------------------------------------------------------- */

/* Appends one event to the ring (overwrites the oldest). Wait-free. KEY may be NULL. VALUE: by
 * type, nanoseconds or a reason. */
void rs_event(struct rs_store *store, const struct rs_slot *slot, enum rs_event_type type,
              enum rs_kind kind, const struct rs_key *key, uint64_t value);

/* Copies the events that are still in the ring, oldest first, to OUT; returns how many. A torn
 * entry (its writer died or is writing) is left out. */
size_t rs_events_read(const struct rs_store *store, struct rs_event *out, size_t max);

/* ---- leases -------------------------------------------------------------------------------- */

/* What a lease is about: a key in a directory tree. */
enum rs_lease_kind { RS_LEASE_TRITON = 1, RS_LEASE_FX = 2, RS_LEASE_AOT = 3 }; /* inner to outer */
struct rs_place {
    enum rs_lease_kind kind;
    struct rs_key key;
    uint64_t dev, ino; /* of the cache root */
};

enum rs_lease_verdict {
    RS_LEASE_PRODUCER,     /* this thread is the producer now */
    RS_LEASE_WAIT,         /* another thread is; call rs_lease_wait, then look at the place again */
    RS_LEASE_UNPRODUCTIVE, /* ended without a store: compile, nobody is elected again in this job */
    RS_LEASE_NONE,         /* no lease to be had (table full, no segment): native behaviour */
};

/* Asks for the lease of PLACE for the calling thread. Never blocks. Sets *TAKEOVER when a dead
 * producer's lease was taken over (at most once per lease and job; a second death makes the key
 * unproductive). Who asks again for a lease that it holds gets RS_LEASE_PRODUCER again. A full
 * table is counted in SLOT. A thread that holds a lease of an inner kind must not ask for an outer
 * one: it calls rs_lease_next_lookup() first. Someone who holds a lease and would have to wait for
 * the same or an outer kind gets RS_LEASE_NONE (lock order AOT > FX > Triton: no cycles). */
enum rs_lease_verdict rs_lease_ask(struct rs_store *store, struct rs_slot *slot,
                                   const struct rs_place *place, bool *takeover);

enum rs_wait_end {
    RS_WAIT_ENDED,        /* the lease ended in a store: look again, it is there */
    RS_WAIT_UNPRODUCTIVE, /* it ended without one: compile */
    RS_WAIT_OWNER_DIED,   /* ask again: one waiter takes over */
    RS_WAIT_TIMEOUT,      /* BUDGET_NS is used up */
    RS_WAIT_SIGNAL,       /* a signal handler ran (EINTR) */
};

/* Waits for the end of PLACE's lease, at most BUDGET_NS, without using CPU time (futex, liveness of
 * the owner checked twice a second). *WAITED_NS gets the time spent. */
enum rs_wait_end rs_lease_wait(struct rs_store *store, struct rs_slot *slot,
                               const struct rs_place *place, uint64_t budget_ns,
                               uint64_t *waited_ns);

/* The same, but ends (RS_WAIT_ENDED) as soon as DONE says so, too: it is asked whenever the
 * producer calls rs_lease_nudge(), and twice a second. */
enum rs_wait_end rs_lease_wait_until(struct rs_store *store, struct rs_slot *slot,
                                     const struct rs_place *place, uint64_t budget_ns,
                                     bool (*done)(void *context), void *context,
                                     uint64_t *waited_ns);
/* This process, which holds PLACE's lease, has come a step further: waiters look. */
void rs_lease_nudge(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place);

/* Whether PLACE has a producer of whose process group there has been no sign of work for LIMIT_S
 * seconds (rs_slot_beat(), or the taking of the lease). Other processes of the group count when
 * they have a slot in this segment. */
bool rs_lease_silent(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place,
                     unsigned limit_s);
/* Who produces PLACE and when that process itself worked last, as one number that is another one
 * once it has worked again; 0: nobody does. */
uint64_t rs_lease_last_sign(struct rs_store *store, struct rs_slot *slot,
                            const struct rs_place *place);

/* The place has been stored by this process (any thread): ends its lease, whoever holds it, and
 * wakes all waiters. True when this process held it. */
bool rs_lease_stored(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place);
/* The store failed or was refused: the key is unproductive, all waiters compile at once. */
bool rs_lease_failed(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place);
/* This process begins to write what it produced for PLACE, or has come a step further with it: if
 * it holds the lease, waiters know since when. */
void rs_lease_storing(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place);
/* The calling thread's lease of KIND, if it holds one: its store follows at once or not at all
 * (READY: as if it had begun), or something must come before it. */
void rs_lease_ready(struct rs_store *store, struct rs_slot *slot, enum rs_lease_kind kind,
                    bool ready);
/* Whether PLACE has a producer that has begun to write; *AGE_S gets how long ago, in seconds. */
bool rs_lease_stores(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place,
                     unsigned *age_s);
/* A waiter has seen that nothing comes of that: ends the lease, the key is unproductive. False when
 * it was no longer so. */
bool rs_lease_stalled(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place);
/* The calling thread is about to look up a key of KIND: its leases of the same and of inner kinds
 * end without a store. Returns how many ended. */
unsigned rs_lease_next_lookup(struct rs_store *store, struct rs_slot *slot,
                              enum rs_lease_kind kind);
/* When this process took the lease of PLACE that it holds (CLOCK_MONOTONIC), or 0. Ask before
 * rs_lease_stored(). */
uint64_t rs_lease_taken_ns(struct rs_store *store, struct rs_slot *slot,
                           const struct rs_place *place);
/* Whether PLACE has a producer now. */
bool rs_lease_active(struct rs_store *store, struct rs_slot *slot, const struct rs_place *place);
/* Whether the calling thread holds a lease of KIND. */
bool rs_lease_holds(struct rs_store *store, struct rs_slot *slot, enum rs_lease_kind kind);
/* Whether the calling thread holds any lease. */
bool rs_lease_held(struct rs_store *store, struct rs_slot *slot);

/* Forgets cached pid, tid and start times. The child owns no lease and no slot. */
void rs_store_forked(void);

#endif
