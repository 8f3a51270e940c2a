/* SPDX-License-Identifier: Apache-2.0
 *
 * shim/store/lease.c, cut at its RS_STEP points.
 */
#include "protocol.h"

typedef struct m_state S;
typedef struct m_thread T;

/* ---- own leases ---- */

static void own_read(S *s, T *t, bool held, int entry, uint16_t word);
static void endown_next(S *s, T *t);

/* own_lease() of kind K. */
static void own_lease(S *s, T *t, int k, enum own_ret ret)
{
    t->own_k = (uint8_t)k;
    t->own_ret = (uint8_t)ret;
    if (t->own[k - 1]) {
        t->point = M_own_word;
    } else {
        own_read(s, t, false, M_NONE, 0);
    }
}

void p_own_word(S *s, T *t)
{
    int k = t->own_k - 1, entry = t->own[k] - 1;
    uint16_t word = s->entry[entry].word;
    bool held = p_is(word, RS_LS_HELD) && rs_lw_owned_by(m_unpack(word), p_owner(s, t)) &&
                p_generation(word) == t->own_gen[k];
    if (!held) {
        t->own[k] = t->own_gen[k] = 0;
    }
    own_read(s, t, held, entry, word);
}

static void end_own(S *s, T *t, enum endown_ret ret)
{
    t->endown_ret = (uint8_t)ret;
    t->endown_kind = m_mutant == MUTANT_no_order ? 0 : p_kind(t);
    t->own_k = 0;
    endown_next(s, t);
}

static void hold(S *s, T *t)
{
    p_change(s, t, S_HOLD, t->mine, t->mine_word, CAS_HELD);
}

static void endown_next(S *s, T *t)
{
    if (t->own_k < t->endown_kind) {
        own_lease(s, t, t->own_k + 1, OWN_END);
        return;
    }
    enum endown_ret ret = (enum endown_ret)t->endown_ret;
    t->endown_ret = t->endown_kind = t->own_k = t->own_ret = 0;
    if (ret == ENDOWN_LOOKUP) {
        m_next_lookup_end(s, t);
    } else if (ret == ENDOWN_STAND || m_mutant == MUTANT_sign_late) {
        hold(s, t);
    } else {
        t->point = M_lease_sign;
    }
}

/* ---- asking ---- */

void p_verdict(S *s, T *t, enum m_verdict v)
{
    t->active_word = t->vacant_word = t->ref_word = t->mine_word = 0;
    t->active = t->vacant = t->ref = t->mine = t->unproductive = t->look_ret = 0;
    t->freed = t->i = 0;
    m_verdict(s, t, v);
}

void m_ask(S *s, T *t)
{
    t->ref = t->mine = t->freed = 0;
    t->ref_word = t->mine_word = 0;
    m_look_begin(s, t, M_NONE, LOOK_ASK);
}

static void end_or_again(S *s, T *t, enum m_cas step)
{
    if (!p_change(s, t, step, t->ref, t->ref_word, CAS_AGAIN)) {
        m_ask(s, t);
    }
}

/* after_death(), behind the reading of the run. */
static void after_death(S *s, T *t, bool same_run)
{
    if (p_change(s, t, S_WITHDRAW, t->ref, t->ref_word, CAS_AGAIN)) {
        return;
    }
    if (!same_run && p_change(s, t, S_FORGET, t->ref, t->ref_word, CAS_AGAIN)) {
        return;
    }
    if (rs_lw_taken(m_unpack(t->ref_word)) && m_mutant != MUTANT_taken_twice) {
        end_or_again(s, t, S_GIVE_UP);
    } else if (!p_change(s, t, S_TAKE_OVER, t->ref, t->ref_word, CAS_TAKEN)) {
        m_ask(s, t);
    }
}

static void lose(S *s, T *t)
{
    if (!p_change(s, t, S_WITHDRAW, t->mine, t->mine_word, CAS_AGAIN)) {
        m_ask(s, t);
    }
}

static void answer(S *s, T *t)
{
    t->ref = t->active;
    t->ref_word = t->active_word;
    t->active = t->vacant = t->look_ret = 0;
    t->active_word = t->vacant_word = 0;
    own_lease(s, t, p_kind(t), OWN_ANSWER);
}

static void ask_looked(S *s, T *t)
{
    if (t->unproductive) {
        p_verdict(s, t, V_UNPRODUCTIVE);
    } else if (t->active != M_NONE) {
        answer(s, t);
    } else if (t->vacant != M_NONE) {
        t->mine = t->vacant;
        p_change(s, t, S_CLAIM, t->vacant, t->vacant_word, CAS_CLAIMED);
    } else {
        t->i = 0;
        t->point = M_reclaim_word;
    }
}

