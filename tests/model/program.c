/* SPDX-License-Identifier: Apache-2.0
 *
 * The program around the store: look-ups and stores as shim/rank/look.c and keep.c make them, and
 * what happens to processes. replay_actor.c is the same program for the real store.
 */
#include "model.h"

#include <string.h>

typedef struct m_state S;
typedef struct m_thread T;

enum { FRESH, WAITED, PRODUCER }; /* stage of a look-up */

const struct m_config *m_config;
enum m_mutant m_mutant;
bool m_dies_at_once;
const char *m_wrong;

const char *const m_point_names[M_POINT_COUNT] = {
#define X(name) #name,
    M_POINTS(X)
#undef X
};
const char *const m_choice_names[C_COUNT] = {
#define X(name) #name,
    M_CHOICES(X)
#undef X
};

/* state 3 bits, taken over 1, slot 3, generation 9 */
uint64_t m_unpack(uint16_t word)
{
    struct rs_lease_owner owner = {word >> 4 & 7, 1};
    return rs_lw_make((enum rs_lease_state)(word & 7), word >> 3 & 1, owner, word >> 7);
}

uint16_t m_pack(uint64_t word)
{
    return (uint16_t)((unsigned)rs_lw_state(word) | (unsigned)rs_lw_taken(word) << 3 |
                      (rs_lw_owner(word).slot & 7) << 4 | (rs_lw_generation(word) & 511) << 7);
}

void m_start(S *s)
{
    memset(s, 0, sizeof(*s));
    memcpy(s->entry, m_config->former, sizeof(s->entry));
    memcpy(s->budget, m_config->budget, sizeof(s->budget));
    for (int i = 0; i < m_config->threads; i++) {
        bool waits_for_fork = m_config->child && i == m_config->child;
        s->thread[i].point = waits_for_fork ? M_gone : M_op;
        s->alive |= waits_for_fork ? 0 : (uint8_t)(1u << m_config->process[i]);
    }
}

static const char *script_of(const S *s, const T *t)
{
    return m_config->script[t - s->thread] + 2 * t->op;
}

bool m_over(const S *s, int thread)
{
    const T *t = &s->thread[thread];
    return t->point == M_gone || !m_alive(s, thread) ||
           (t->point == M_op && *script_of(s, t) == '\0');
}

static bool first_of_process(int thread)
{
    for (int i = 0; i < thread; i++) {
        if (m_config->process[i] == m_config->process[thread]) {
            return false;
        }
    }
    return true;
}

static bool may_store(const S *s, const T *t)
{
    const char *at = script_of(s, t);
    int did = *at == '!' ? t->did[at[1] - 'a'] : DID_NOTHING;
    return did == DID_PRODUCE || did == DID_NATIVE;
}

static bool ending(const S *s, int thread)
{
    return s->ending >> m_config->process[thread] & 1;
}

bool m_enabled(const S *s, int thread, enum m_choice choice)
{
    const T *t = &s->thread[thread];
    int child = m_config->child;
    bool alive = m_alive(s, thread) && t->point != M_gone;
    bool counted = choice != C_step && choice != C_slice && choice != C_reap;
    if (counted && s->budget[choice] == 0) {
        return false;
    }
    switch (choice) {
    case C_step:
        return alive && (t->point == M_asleep ? t->woken : !m_over(s, thread));
    case C_fail:
        return alive && t->point == M_op && may_store(s, t);
    case C_stall:
        return alive && t->point == M_wait;
    case C_exit:
        return alive && t->point == M_op;
    case C_fork:
        return alive && t->point == M_op && child && m_config->process[thread] == 0 &&
               s->thread[child].point == M_gone && !(s->alive >> m_config->process[child] & 1);
    case C_slice:
    case C_signal:
        return alive && t->point == M_asleep;
    case C_expire:
        return alive && t->in_wait && !t->expired;
    case C_die:
        return m_alive(s, thread) && first_of_process(thread) && !ending(s, thread);
    case C_reap:
        return first_of_process(thread) && ending(s, thread);
    case C_COUNT:
        break;
    }
    return false;
}

/* ---- look-ups ----------------------------------------------------------------------------------
 */

/* The script goes on behind this step. */
static void op_done(T *t, enum m_did did)
{
    t->did[t->place] = (uint8_t)did;
    t->stage = t->found = t->place = 0;
    t->point = M_op;
    t->op++;
}

/* A look at the place has found the artifact, or not. */
static void seen(S *s, T *t, bool filled)
{
    t->found = 0;
    if (filled && t->stage == PRODUCER) {
        m_stored(s, t);
    } else if (filled) {
        op_done(t, DID_HIT);
    } else if (t->stage == PRODUCER) {
        m_check_begin(s, t->place);
        op_done(t, DID_PRODUCE);
    } else {
        m_ask(s, t);
    }
}

static void disk(S *s, T *t)
{
    bool filled = s->place[t->place].filled;
    if (t->stage == FRESH) {
        t->found = filled;
        m_next_lookup(s, t);
    } else {
        seen(s, t, filled);
    }
}

