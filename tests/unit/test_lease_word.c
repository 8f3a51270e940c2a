/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of the lease protocol, one by one: from which states, to which, and what they keep.
 */
#include "store/lease_word.h"

#include <criterion/criterion.h>

static const struct rs_lease_owner old = {.slot = 4095, .generation = 0x1ffff};
static const struct rs_lease_owner new = {.slot = 17, .generation = 3};

enum step { CLAIM, PUBLISH, HOLD, WITHDRAW, TAKE_OVER, STORE, GIVE_UP, STALL, FORGET, STEPS };

static bool take(enum step step, uint64_t from, uint64_t *to)
{
    switch (step) {
    case CLAIM:
        return rs_lw_claim(from, new, to);
    case PUBLISH:
        return rs_lw_publish(from, to);
    case HOLD:
        return rs_lw_hold(from, to);
    case WITHDRAW:
        return rs_lw_withdraw(from, to);
    case TAKE_OVER:
        return rs_lw_take_over(from, new, to);
    case STORE:
        return rs_lw_store(from, to);
    case GIVE_UP:
        return rs_lw_give_up(from, to);
    case STALL:
        return rs_lw_stall(from, to);
    case FORGET:
        return rs_lw_forget(from, to);
    case STEPS:
        break;
    }
    return false;
}

/* Next state, or -1; by step, state, taken over. */
#define NO -1
static const int next[STEPS][6][2] = {
    [CLAIM] = {{RS_LS_CLAIMED, RS_LS_CLAIMED},
               {NO, NO},
               {NO, NO},
               {NO, NO},
               {RS_LS_CLAIMED, RS_LS_CLAIMED},
               {NO, NO}},
    [PUBLISH] = {{NO, NO}, {RS_LS_PENDING, RS_LS_PENDING}, {NO, NO}, {NO, NO}, {NO, NO}, {NO, NO}},
    [HOLD] = {{NO, NO}, {NO, NO}, {RS_LS_HELD, RS_LS_HELD}, {NO, NO}, {NO, NO}, {NO, NO}},
    [WITHDRAW] = {{NO, NO}, {RS_LS_FREE, NO}, {RS_LS_FREE, NO}, {NO, NO}, {NO, NO}, {NO, NO}},
    [TAKE_OVER] = {{NO, NO}, {NO, NO}, {NO, NO}, {RS_LS_PENDING, NO}, {NO, NO}, {NO, NO}},
    [STORE] = {{NO, NO}, {NO, NO}, {NO, NO}, {RS_LS_STORED, RS_LS_STORED}, {NO, NO}, {NO, NO}},
    [GIVE_UP] = {{NO, NO},
                 {NO, NO},
                 {NO, RS_LS_UNPRODUCTIVE},
                 {RS_LS_UNPRODUCTIVE, RS_LS_UNPRODUCTIVE},
                 {NO, NO},
                 {NO, NO}},
    [STALL] = {{NO, NO},
               {NO, NO},
               {NO, NO},
               {RS_LS_UNPRODUCTIVE, RS_LS_UNPRODUCTIVE},
               {NO, NO},
               {NO, NO}},
    [FORGET] = {{NO, NO},
                {NO, NO},
                {NO, RS_LS_FREE},
                {RS_LS_FREE, RS_LS_FREE},
                {NO, NO},
                {RS_LS_FREE, RS_LS_FREE}},
};

Test(lease_word, fields)
{
    uint64_t word = rs_lw_make(RS_LS_HELD, true, old, 0xfffffffe);
    cr_assert_eq(rs_lw_state(word), RS_LS_HELD);
    cr_assert(rs_lw_taken(word));
    cr_assert_eq(rs_lw_owner(word).slot, 4095);
    cr_assert_eq(rs_lw_owner(word).generation, 0xffff);
    cr_assert_eq(rs_lw_generation(word), 0xfffffffe);
    cr_assert(rs_lw_owned_by(word, old));
    cr_assert_not(rs_lw_owned_by(word, new));
    cr_assert_eq(rs_lw_state(0), RS_LS_FREE, "a new segment's leases are free");
}

Test(lease_word, steps)
{
    for (int step = 0; step < STEPS; step++) {
        for (int state = RS_LS_FREE; state <= RS_LS_UNPRODUCTIVE; state++) {
            for (int taken = 0; taken <= 1; taken++) {
                uint64_t from = rs_lw_make((enum rs_lease_state)state, taken, old, 41), to = 0;
                bool legal = take((enum step)step, from, &to);
                int wanted = next[step][state][taken];
                cr_assert_eq(legal, wanted != NO, "step %d from %d, taken %d", step, state, taken);
                if (!legal) {
                    continue;
                }
                bool other = step == CLAIM || step == TAKE_OVER;
                cr_assert_eq((int)rs_lw_state(to), wanted);
                cr_assert_eq(rs_lw_generation(to), other ? 42 : 41);
                cr_assert(rs_lw_owned_by(to, other ? new : old));
                cr_assert_eq(rs_lw_taken(to), step == TAKE_OVER || (taken && step != CLAIM));
            }
        }
    }
}

Test(lease_word, generation_wraps)
{
    uint64_t to;
    cr_assert(rs_lw_claim(rs_lw_make(RS_LS_FREE, false, old, UINT32_MAX), new, &to));
    cr_assert_eq(rs_lw_generation(to), 0);
    cr_assert(rs_lw_owned_by(to, new), "and touches nothing else");
}

/* Whatever happens, one lease is taken over once at most. */
Test(lease_word, at_most_one_takeover)
{
    uint64_t word = rs_lw_make(RS_LS_HELD, false, old, 1);
    cr_assert(rs_lw_take_over(word, new, &word));
    cr_assert(rs_lw_hold(word, &word));
    uint64_t again;
    cr_assert_not(rs_lw_take_over(word, old, &again));
    cr_assert(rs_lw_give_up(word, &word));
}
