/* SPDX-License-Identifier: Apache-2.0
 *
 * The properties. m_wrong says which one does not hold.
 */
#include "model.h"

typedef struct m_state S;
typedef struct m_thread T;

static bool is(uint16_t word, enum rs_lease_state state)
{
    return rs_lw_state(m_unpack(word)) == state;
}

static bool owner_alive(const S *s, const struct m_entry *entry)
{
    return (s->alive & ~s->ending) >> rs_lw_owner(m_unpack(entry->word)).slot & 1;
}

/* An unproductive end must have a cause: the owner itself, the exit of its thread while the process
 * lives, or a second death. */
static void check_give_up(S *s, int thread, const struct m_entry *entry, struct m_place *place)
{
    int holder = place->holder - 1;
    bool second_death = rs_lw_taken(m_unpack(entry->word)) && !owner_alive(s, entry);
    bool own = holder >= 0 && m_config->process[holder] == m_config->process[thread];
    if (entry->run == 1) {
        m_wrong = "a lease of a former run ends as unproductive";
    } else if (!second_death && !own && !place->left) {
        m_wrong = "an unproductive end without a cause";
    }
    place->unproductive = 1;
    place->holder = 0;
}

static void check_hold(S *s, int thread, int number, struct m_place *place)
{
    for (int i = 0; i < m_config->entries; i++) {
        const struct m_entry *other = &s->entry[i];
        if (i != number && other->place == s->entry[number].place && is(other->word, RS_LS_HELD)) {
            m_wrong = "two leases of one place are held";
        }
    }
    if (place->holder) {
        m_wrong = "elected while another's lease goes on";
    }
    if (place->unproductive) {
        m_wrong = "elected after an unproductive end";
    }
    place->holder = (uint8_t)(thread + 1);
    place->left = place->storing = 0;
}

void m_check_change(S *s, int thread, int number, enum m_cas step)
{
    struct m_entry *entry = &s->entry[number];
    if (step == S_CLAIM || step == S_PUBLISH) {
        return;
    }
    if (entry->place == 0) { /* claimed by somebody who died before writing it */
        return;
    }
    struct m_place *place = &s->place[entry->place - 1];
    bool held = is(entry->word, RS_LS_HELD);
    switch (step) {
    case S_HOLD:
        check_hold(s, thread, number, place);
        break;
    case S_TAKE_OVER:
        if (owner_alive(s, entry)) {
            m_wrong = "taken over from the living";
        } else if (place->taken++) {
            m_wrong = "taken over twice";
        }
        place->holder = 0;
        break;
    case S_STORE:
        if (!place->filled) {
            m_wrong = "a lease ends as stored, but nothing is there";
        }
        place->holder = 0;
        break;
    case S_STALL:
        if (place->storing != place->holder || place->holder == 0) {
            m_wrong = "a lease whose store has not begun ends as stalled";
        }
        place->unproductive = 1;
        place->holder = 0;
        break;
    case S_GIVE_UP:
        check_give_up(s, thread, entry, place);
        break;
    case S_WITHDRAW:
    case S_FORGET:
        if (held && owner_alive(s, entry)) {
            m_wrong = "a living owner's lease is freed";
        }
        place->holder = held ? 0 : place->holder;
        break;
    default:
        break;
    }
}

/* The note has been written; it counts if the lease is still the one that was looked at. */
void m_check_storing(S *s, int number, uint16_t word)
{
    const struct m_entry *entry = &s->entry[number];
    if (entry->word == word && entry->place) {
        s->place[entry->place - 1].storing = s->place[entry->place - 1].holder;
    }
}

void m_check_begin(S *s, int number)
{
    struct m_place *place = &s->place[number];
    if (place->begun > place->died) {
        m_wrong = "a second producer without a death";
    }
    place->begun++;
}

/* The thread that holds the lease for which T waits, or -1. */
static int waits_for(const S *s, const T *t)
{
    const struct m_entry *entry = &s->entry[t->ref];
    bool watching = t->point == M_asleep || t->point == M_wait_sleep;
    if (!watching || !is(entry->word, RS_LS_HELD) || !owner_alive(s, entry) ||
        rs_lw_generation(m_unpack(entry->word)) != t->gen || entry->tid == 0) {
        return -1;
    }
    return entry->tid - 1;
}

static void check_cycles(const S *s)
{
    for (int i = 0; i < m_config->threads; i++) {
        int at = i;
        for (int steps = 0; at >= 0 && m_alive(s, at); steps++) {
            if (steps > m_config->threads) {
                m_wrong = "holders of leases wait for each other";
                return;
            }
            at = waits_for(s, &s->thread[at]);
        }
    }
}