void m_next_lookup_end(S *s, T *t)
{
    seen(s, t, t->found);
}

void m_stored_end(S *s, T *t)
{
    (void)s;
    op_done(t, t->stage == PRODUCER ? DID_HIT : DID_STORE);
}

void m_verdict(S *s, T *t, enum m_verdict verdict)
{
    switch (verdict) {
    case V_PRODUCER:
        t->stage = PRODUCER;
        t->point = M_disk;
        return;
    case V_WAIT:
        t->stage = WAITED;
        if (m_config->budget[C_stall]) {
            t->point = M_wait;
        } else {
            m_wait(s, t);
        }
        return;
    case V_UNPRODUCTIVE:
        if (!s->place[t->place].unproductive) {
            m_wrong = "a verdict of unproductive without a mark of this run";
        }
        break;
    case V_NONE:
        break;
    }
    op_done(t, DID_NATIVE);
}

void m_wait_end(S *s, T *t, enum m_end end)
{
    if (end == E_ENDED || end == E_OWNER_DIED) {
        t->point = M_disk;
        return;
    }
    if (end == E_UNPRODUCTIVE && !s->place[t->place].unproductive) {
        m_wrong = "a wait ended as unproductive without a mark of this run";
    }
    t->expired = 0;
    op_done(t, DID_NATIVE);
}

/* ---- the script and what happens to processes --------------------------------------------------
 */

static void put(S *s, T *t)
{
    s->place[t->place].filled = 1;
    m_stored(s, t);
}

void m_storing_end(S *s, T *t)
{
    (void)s;
    t->point = M_put;
}

void m_stalled_end(S *s, T *t)
{
    (void)s;
    t->point = M_disk; /* looks again */
}

static void op(S *s, T *t, bool fail)
{
    const char *at = script_of(s, t);
    t->place = (uint8_t)(at[1] - 'a');
    t->stage = FRESH;
    if (*at == '?') {
        t->did[t->place] = DID_NOTHING;
        disk(s, t);
    } else if (!may_store(s, t)) {
        op_done(t, DID_HIT);
    } else if (fail) {
        m_failed(s, t);
    } else if (m_config->budget[C_stall]) {
        m_storing(s, t);
    } else {
        put(s, t);
    }
}

static void fork_child(S *s, const T *parent)
{
    int child = m_config->child;
    T *t = &s->thread[child];
    memset(t, 0, sizeof(*t));
    t->point = M_op;
    if (m_mutant == MUTANT_fork_keeps) {
        memcpy(t->own, parent->own, sizeof(t->own));
        memcpy(t->own_gen, parent->own_gen, sizeof(t->own_gen));
    }
    s->alive |= (uint8_t)(1u << m_config->process[child]);
}

static void end_thread(S *s, T *t)
{
    uint8_t did[M_PLACES];
    memcpy(did, t->did, sizeof(did));
    if (t->point == M_lease_ended || t->point == M_lease_turned) {
        s->entry[t->cas].died = 1;
    }
    memset(t, 0, sizeof(*t));
    memcpy(t->did, did, sizeof(did));
    t->point = M_gone;
}

static void reap(S *s, int thread)
{
    uint8_t others = (uint8_t) ~(1u << m_config->process[thread]);
    s->ending &= others;
    s->alive &= others;
}

static void die(S *s, int thread)
{
    for (int i = 0; i < m_config->threads; i++) {
        T *t = &s->thread[i];
        if (m_config->process[i] != m_config->process[thread]) {
            continue;
        }
        for (int place = 0; place < m_config->places; place++) {
            s->place[place].died += t->did[place] == DID_PRODUCE;
        }
        end_thread(s, t);
        memset(t->did, 0, sizeof(t->did));
    }
    s->ending |= (uint8_t)(1u << m_config->process[thread]);
    if (m_dies_at_once) {
        reap(s, thread);
    }
}

void m_step(S *s, int thread, enum m_choice choice)
{
    T *t = &s->thread[thread];
    s->budget[choice] -= s->budget[choice] > 0;
    switch (choice) {
    case C_step:
    case C_slice:
    case C_signal:
        if (t->point == M_op) {
            op(s, t, false);
        } else if (t->point == M_disk) {
            disk(s, t);
        } else if (t->point == M_put) {
            put(s, t);
        } else if (t->point == M_wait) {
            m_wait(s, t);
        } else if (t->point == M_asleep) {
            m_asleep(s, t, choice);
        } else {
            m_store_step(s, t);
        }
        break;
    case C_stall:
        m_stalled(s, t);
        break;
    case C_fail:
        op(s, t, true);
        break;
    case C_exit:
        for (int i = 0; i < m_config->places; i++) {
            s->place[i].left |= s->place[i].holder == thread + 1;
        }
        end_thread(s, t);
        break;
    case C_fork:
        fork_child(s, t);
        break;
    case C_expire:
        t->expired = 1;
        break;
    case C_die:
        die(s, thread);
        break;
    case C_reap:
        reap(s, thread);
        break;
    case C_COUNT:
        break;
    }
}
