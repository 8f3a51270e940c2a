/* SPDX-License-Identifier: Apache-2.0
 *
 * States themselves are kept only while they wait for their turn. Of those that were met, a hash of
 * 64 bits is kept, with the parent and the move that led there. (Ten million states: a chance of
 * one in 400,000 that two of them share a hash and one goes unexplored.)
 */
#include "explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct met {
    uint64_t hash;
    uint32_t parent;
    struct move move;
};

static struct {
    struct met *met;
    uint32_t *table; /* of indices into met, plus one */
    size_t count, room, mask;
    uint64_t *contexts; /* hashes of local contexts, open addressing */
    size_t context_mask;
} all;

static void *need(void *memory)
{
    if (!memory) {
        puts("out of memory");
        exit(2);
    }
    return memory;
}

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *at = data;
    uint64_t word;
    while (size > 0) {
        size_t part = size < 8 ? size : 8;
        word = 0;
        memcpy(&word, at, part);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
        hash *= UINT64_C(0xd6e8feb86659fd93);
        hash ^= hash >> 29;
        at += part;
        size -= part;
    }
    return hash;
}

/* ---- states that differ only by who is who ---- */

static uint16_t renamed(uint16_t word, const uint8_t *names)
{
    unsigned slot = word >> 4 & 7;
    bool owned = word >> 7 && slot < M_THREADS;
    return owned ? (uint16_t)((word & ~0x70u) | (unsigned)names[slot] << 4) : word;
}

static void rename_thread(struct m_thread *t, const uint8_t *names)
{
    uint16_t *const words[] = {&t->word,      &t->active_word, &t->vacant_word, &t->ref_word,
                               &t->mine_word, &t->cas_from,    &t->cas_to};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        *words[i] = renamed(*words[i], names);
    }
    t->judge_tid = t->judge_tid ? (uint8_t)(names[t->judge_tid - 1] + 1) : 0;
}

/* Orders threads by what they do, not by whose words they have read. */
static uint64_t rank_of(const struct m_state *s, int thread)
{
    static const uint8_t nobody[M_THREADS];
    struct m_thread t = s->thread[thread];
    rename_thread(&t, nobody);
    t.judge_tid = 0;
    return mix((s->alive >> thread & 1) | (s->ending >> thread & 1) << 1, &t, sizeof(t));
}

/* Where all threads have processes of their own and the same script, states that differ only in the
 * numbers of the threads are one. */
static struct m_state canonical(const struct m_state *s)
{
    struct m_state to = *s;
    uint64_t ranks[M_THREADS];
    uint8_t names[M_THREADS] = {0};
    to.alive = to.ending = 0;
    for (int i = 0; i < m_config->threads; i++) {
        ranks[i] = rank_of(s, i);
    }
    for (int i = 0; i < m_config->threads; i++) {
        for (int j = 0; j < m_config->threads; j++) {
            names[i] += ranks[j] < ranks[i] || (ranks[j] == ranks[i] && j < i);
        }
    }
    for (int i = 0; i < m_config->threads; i++) {
        to.thread[names[i]] = s->thread[i];
        rename_thread(&to.thread[names[i]], names);
        to.alive |= (uint8_t)((s->alive >> i & 1) << names[i]);
        to.ending |= (uint8_t)((s->ending >> i & 1) << names[i]);
    }
    for (int i = 0; i < m_config->entries; i++) {
        struct m_entry *entry = &to.entry[i];
        entry->word = renamed(entry->word, names);
        entry->tid = entry->tid ? (uint8_t)(names[entry->tid - 1] + 1) : 0;
    }
    for (int i = 0; i < m_config->places; i++) {
        struct m_place *place = &to.place[i];
        place->holder = place->holder ? (uint8_t)(names[place->holder - 1] + 1) : 0;
    }
    return to;
}