/* Somebody is on the way to wake who sleeps at ENTRY. */
static bool waker(const S *s, int entry, bool before_turn)
{
    if (s->entry[entry].died) {
        return true;
    }
    for (int i = 0; i < m_config->threads; i++) {
        const T *t = &s->thread[i];
        bool there = t->point == M_lease_turned || (before_turn && t->point == M_lease_ended);
        if (m_alive(s, i) && there && t->cas == entry) {
            return true;
        }
    }
    return false;
}

static void check_sleeper(const S *s, const T *t)
{
    const struct m_entry *entry = &s->entry[t->ref];
    uint64_t word = m_unpack(entry->word);
    bool over = rs_lw_generation(word) != t->gen || !rs_lw_active(word);
    /* A takeover leaves a sleeper where it is: the lease goes on. */
    bool taken = rs_lw_active(word) && rs_lw_taken(word);
    if (t->woken || taken) {
        return;
    }
    if (entry->turn != t->turn ? !waker(s, t->ref, false) : over && !waker(s, t->ref, true)) {
        m_wrong = "a wake-up is lost";
    }
}

void m_check_state(const S *s)
{
    for (int i = 0; i < m_config->entries; i++) {
        const struct m_entry *entry = &s->entry[i];
        unsigned slot = rs_lw_owner(m_unpack(entry->word)).slot;
        if (is(entry->word, RS_LS_HELD) && slot != M_FORMER &&
            (entry->tid == 0 || m_config->process[entry->tid - 1] != slot || entry->run != 2)) {
            m_wrong = "a held lease is not its owner's";
        }
    }
    for (int i = 0; i < m_config->threads; i++) {
        if (m_alive(s, i) && s->thread[i].point == M_asleep) {
            check_sleeper(s, &s->thread[i]);
        }
    }
    check_cycles(s);
}

/* ---- what follows -------------------------------------------------------------------------------
 */

enum { STEPS = 4000 };

static void alone(S s, int thread)
{
    for (int i = 0; i < STEPS && !m_over(&s, thread); i++) {
        T *t = &s.thread[thread];
        t->expired |= t->in_wait;
        m_step(&s, thread, t->point == M_asleep && !t->woken ? C_slice : C_step);
        if (m_wrong) {
            return;
        }
    }
    if (!m_over(&s, thread)) {
        m_wrong = "while all others are stopped, a thread does not finish behind its deadline";
    }
}

/* Whether the thread has anything to do in this round, and does it. */
static bool turn_of(S *s, int thread, bool slices)
{
    T *t = &s->thread[thread];
    if (m_over(s, thread)) {
        return false;
    }
    if (t->point == M_asleep && !t->woken) {
        if (slices) {
            m_step(s, thread, C_slice);
        }
        return slices;
    }
    m_step(s, thread, C_step);
    return true;
}

/* Whether a thread or a process has ended: then a waiter may need its slices. */
static bool ended(const S *s)
{
    for (int i = 0; i < m_config->threads; i++) {
        bool began = i == 0 || i != m_config->child || s->budget[C_fork] == 0;
        if (s->thread[i].point == M_gone && began) {
            return true;
        }
    }
    return m_config->former[0].word != 0;
}

/* All that live go on, and nothing happens to them any more: every wait ends, and before its
 * deadline. Slices count only where somebody has died or a thread has ended. */
static void together(S s)
{
    int slices = 0, rounds = 0;
    s.alive &= (uint8_t)~s.ending;
    s.ending = 0;
    bool over = false;
    for (int i = 0; i < m_config->threads; i++) {
        s.thread[i].expired = 0;
    }
    while (!over && rounds++ < STEPS && !m_wrong) {
        bool any = false;
        over = true;
        for (int i = 0; i < m_config->threads; i++) {
            any |= turn_of(&s, i, false);
            over &= m_over(&s, i);
        }
        if (!over && !any && !ended(&s)) {
            break;
        }
        if (!over && !any) {
            for (int i = 0; i < m_config->threads; i++) {
                turn_of(&s, i, true);
            }
            slices++;
        }
        if (slices > 8) {
            break;
        }
    }
    if (!over && !m_wrong) {
        m_wrong = "all that live go on, and somebody waits until the deadline";
    }
}

void m_check_future(const S *s)
{
    for (int i = 0; i < m_config->threads && !m_wrong; i++) {
        alone(*s, i);
    }
    if (!m_wrong) {
        together(*s);
    }
}
