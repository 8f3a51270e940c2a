/* SPDX-License-Identifier: Apache-2.0
 *
 * shim/store/lease_wait.c, cut at its RS_STEP points.
 */
#include "protocol.h"

typedef struct m_state S;
typedef struct m_thread T;

/* ---- waiting ---- */

void p_wait_end(S *s, T *t, enum m_end end)
{
    t->in_wait = t->nothing = t->gen = t->turn = t->woken = 0;
    t->ref = t->active = t->vacant = t->look_ret = t->unproductive = 0;
    t->ref_word = t->active_word = t->vacant_word = 0;
    m_wait_end(s, t, end);
}

void m_wait(S *s, T *t)
{
    t->in_wait = 1;
    t->nothing = E_ENDED;
    m_look_begin(s, t, M_NONE, LOOK_WAIT);
}

void p_watch_again(T *t)
{
    t->ref_word = 0;
    t->turn = 0;
    t->point = m_mutant == MUTANT_turn_late ? M_wait_word : M_wait_turn;
}

void p_wait_looked(S *s, T *t)
{
    if (t->unproductive) {
        p_wait_end(s, t, E_UNPRODUCTIVE);
    } else if (t->active == M_NONE) {
        p_wait_end(s, t, (enum m_end)t->nothing);
    } else {
        t->ref = t->active;
        t->gen = p_generation(t->active_word);
        t->active = t->vacant = t->look_ret = 0;
        t->active_word = t->vacant_word = 0;
        p_watch_again(t);
    }
}

static void look_for_others(S *s, T *t, enum m_end nothing)
{
    t->nothing = (uint8_t)nothing;
    t->ref = t->gen = t->turn = 0;
    t->ref_word = 0;
    m_look_begin(s, t, M_NONE, LOOK_WAIT);
}

static void wait_word(S *s, T *t)
{
    t->ref_word = s->entry[t->ref].word;
    if (p_generation(t->ref_word) != t->gen) {
        look_for_others(s, t, E_ENDED);
    } else if (p_is(t->ref_word, RS_LS_STORED)) {
        p_wait_end(s, t, E_ENDED);
    } else if (p_is(t->ref_word, RS_LS_UNPRODUCTIVE)) {
        p_wait_end(s, t, E_UNPRODUCTIVE);
    } else if (!rs_lw_active(m_unpack(t->ref_word))) {
        look_for_others(s, t, E_OWNER_DIED);
    } else if (t->expired && m_mutant != MUTANT_no_deadline) {
        p_wait_end(s, t, E_TIMEOUT);
    } else if (m_mutant == MUTANT_turn_late) {
        t->point = M_wait_turn;
    } else {
        t->point = M_wait_sleep;
    }
}

void m_asleep(S *s, T *t, enum m_choice choice)
{
    t->woken = 0;
    if (choice == C_signal) {
        p_wait_end(s, t, E_SIGNAL);
    } else if (choice == C_slice && m_mutant != MUTANT_no_slices) {
        p_judge(t, JUDGE_CHECK);
    } else {
        p_watch_again(t);
    }
}

/* check_owner(), behind the judgement. */
void p_checked(S *s, T *t, enum judgement judgement)
{
    if (judgement == DEAD && rs_lw_taken(m_unpack(t->ref_word))) {
        t->run_ret = RUN_CHECK;
        t->point = M_run_read;
    } else if (judgement == DEAD) {
        p_wait_end(s, t, E_OWNER_DIED);
    } else if (judgement != THREAD_GONE ||
               !p_change(s, t, S_GIVE_UP, t->ref, t->ref_word, CAS_CHECK)) {
        p_watch_again(t);
    }
}

void p_wait_step(S *s, T *t)
{
    if (t->point == M_wait_turn) {
        t->turn = s->entry[t->ref].turn;
        t->point = m_mutant == MUTANT_turn_late ? M_wait_sleep : M_wait_word;
    } else if (t->point == M_wait_word) {
        wait_word(s, t);
    } else if (s->entry[t->ref].turn == t->turn) {
        t->point = M_asleep;
    } else {
        p_watch_again(t);
    }
}