/* no_rival() and what follows from it. */
static void rival_looked(S *s, T *t)
{
    bool rival = t->active != M_NONE && m_mutant != MUTANT_no_rivals;
    if (t->unproductive || (rival && t->active < t->mine)) {
        lose(s, t);
    } else if (!rival) {
        t->active_word = t->vacant_word = t->active = t->vacant = t->look_ret = 0;
        end_own(s, t, ENDOWN_STAND);
    } else if (!p_change(s, t, S_WITHDRAW, t->active, t->active_word, CAS_RIVAL)) {
        lose(s, t);
    }
}

/* ---- where the parts return to ---- */

static void forget_look(T *t)
{
    t->active = t->vacant = t->look_ret = t->unproductive = 0;
    t->active_word = t->vacant_word = 0;
}

/* ---- the note of a store, lease_store.c ---- */

static void noted_looked(S *s, T *t, bool held)
{
    bool write = t->look_ret == LOOK_STORING;
    bool own = rs_lw_owned_by(m_unpack(t->active_word), p_owner(s, t));
    t->ref = held ? t->active : 0;
    t->ref_word = held ? t->active_word : 0;
    forget_look(t);
    if (held && (own || !write)) {
        t->point = write ? M_storing_write : M_storing_read;
        return;
    }
    t->ref = 0;
    t->ref_word = 0;
    if (write) {
        m_storing_end(s, t);
    } else {
        m_stalled_end(s, t);
    }
}

void p_storing_step(S *s, T *t)
{
    struct m_entry *entry = &s->entry[t->ref];
    int number = t->ref;
    uint16_t word = t->ref_word;
    bool noted = entry->storing == p_generation(word) || m_mutant == MUTANT_any_stall;
    t->ref = 0;
    t->ref_word = 0;
    if (t->point == M_storing_write) {
        entry->storing = p_generation(word);
        m_check_storing(s, number, word);
        m_storing_end(s, t);
    } else if (!noted || !p_change(s, t, S_STALL, number, word, CAS_STALL)) {
        m_stalled_end(s, t);
    }
}

void p_looked(S *s, T *t)
{
    bool held = t->active != M_NONE && p_is(t->active_word, RS_LS_HELD);
    switch ((enum look_ret)t->look_ret) {
    case LOOK_ASK:
        ask_looked(s, t);
        return;
    case LOOK_RIVAL:
        rival_looked(s, t);
        return;
    case LOOK_WAIT:
        p_wait_looked(s, t);
        return;
    case LOOK_STORING:
    case LOOK_STALL:
        noted_looked(s, t, held);
        return;
    case LOOK_STORED:
        held = held && p_change(s, t, S_STORE, t->active, t->active_word, CAS_STORED);
        break;
    case LOOK_FAILED:
        held = held && rs_lw_owned_by(m_unpack(t->active_word), p_owner(s, t)) &&
               p_change(s, t, S_GIVE_UP, t->active, t->active_word, CAS_STORED);
        break;
    }
    forget_look(t);
    if (!held) {
        m_stored_end(s, t);
    }
}

void p_run_read(S *s, T *t)
{
    enum run_ret ret = (enum run_ret)t->run_ret;
    int entry = ret == RUN_LOOK ? t->i : t->ref;
    bool same = s->entry[entry].run == 2;
    t->run_ret = 0;
    if (ret == RUN_LOOK) {
        t->unproductive |= same;
        p_look_next(s, t);
    } else if (ret == RUN_DEATH) {
        after_death(s, t, same);
    } else if (!same || !p_change(s, t, S_GIVE_UP, t->ref, t->ref_word, CAS_CHECK)) {
        p_wait_end(s, t, E_OWNER_DIED);
    }
}

static void own_read(S *s, T *t, bool held, int entry, uint16_t word)
{
    int k = t->own_k;
    if (t->own_ret == OWN_END) {
        if (!held || !p_change(s, t, S_GIVE_UP, entry, word, CAS_OWN)) {
            endown_next(s, t);
        }
    } else if (t->own_ret == OWN_ANSWER) {
        t->own_ret = t->own_k = 0;
        if (held && entry == t->ref) {
            p_verdict(s, t, V_PRODUCER);
        } else {
            p_judge(t, JUDGE_ANSWER);
        }
    } else if (!held && k < p_kind(t)) {
        own_lease(s, t, k + 1, OWN_UP_TO);
    } else {
        t->own_ret = t->own_k = 0;
        p_verdict(s, t, held && m_mutant != MUTANT_no_order ? V_NONE : V_WAIT);
    }
}

