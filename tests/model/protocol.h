/* SPDX-License-Identifier: Apache-2.0
 *
 * The procedures of shim/store/lease*.c as the model goes through them. Where a C function calls
 * another that has RS_STEP points, the caller's place is kept in a "ret" of the thread.
 */
#ifndef RS_TEST_PROTOCOL_H
#define RS_TEST_PROTOCOL_H

#include "model.h"

/* Where look, own-lease readings, judgements, changes and endings of own leases return to. */
enum look_ret {
    LOOK_ASK = 1,
    LOOK_RIVAL,
    LOOK_STORED,
    LOOK_FAILED,
    LOOK_WAIT,
    LOOK_STORING,
    LOOK_STALL
};
enum own_ret { OWN_END = 1, OWN_ANSWER, OWN_UP_TO };
enum judge_ret { JUDGE_ANSWER = 1, JUDGE_CHECK, JUDGE_RECLAIM };
enum run_ret { RUN_LOOK, RUN_DEATH, RUN_CHECK };
enum endown_ret { ENDOWN_LOOKUP = 1, ENDOWN_STAND, ENDOWN_TAKEOVER };
enum cas_ret {
    CAS_CLAIMED = 1,
    CAS_PUBLISHED,
    CAS_HELD,
    CAS_RIVAL,
    CAS_AGAIN,
    CAS_TAKEN,
    CAS_STORED,
    CAS_OWN,
    CAS_CHECK,
    CAS_RECLAIM,
    CAS_STALL,
};
enum judgement { ALIVE, THREAD_GONE, DEAD, CHANGED };

static inline int p_number(const struct m_state *s, const struct m_thread *t)
{
    return (int)(t - s->thread);
}

static inline int p_slot(const struct m_state *s, const struct m_thread *t)
{
    int n = p_number(s, t);
    return m_mutant == MUTANT_fork_keeps && n == m_config->child && n ? 0 : m_config->process[n];
}

static inline struct rs_lease_owner p_owner(const struct m_state *s, const struct m_thread *t)
{
    return (struct rs_lease_owner){(uint32_t)p_slot(s, t), 1};
}

static inline uint8_t p_kind(const struct m_thread *t)
{
    return m_config->kind[t->place];
}

static inline bool p_is(uint16_t word, enum rs_lease_state state)
{
    return rs_lw_state(m_unpack(word)) == state;
}

static inline uint8_t p_generation(uint16_t word)
{
    return (uint8_t)rs_lw_generation(m_unpack(word));
}

bool p_change(struct m_state *s, struct m_thread *t, enum m_cas step, int entry, uint16_t word,
              enum cas_ret ret);
void p_judge(struct m_thread *t, enum judge_ret ret);
void p_own_word(struct m_state *s, struct m_thread *t);
void p_verdict(struct m_state *s, struct m_thread *t, enum m_verdict v);
void p_looked(struct m_state *s, struct m_thread *t);
void p_reclaim_over(struct m_state *s, struct m_thread *t, bool over);
void p_reclaim_next(struct m_state *s, struct m_thread *t);
void p_look_next(struct m_state *s, struct m_thread *t);
void p_storing_step(struct m_state *s, struct m_thread *t);
void p_run_read(struct m_state *s, struct m_thread *t);
void p_judged(struct m_state *s, struct m_thread *t, enum judgement judgement);
void p_publish(struct m_state *s, struct m_thread *t);
void p_changed(struct m_state *s, struct m_thread *t, bool done);
void p_wait_end(struct m_state *s, struct m_thread *t, enum m_end end);
void p_watch_again(struct m_thread *t);
void p_wait_looked(struct m_state *s, struct m_thread *t);
void p_wait_step(struct m_state *s, struct m_thread *t);
void p_checked(struct m_state *s, struct m_thread *t, enum judgement judgement);

#endif
