/* SPDX-License-Identifier: Apache-2.0
 *
 * rs_lease_look(), rs_lease_judge(), rs_lease_apply(), rs_lease_end(), rs_lease_sign() and
 * rs_lease_reclaim() of shim/store/lease_table.c, cut at their RS_STEP points.
 */
#include "protocol.h"

typedef struct m_state S;
typedef struct m_thread T;

/* ---- changes: rs_lease_apply(), rs_lease_end() ---- */

static bool pure(const S *s, const T *t, enum m_cas step, uint16_t from, uint16_t *to)
{
    uint64_t next = 0, word = m_unpack(from);
    bool legal = false;
    switch (step) {
    case S_CLAIM:
        legal = rs_lw_claim(word, p_owner(s, t), &next);
        if (m_mutant == MUTANT_same_generation) {
            next = rs_lw_make(RS_LS_CLAIMED, false, p_owner(s, t), rs_lw_generation(word));
        }
        break;
    case S_PUBLISH:
        legal = rs_lw_publish(word, &next);
        break;
    case S_HOLD:
        legal = rs_lw_hold(word, &next);
        break;
    case S_WITHDRAW:
        legal = rs_lw_withdraw(word, &next) ||
                (m_mutant == MUTANT_withdraw_held && rs_lw_active(word) && !rs_lw_taken(word));
        break;
    case S_TAKE_OVER:
        legal = rs_lw_take_over(word, p_owner(s, t), &next) || m_mutant == MUTANT_taken_twice;
        break;
    case S_STORE:
        legal = rs_lw_store(word, &next);
        break;
    case S_GIVE_UP:
        legal = rs_lw_give_up(word, &next);
        if (m_mutant == MUTANT_fail_is_free) {
            next = rs_lw_with_state(word, RS_LS_FREE);
        }
        break;
    case S_STALL:
        legal = rs_lw_stall(word, &next);
        break;
    case S_FORGET:
        legal = rs_lw_forget(word, &next);
        break;
    }
    *to = m_pack(next);
    return legal;
}

/* False: the step is not legal from WORD, and nothing has begun. */
bool p_change(S *s, T *t, enum m_cas step, int entry, uint16_t word, enum cas_ret ret)
{
    uint16_t to;
    if (!pure(s, t, step, word, &to)) {
        return false;
    }
    t->point = M_lease_apply;
    t->cas = (uint8_t)entry;
    t->cas_step = (uint8_t)step;
    t->cas_from = word;
    t->cas_to = to;
    t->cas_ret = (uint8_t)ret;
    t->cas_ends = step == S_WITHDRAW || step == S_STORE || step == S_GIVE_UP || step == S_FORGET ||
                  step == S_STALL;
    return true;
}

static void apply(S *s, T *t)
{
    struct m_entry *entry = &s->entry[t->cas];
    bool done = entry->word == t->cas_from;
    if (done) {
        m_check_change(s, p_number(s, t), t->cas, (enum m_cas)t->cas_step);
        entry->word = t->cas_to;
    }
    if (done && t->cas_ends) {
        t->point = M_lease_ended;
    } else {
        p_changed(s, t, done);
    }
}

static void wake(S *s, T *t)
{
    for (int i = 0; i < m_config->threads && m_mutant != MUTANT_no_wake; i++) {
        T *other = &s->thread[i];
        if (other->point == M_asleep && other->ref == t->cas) {
            other->woken = 1;
        }
    }
    p_changed(s, t, true);
}

/* ---- rs_lease_look() ---- */

void p_look_next(S *s, T *t)
{
    t->word = t->same = t->same_run = 0;
    do {
        t->i++;
    } while (t->i == t->skip);
    if (t->i < m_config->entries) {
        t->point = M_look_word;
        return;
    }
    t->i = t->skip = 0;
    p_looked(s, t);
}

void m_look_begin(S *s, T *t, int skip, int ret)
{
    t->active = t->vacant = M_NONE;
    t->active_word = t->vacant_word = t->unproductive = 0;
    t->look_ret = (uint8_t)ret;
    t->skip = (uint8_t)skip;
    t->i = M_NONE; /* one before 0 */
    p_look_next(s, t);
}

static void look_again(S *s, T *t)
{
    bool first = t->vacant == M_NONE || p_is(t->vacant_word, RS_LS_STORED);
    bool better =
        t->active == M_NONE || (p_is(t->word, RS_LS_HELD) && p_is(t->active_word, RS_LS_PENDING) &&
                                m_mutant != MUTANT_lowest_only);
    if (s->entry[t->i].word != t->word && m_mutant != MUTANT_read_once) {
        t->point = M_look_word;
        t->word = t->same = t->same_run = 0;
        return;
    }
    if ((p_is(t->word, RS_LS_FREE) && first) ||
        (p_is(t->word, RS_LS_STORED) && t->vacant == M_NONE)) {
        t->vacant = t->i;
        t->vacant_word = t->word;
    } else if (t->same && p_is(t->word, RS_LS_UNPRODUCTIVE)) {
        if (m_mutant == MUTANT_run_late) {
            t->point = M_run_read;
            return;
        }
        t->unproductive |= t->same_run;
    } else if (t->same && rs_lw_active(m_unpack(t->word)) && better) {
        t->active = t->i;
        t->active_word = t->word;
    }
    p_look_next(s, t);
}

/* ---- rs_lease_judge() ---- */

void p_judge(T *t, enum judge_ret ret)
{
    t->judge_ret = (uint8_t)ret;
    t->point = M_judge_fields;
}

static bool process_alive(const S *s, uint16_t word)
{
    return s->alive >> rs_lw_owner(m_unpack(word)).slot & 1;
}