void p_judged(S *s, T *t, enum judgement judgement)
{
    enum judge_ret ret = (enum judge_ret)t->judge_ret;
    t->judge_ret = t->judge_tid = t->found = 0;
    if (ret == JUDGE_RECLAIM) {
        p_reclaim_over(s, t, judgement == DEAD);
    } else if (ret == JUDGE_CHECK) {
        p_checked(s, t, judgement);
    } else if (judgement == DEAD) {
        t->run_ret = RUN_DEATH;
        t->point = M_run_read;
    } else if (judgement == THREAD_GONE) {
        end_or_again(s, t, S_GIVE_UP);
    } else if (judgement == CHANGED) {
        m_ask(s, t);
    } else {
        own_lease(s, t, 1, OWN_UP_TO);
    }
}

void p_publish(S *s, T *t)
{
    if (p_is(t->mine_word, RS_LS_CLAIMED)) {
        p_change(s, t, S_PUBLISH, t->mine, t->mine_word, CAS_PUBLISHED);
    } else if (m_mutant == MUTANT_sign_late) {
        p_verdict(s, t, V_PRODUCER);
    } else {
        hold(s, t);
    }
}

static void held(S *s, T *t, int entry, uint16_t word)
{
    t->own[p_kind(t) - 1] = (uint8_t)(entry + 1);
    t->own_gen[p_kind(t) - 1] = p_generation(word);
    if (m_mutant == MUTANT_sign_late && rs_lw_taken(m_unpack(word))) {
        t->point = M_lease_sign;
    } else {
        p_verdict(s, t, V_PRODUCER);
    }
}

/* Answers of a change that has been made. */
static void changed_so(S *s, T *t, enum cas_ret ret, int entry, uint16_t word)
{
    switch (ret) {
    case CAS_CLAIMED:
        t->mine_word = word;
        t->vacant = t->active = t->look_ret = 0;
        t->vacant_word = 0;
        t->point = M_lease_claimed;
        break;
    case CAS_PUBLISHED:
        t->mine_word = word;
        m_look_begin(s, t, t->mine, LOOK_RIVAL);
        break;
    case CAS_HELD:
        held(s, t, entry, word);
        break;
    case CAS_TAKEN:
        t->mine = (uint8_t)entry;
        t->mine_word = word;
        t->ref = 0;
        t->ref_word = 0;
        end_own(s, t, ENDOWN_TAKEOVER);
        break;
    case CAS_CHECK:
        p_wait_end(s, t, E_UNPRODUCTIVE);
        break;
    default:
        break;
    }
}

void p_changed(S *s, T *t, bool done)
{
    enum cas_ret ret = (enum cas_ret)t->cas_ret;
    int entry = t->cas;
    uint16_t word = t->cas_to;
    t->cas = t->cas_ret = t->cas_step = t->cas_ends = 0;
    t->cas_from = t->cas_to = 0;
    if (ret == CAS_RIVAL) {
        m_look_begin(s, t, t->mine, LOOK_RIVAL);
    } else if (ret == CAS_STORED) {
        m_stored_end(s, t);
    } else if (ret == CAS_STALL) {
        m_stalled_end(s, t);
    } else if (ret == CAS_OWN) {
        t->own[t->own_k - 1] = t->own_gen[t->own_k - 1] = 0;
        endown_next(s, t);
    } else if (ret == CAS_RECLAIM) {
        t->freed |= done;
        p_reclaim_next(s, t);
    } else if (ret == CAS_CHECK && !done) {
        p_watch_again(t);
    } else if (ret == CAS_AGAIN || !done) {
        m_ask(s, t);
    } else {
        changed_so(s, t, ret, entry, word);
    }
}

/* ---- what the program calls ---- */

void m_stored(S *s, T *t)
{
    m_look_begin(s, t, M_NONE, LOOK_STORED);
}

void m_failed(S *s, T *t)
{
    m_look_begin(s, t, M_NONE, LOOK_FAILED);
}

void m_storing(S *s, T *t)
{
    m_look_begin(s, t, M_NONE, LOOK_STORING);
}

void m_stalled(S *s, T *t)
{
    m_look_begin(s, t, M_NONE, LOOK_STALL);
}

void m_next_lookup(S *s, T *t)
{
    end_own(s, t, ENDOWN_LOOKUP);
}
