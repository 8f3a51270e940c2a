/* SPDX-License-Identifier: Apache-2.0
 *
 * Which traces are gone: for each kind of transition that the explorer has met, one that ends with
 * it, unless an earlier one went through it; and random walks. Each goes on until all is over.
 */
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct trace **traces;
    uint64_t *lasts; /* kind of the last transition */
    int count, room;
    uint64_t *seen; /* kinds that were gone */
    size_t seen_count, seen_room;
} all;

static bool was_seen(uint64_t kind)
{
    for (size_t i = 0; i < all.seen_count; i++) {
        if (all.seen[i] == kind) {
            return true;
        }
    }
    return false;
}

static void see(uint64_t kind)
{
    if (was_seen(kind)) {
        return;
    }
    if (all.seen_count == all.seen_room) {
        all.seen_room = all.seen_room ? 2 * all.seen_room : 4096;
        all.seen = realloc(all.seen, all.seen_room * sizeof(*all.seen));
    }
    all.seen[all.seen_count++] = kind;
}

void replay_collect(const struct trace *trace, uint64_t kind)
{
    if (all.count == all.room) {
        all.room = all.room ? 2 * all.room : 4096;
        all.traces = realloc(all.traces, (size_t)all.room * sizeof(*all.traces));
        all.lasts = realloc(all.lasts, (size_t)all.room * sizeof(*all.lasts));
    }
    size_t size = offsetof(struct trace, moves) + (size_t)trace->length * sizeof(struct move);
    all.traces[all.count] = malloc(size);
    memcpy(all.traces[all.count], trace, size);
    all.lasts[all.count++] = kind;
}

static struct trace gone; /* what this run has gone so far */
static size_t steps, runs;

static bool go(struct move move)
{
    struct m_state before = *replay_state();
    if (gone.length < TRACE_MAX) {
        gone.moves[gone.length++] = move;
    }
    steps++;
    bool fine = replay_move(move);
    see(explore_context(&before, replay_state(), move));
    return fine;
}

/* Everybody goes on until all is over. */
static bool finish(void)
{
    bool fine = true, over = false;
    for (int rounds = 0; fine && !over && rounds < TRACE_MAX; rounds++) {
        over = true;
        bool any = false;
        for (int i = 0; fine && i < m_config->threads; i++) {
            if (m_enabled(replay_state(), i, C_step)) {
                any = true;
                fine = go((struct move){(uint8_t)i, C_step});
            }
            over &= m_over(replay_state(), i);
        }
        for (int i = 0; fine && !any && !over && i < m_config->threads; i++) {
            if (m_enabled(replay_state(), i, C_slice)) {
                fine = go((struct move){(uint8_t)i, C_slice});
            }
        }
    }
    return fine;
}

static bool done(bool fine, char *text, size_t size)
{
    const char *wrong = replay_end();
    runs++;
    if (fine && !wrong) {
        return true;
    }
    snprintf(text, size, "%s", wrong ? wrong : "it does not come to an end");
    print_trace(&gone);
    return false;
}

static bool go_trace(const struct trace *trace, char *text, size_t size)
{
    gone.length = 0;
    bool fine = replay_begin();
    for (int i = 0; fine && i < trace->length; i++) {
        fine = go(trace->moves[i]);
    }
    return done(fine && finish(), text, size);
}

static bool go_walk(unsigned *seed, char *text, size_t size)
{
    enum { MOVES = 150, CALM = 8 };
    gone.length = 0;
    bool fine = replay_begin();
    for (int i = 0; fine && i < MOVES; i++) {
        struct move possible[M_THREADS * C_COUNT];
        int count = 0;
        bool calm = rand_r(seed) % CALM != 0; /* events are rarer than steps */
        for (int j = 0; j < m_config->threads * C_COUNT; j++) {
            struct move move = {(uint8_t)(j / C_COUNT), (uint8_t)(j % C_COUNT)};
            bool event = move.choice != C_step;
            if (!(event && calm) &&
                m_enabled(replay_state(), move.thread, (enum m_choice)move.choice)) {
                possible[count++] = move;
            }
        }
        fine = count == 0 || go(possible[rand_r(seed) % count]);
    }
    return done(fine && finish(), text, size);
}

bool replay_config(int walks, unsigned seed, char *text, size_t size)
{
    bool fine = true;
    steps = runs = 0;
    for (int i = all.count - 1; fine && i >= 0; i--) {
        if (!was_seen(all.lasts[i])) {
            fine = go_trace(all.traces[i], text, size);
        }
    }
    for (int i = 0; fine && i < walks; i++) {
        fine = go_walk(&seed, text, size);
    }
    for (int i = 0; i < all.count; i++) {
        free(all.traces[i]);
    }
    if (fine) {
        snprintf(text, size, "%zu traces, %zu steps, %d kinds of steps", runs, steps, all.count);
    }
    all.count = 0;
    return fine;
}