static void judge_process(S *s, T *t)
{
    bool alive = process_alive(s, t->ref_word) && m_mutant != MUTANT_stopped_is_dead;
    if (!alive) {
        p_judged(s, t, DEAD);
    } else if (t->found) { /* asked again behind a thread that is gone */
        p_judged(s, t, THREAD_GONE);
    } else if (!p_is(t->ref_word, RS_LS_HELD)) {
        p_judged(s, t, ALIVE);
    } else {
        t->point = M_judge_thread;
    }
}

static void judge_thread(S *s, T *t)
{
    bool gone = t->judge_tid == 0 || s->thread[t->judge_tid - 1].point == M_gone;
    if (!gone) {
        p_judged(s, t, ALIVE);
    } else if (m_mutant == MUTANT_gone_first) {
        p_judged(s, t, THREAD_GONE);
    } else {
        t->point = M_judge_ending;
    }
}

static void judge_ending(S *s, T *t)
{
    if (s->ending >> rs_lw_owner(m_unpack(t->ref_word)).slot & 1 && m_mutant != MUTANT_not_ending) {
        p_judged(s, t, ALIVE);
    } else {
        t->found = 1;
        t->point = M_judge_process;
    }
}

void p_reclaim_next(S *s, T *t)
{
    if (++t->i < m_config->entries) {
        t->point = M_reclaim_word;
    } else if (t->freed) {
        m_ask(s, t);
    } else {
        p_verdict(s, t, V_NONE);
    }
}

void p_reclaim_over(S *s, T *t, bool over)
{
    if (!over || !(p_change(s, t, S_WITHDRAW, t->ref, t->ref_word, CAS_RECLAIM) ||
                   p_change(s, t, S_FORGET, t->ref, t->ref_word, CAS_RECLAIM))) {
        p_reclaim_next(s, t);
    }
}

static void reclaim_word(S *s, T *t)
{
    t->ref = t->i;
    t->ref_word = s->entry[t->i].word;
    if (p_is(t->ref_word, RS_LS_UNPRODUCTIVE)) {
        t->point = M_reclaim_mark;
    } else if (p_is(t->ref_word, RS_LS_CLAIMED)) {
        t->judge_ret = JUDGE_RECLAIM;
        t->point = M_judge_process;
    } else if (rs_lw_active(m_unpack(t->ref_word))) {
        p_judge(t, JUDGE_RECLAIM);
    } else {
        p_reclaim_next(s, t);
    }
}

/* ---- steps ---- */

static void look_step(S *s, T *t)
{
    const struct m_entry *entry = &s->entry[t->i];
    if (t->point == M_look_word) {
        t->word = entry->word;
        bool readable = rs_lw_active(m_unpack(t->word)) || p_is(t->word, RS_LS_UNPRODUCTIVE);
        t->point = readable ? M_look_place : M_look_again;
    } else if (t->point == M_look_place) {
        t->same = entry->place == t->place + 1;
        t->same_run = entry->run == 2;
        t->point = M_look_again;
    } else {
        look_again(s, t);
    }
}

static void judge_step(S *s, T *t)
{
    if (t->point == M_judge_fields) {
        t->judge_tid = s->entry[t->ref].tid;
        t->point = M_judge_word;
    } else if (t->point == M_judge_process) {
        judge_process(s, t);
    } else if (t->point == M_judge_thread) {
        judge_thread(s, t);
    } else if (t->point == M_judge_ending) {
        judge_ending(s, t);
    } else if (s->entry[t->ref].word == t->ref_word) {
        t->point = M_judge_process;
    } else {
        p_judged(s, t, CHANGED);
    }
}

static void write_step(S *s, T *t)
{
    struct m_entry *entry = &s->entry[t->mine];
    if (t->point == M_lease_claimed) {
        entry->place = (uint8_t)(t->place + 1);
        t->point = M_lease_sign;
    } else if (t->point == M_lease_sign) {
        entry->storing = 0;
        entry->tid = (uint8_t)(p_number(s, t) + 1);
        t->point = M_lease_sign_run;
    } else {
        entry->run = 2;
        p_publish(s, t);
    }
}

static void turn(S *s, T *t)
{
    s->entry[t->cas].turn += m_mutant != MUTANT_no_turn;
    t->point = M_lease_turned;
}

static void reclaim_mark(S *s, T *t)
{
    p_reclaim_over(s, t, s->entry[t->ref].run != 2 || m_mutant == MUTANT_forgets_marks);
}

void m_store_step(S *s, T *t)
{
    typedef void step(S *, T *);
    static step *const steps[M_POINT_COUNT] = {
        [M_look_word] = look_step,
        [M_look_place] = look_step,
        [M_look_again] = look_step,
        [M_run_read] = p_run_read,
        [M_own_word] = p_own_word,
        [M_judge_fields] = judge_step,
        [M_judge_word] = judge_step,
        [M_judge_process] = judge_step,
        [M_judge_thread] = judge_step,
        [M_judge_ending] = judge_step,
        [M_lease_apply] = apply,
        [M_lease_claimed] = write_step,
        [M_lease_sign] = write_step,
        [M_lease_sign_run] = write_step,
        [M_lease_ended] = turn,
        [M_lease_turned] = wake,
        [M_reclaim_word] = reclaim_word,
        [M_reclaim_mark] = reclaim_mark,
        [M_storing_write] = p_storing_step,
        [M_storing_read] = p_storing_step,
        [M_wait_turn] = p_wait_step,
        [M_wait_word] = p_wait_step,
        [M_wait_sleep] = p_wait_step,
    };
    steps[t->point](s, t);
}