static uint64_t hash_of(const struct m_state *state)
{
    struct m_state same = m_config->alike ? canonical(state) : *state;
    const struct m_state *s = &same;
    uint64_t hash = 1;
    hash = mix(hash, s->entry, (size_t)m_config->entries * sizeof(s->entry[0]));
    hash = mix(hash, s->place, (size_t)m_config->places * sizeof(s->place[0]));
    hash = mix(hash, s->thread, (size_t)m_config->threads * sizeof(s->thread[0]));
    hash = mix(hash, &s->alive, 1);
    hash = mix(hash, &s->ending, 1);
    hash = mix(hash, s->budget, sizeof(s->budget));
    return hash ? hash : 1;
}

static void grow_table(void)
{
    all.mask = all.mask * 2 + 1;
    free(all.table);
    all.table = need(calloc(all.mask + 1, sizeof(*all.table)));
    for (size_t i = 0; i < all.count; i++) {
        size_t at = all.met[i].hash & all.mask;
        while (all.table[at]) {
            at = (at + 1) & all.mask;
        }
        all.table[at] = (uint32_t)i + 1;
    }
}

/* False when the state was met before. */
static bool meet(uint64_t hash, uint32_t parent, struct move move)
{
    size_t at = hash & all.mask;
    while (all.table[at]) {
        if (all.met[all.table[at] - 1].hash == hash) {
            return false;
        }
        at = (at + 1) & all.mask;
    }
    if (all.count == all.room) {
        all.room *= 2;
        all.met = need(realloc(all.met, all.room * sizeof(*all.met)));
    }
    all.met[all.count] = (struct met){hash, parent, move};
    all.table[at] = (uint32_t)++all.count;
    if (all.count * 2 > all.mask) {
        grow_table();
    }
    return true;
}

static void trace_to(uint32_t state, struct trace *trace)
{
    int length = 0;
    for (uint32_t at = state; at != 0; at = all.met[at].parent) {
        length++;
    }
    trace->length = length < TRACE_MAX ? length : 0;
    for (uint32_t at = state; at != 0; at = all.met[at].parent) {
        if (--length < trace->length) {
            trace->moves[length] = all.met[at].move;
        }
    }
}

bool explore_inside(const struct m_thread *thread)
{
    return thread->point == M_look_place || thread->point == M_look_again ||
           thread->point == M_judge_word;
}

void explore_move(struct m_state *state, struct move move)
{
    m_step(state, move.thread, (enum m_choice)move.choice);
    while (!m_config->fine && !m_wrong && explore_inside(&state->thread[move.thread])) {
        m_step(state, move.thread, C_step);
    }
}

uint64_t explore_context(const struct m_state *before, const struct m_state *after,
                         struct move move)
{
    struct m_thread t = before->thread[move.thread], n = after->thread[move.thread];
    uint8_t key[] = {
        move.choice, t.point,      t.stage,         t.look_ret,     t.run_ret,  t.own_ret,
        t.judge_ret, t.endown_ret, t.cas_step,      t.cas_ret,      t.in_wait,  t.expired,
        t.same,      t.word & 15,  t.ref_word & 15, n.point,        n.look_ret, n.judge_ret,
        n.cas_step,  n.cas_ret,    n.stage,         n.did[t.place], t.i,        t.unproductive,
    };
    return mix(7, key, sizeof(key));
}

static bool new_context(uint64_t hash)
{
    size_t at = hash & all.context_mask;
    while (all.contexts[at]) {
        if (all.contexts[at] == hash) {
            return false;
        }
        at = (at + 1) & all.context_mask;
    }
    all.contexts[at] = hash;
    return true;
}

static void reset(void)
{
    all.count = 0;
    all.room = 1 << 16;
    all.mask = (1 << 17) - 1;
    all.context_mask = (1 << 17) - 1;
    all.met = need(malloc(all.room * sizeof(*all.met)));
    all.table = need(calloc(all.mask + 1, sizeof(*all.table)));
    all.contexts = need(calloc(all.context_mask + 1, sizeof(*all.contexts)));
}

