/* SPDX-License-Identifier: Apache-2.0
 *
 * The lease protocol as pure functions on one 64-bit word. Every change of a lease is one of the
 * named steps below, made with one compare-and-swap; nothing else writes the word. docs/segment.md
 * draws it.
 *
 * Word: state (3 bits), taken over (1), owner's slot (12), low bits of that slot's generation (16),
 * generation of the lease (32). The generation goes up when somebody new gets the entry, so a word
 * that was read before can't be mistaken for a later tenant's.
 */
#ifndef RS_STORE_LEASE_WORD_H
#define RS_STORE_LEASE_WORD_H

#include <stdbool.h>
#include <stdint.h>

enum rs_lease_state {
    RS_LS_FREE,         /* nothing; place is meaningless */
    RS_LS_CLAIMED,      /* owner writes the place; nobody else reads it */
    RS_LS_PENDING,      /* the place is valid; the owner is about to be elected */
    RS_LS_HELD,         /* the owner produces */
    RS_LS_STORED,       /* ended in a store; kept for late waiters, may be claimed */
    RS_LS_UNPRODUCTIVE, /* ended without one: a mark against this place in one run of one job */
};

struct rs_lease_owner {
    uint32_t slot;       /* index, below 4096 */
    uint32_t generation; /* of the slot; its low 16 bits count */
};

enum {
    RS_LW_TAKEN_BIT = 3,
    RS_LW_SLOT_SHIFT = 4,
    RS_LW_SLOT_MASK = 0xfff,
    RS_LW_TENANT_SHIFT = 16,
    RS_LW_TENANT_MASK = 0xffff,
    RS_LW_GENERATION_SHIFT = 32,
};

static inline enum rs_lease_state rs_lw_state(uint64_t word)
{
    return (enum rs_lease_state)(word & 7);
}

static inline bool rs_lw_taken(uint64_t word)
{
    return word >> RS_LW_TAKEN_BIT & 1;
}

static inline struct rs_lease_owner rs_lw_owner(uint64_t word)
{
    return (struct rs_lease_owner){
        .slot = (uint32_t)(word >> RS_LW_SLOT_SHIFT & RS_LW_SLOT_MASK),
        .generation = (uint32_t)(word >> RS_LW_TENANT_SHIFT & RS_LW_TENANT_MASK),
    };
}

static inline bool rs_lw_owned_by(uint64_t word, struct rs_lease_owner owner)
{
    struct rs_lease_owner found = rs_lw_owner(word);
    return found.slot == (owner.slot & RS_LW_SLOT_MASK) &&
           found.generation == (owner.generation & RS_LW_TENANT_MASK);
}

static inline uint32_t rs_lw_generation(uint64_t word)
{
    return (uint32_t)(word >> RS_LW_GENERATION_SHIFT);
}

/* Somebody has or is about to have the lease of a readable place. */
static inline bool rs_lw_active(uint64_t word)
{
    return rs_lw_state(word) == RS_LS_PENDING || rs_lw_state(word) == RS_LS_HELD;
}

static inline uint64_t rs_lw_with_state(uint64_t word, enum rs_lease_state state)
{
    return (word & ~UINT64_C(7)) | (uint64_t)state;
}

static inline uint64_t rs_lw_make(enum rs_lease_state state, bool taken,
                                  struct rs_lease_owner owner, uint32_t generation)
{
    return (uint64_t)state | (uint64_t)taken << RS_LW_TAKEN_BIT |
           (uint64_t)(owner.slot & RS_LW_SLOT_MASK) << RS_LW_SLOT_SHIFT |
           (uint64_t)(owner.generation & RS_LW_TENANT_MASK) << RS_LW_TENANT_SHIFT |
           (uint64_t)generation << RS_LW_GENERATION_SHIFT;
}

/* ---- steps: false when FROM does not allow it --------------------------------------------------
 */

/* FREE, STORED -> CLAIMED: OWNER gets the entry for a new place. */
static inline bool rs_lw_claim(uint64_t from, struct rs_lease_owner owner, uint64_t *to)
{
    *to = rs_lw_make(RS_LS_CLAIMED, false, owner, rs_lw_generation(from) + 1);
    return rs_lw_state(from) == RS_LS_FREE || rs_lw_state(from) == RS_LS_STORED;
}

/* CLAIMED -> PENDING: the owner has written the place. */
static inline bool rs_lw_publish(uint64_t from, uint64_t *to)
{
    *to = rs_lw_with_state(from, RS_LS_PENDING);
    return rs_lw_state(from) == RS_LS_CLAIMED;
}

/* PENDING -> HELD: the owner has looked at all other entries and found no rival. */
static inline bool rs_lw_hold(uint64_t from, uint64_t *to)
{
    *to = rs_lw_with_state(from, RS_LS_HELD);
    return rs_lw_state(from) == RS_LS_PENDING;
}

/* CLAIMED, PENDING -> FREE: by the owner, by a rival with a lower index (PENDING only), or by
 * anybody when the owner is dead. Not after a takeover: there the place has waiters. */
static inline bool rs_lw_withdraw(uint64_t from, uint64_t *to)
{
    *to = rs_lw_with_state(from, RS_LS_FREE);
    return (rs_lw_state(from) == RS_LS_CLAIMED || rs_lw_state(from) == RS_LS_PENDING) &&
           !rs_lw_taken(from);
}

/* HELD -> PENDING of a new OWNER, once: the former one is dead. */
static inline bool rs_lw_take_over(uint64_t from, struct rs_lease_owner owner, uint64_t *to)
{
    *to = rs_lw_make(RS_LS_PENDING, true, owner, rs_lw_generation(from) + 1);
    return rs_lw_state(from) == RS_LS_HELD && !rs_lw_taken(from);
}

/* HELD -> STORED: the place is filled. */
static inline bool rs_lw_store(uint64_t from, uint64_t *to)
{
    *to = rs_lw_with_state(from, RS_LS_STORED);
    return rs_lw_state(from) == RS_LS_HELD;
}

/* HELD -> UNPRODUCTIVE: ended without a store. PENDING too when it was taken over and the second
 * owner died. */
static inline bool rs_lw_give_up(uint64_t from, uint64_t *to)
{
    *to = rs_lw_with_state(from, RS_LS_UNPRODUCTIVE);
    return rs_lw_state(from) == RS_LS_HELD ||
           (rs_lw_state(from) == RS_LS_PENDING && rs_lw_taken(from));
}

/* HELD -> UNPRODUCTIVE, by a waiter: the living owner began to write what it produced, and nothing
 * comes of it. */
static inline bool rs_lw_stall(uint64_t from, uint64_t *to)
{
    *to = rs_lw_with_state(from, RS_LS_UNPRODUCTIVE);
    return rs_lw_state(from) == RS_LS_HELD;
}

/* HELD, PENDING after a takeover, UNPRODUCTIVE -> FREE: the run that it counted for is over. */
static inline bool rs_lw_forget(uint64_t from, uint64_t *to)
{
    *to = rs_lw_with_state(from, RS_LS_FREE);
    return rs_lw_state(from) == RS_LS_UNPRODUCTIVE || rs_lw_state(from) == RS_LS_HELD ||
           (rs_lw_state(from) == RS_LS_PENDING && rs_lw_taken(from));
}

#endif