/* States that wait for their turn: those of one depth, and those of the next. */
struct front {
    struct m_state *states;
    uint32_t *numbers;
    size_t count, room;
};

static void front_add(struct front *front, const struct m_state *state, size_t number)
{
    if (front->count == front->room) {
        front->room = front->room ? front->room * 2 : 1024;
        front->states = need(realloc(front->states, front->room * sizeof(*front->states)));
        front->numbers = need(realloc(front->numbers, front->room * sizeof(*front->numbers)));
    }
    front->states[front->count] = *state;
    front->numbers[front->count++] = (uint32_t)number;
}

/* One state's successors. False: a property does not hold. */
static bool expand(const struct m_state *state, uint32_t number, unsigned future_of,
                   struct front *next, struct exploration *result, found_trace *found,
                   void *context)
{
    for (int i = 0; i < m_config->threads * C_COUNT; i++) {
        struct move move = {(uint8_t)(i / C_COUNT), (uint8_t)(i % C_COUNT)};
        struct m_state after = *state;
        if (!m_enabled(state, move.thread, (enum m_choice)move.choice)) {
            continue;
        }
        explore_move(&after, move);
        result->transitions++;
        if (!m_wrong) {
            m_check_state(&after);
        }
        uint64_t hash = hash_of(&after);
        bool is_new = !m_wrong && meet(hash, number, move);
        if (is_new && hash % future_of == 0) {
            m_check_future(&after);
        }
        bool shows = m_wrong || (found && new_context(explore_context(state, &after, move)));
        if (shows) {
            trace_to(number, &result->to);
            result->to.moves[result->to.length++] = move;
            result->contexts++;
        }
        if (m_wrong) {
            return false;
        }
        if (shows) {
            found(&result->to, explore_context(state, &after, move), context);
        }
        if (is_new) {
            front_add(next, &after, all.count - 1);
        }
    }
    return true;
}

void explore(size_t limit, unsigned future_of, struct exploration *result, found_trace *found,
             void *context)
{
    struct front now = {0}, next = {0};
    struct m_state first;
    memset(result, 0, sizeof(*result));
    reset();
    m_wrong = NULL;
    m_start(&first);
    meet(hash_of(&first), 0, (struct move){0, 0});
    front_add(&next, &first, 0);
    bool fine = true;
    while (fine && next.count > 0 && all.count < limit) {
        struct front was = now;
        now = next;
        next = was;
        next.count = 0;
        result->depth++;
        for (size_t i = 0; fine && i < now.count; i++) {
            fine = expand(&now.states[i], now.numbers[i], future_of, &next, result, found, context);
        }
    }
    result->states = all.count;
    result->complete = fine && next.count == 0;
    result->wrong = m_wrong;
    free(now.states);
    free(now.numbers);
    free(next.states);
    free(next.numbers);
    free(all.met);
    free(all.table);
    free(all.contexts);
}

static void print_state(const struct m_state *s)
{
    static const char *const states[] = {"free", "claimed", "pending",
                                         "held", "stored",  "unproductive"};
    for (int i = 0; i < m_config->entries; i++) {
        uint64_t word = m_unpack(s->entry[i].word);
        printf("  %s%s of p%u #%u place %c", states[rs_lw_state(word)],
               rs_lw_taken(word) ? " (taken over)" : "", rs_lw_owner(word).slot,
               rs_lw_generation(word), s->entry[i].place ? 'a' + s->entry[i].place - 1 : '-');
    }
    putchar('\n');
}

void print_trace(const struct trace *trace)
{
    struct m_state state;
    m_start(&state);
    m_wrong = NULL;
    for (int i = 0; i < trace->length; i++) {
        struct move move = trace->moves[i];
        enum m_point at = (enum m_point)state.thread[move.thread].point;
        explore_move(&state, move);
        printf("  %3d p%d.t%d %-7s at %-14s", i + 1, m_config->process[move.thread], move.thread,
               m_choice_names[move.choice], m_point_names[at]);
        print_state(&state);
    }
}
