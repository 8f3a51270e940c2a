/* SPDX-License-Identifier: Apache-2.0
 *
 * Many threads at once in the parts of the core that threads share, for ThreadSanitizer: Criterion
 * does not start under it. threads [ROUNDS [SEED]]. Each kind of work checks what it gets.
 */
#include "base/arena.h"
#include "base/log.h"
#include "base/state.h"
#include "rank/count.h"
#include "rank/env.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/tuned_map.h"
#include "rank/where.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREADS = 8, DIRS = 2, PLACES = 3 };

#define FX "fukmxkijjakgojrgnhc6xijmrr2cmtcl6i4wdy5oftyuxjcfiqgs"

static char base[] = "/tmp/rankshare-threads-XXXXXX";
static char dirs[DIRS][64];
static struct stat dir_stats[DIRS];
static pthread_barrier_t all_ready;
static int rounds = 300;
static unsigned first_seed;

struct thread {
    pthread_t thread;
    int number;
    unsigned seed;
};

static unsigned below(struct thread *thread, unsigned limit)
{
    return (unsigned)rand_r(&thread->seed) % limit;
}

/* Key NUMBER, and what is known of it: a function of the number. */
static struct rs_key key_of(uint32_t number)
{
    struct rs_key key;
    for (size_t i = 0; i < sizeof(key.bytes); i += 4) {
        uint32_t word = (number + 1 + (uint32_t)i) * 2654435761u;
        memcpy(key.bytes + i, &word, sizeof(word));
    }
    return key;
}

static bool hashed(struct thread *thread)
{
    enum { KEYS = 12000 }; /* more than the memory holds */
    uint32_t number = below(thread, KEYS), other = below(thread, KEYS);
    struct rs_key key = key_of(number), asked = key_of(other);
    struct rs_known what = {RS_TREAT_CANONICAL, RS_KIND_fx_details, (int)(number % 100),
                            number % 7},
                    first = {0};
    rs_known_add(&key, &what);
    bool fine = rs_known_first_look(&key, &first) && first.ordinal == what.ordinal &&
                !rs_known_first_look(&key, &first);
    struct rs_known found = rs_known_find(&asked);
    fine &= found.treatment == RS_TREAT_UNKNOWN ||
            (found.ordinal == (int)(other % 100) && found.flags == other % 7);
    uint8_t torch[32], same[32];
    memset(torch, 7, sizeof(torch));
    rs_torch_key_set(torch);
    return fine && (!rs_torch_key(same) || memcmp(torch, same, sizeof(same)) == 0);
}

/* A key that is hashed again is known at each moment, whoever asks. */
static bool hashed_again(struct thread *thread)
{
    enum { KEYS = 3, TIMES = 40 };
    bool fine = true;
    for (int i = 0; i < TIMES; i++) {
        struct rs_key key = key_of(UINT32_MAX - below(thread, KEYS));
        struct rs_known what = {RS_TREAT_NATIVE, RS_KIND_fx_details, 3, below(thread, 100)};
        rs_known_add(&key, &what);
        for (int k = 0; k < TIMES; k++) {
            fine &= rs_known_find(&key).treatment != RS_TREAT_UNKNOWN;
        }
    }
    return fine;
}

/* Names of autotuning results, learned and saved in any order: the shared name follows from the
 * own one. */
static bool tuned(struct thread *thread)
{
    enum { KERNELS = 3000 };
    static const char file[] = "cxyabcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopq";
    char own[RS_HEX + 1], shared[RS_HEX + 1], name[RS_TUNED_NAME + 1];
    uint32_t number = below(thread, KERNELS);
    struct rs_key key;
    for (uint32_t i = 0; i < RS_HEX / 8; i++) {
        uint32_t word = (number + 1) * 2654435761u + i;
        snprintf(own + 8 * i, 9, "%08x", word);
        snprintf(shared + 8 * i, 9, "%08x", ~word);
    }
    struct rs_name kernel = {.old_file = (const uint8_t *)file,
                             .old_config = (const uint8_t *)shared,
                             .new_config = (const uint8_t *)own};
    struct rs_report report = {.names = &kernel, .name_count = 1};
    if (!rs_key_from_triton(own, RS_HEX, &key)) {
        return false;
    }
    if (below(thread, 2)) {
        rs_tuned_learn(&report, 1, false);
    } else {
        rs_tuned_saved_here(&key);
    }
    return !rs_tuned_shared(&key, name) ||
           (memcmp(name, "xy/", 3) == 0 && memcmp(name + 3, shared, RS_HEX) == 0);
}

static bool primary(struct thread *thread)
{
    static _Atomic int agreed = -1;
    int none = -1, got = rs_primary_offer(thread->number);
    atomic_compare_exchange_strong(&agreed, &none, got);
    return got == atomic_load(&agreed) && rs_primary() == got;
}

static bool environment(struct thread *thread)
{
    char text[128];
    const char *dir = dirs[below(thread, DIRS)];
    if (below(thread, 2)) {
        rs_env_changed("TORCHINDUCTOR_CACHE_DIR", dir);
    } else {
        snprintf(text, sizeof(text), "TORCHINDUCTOR_CACHE_DIR=%s", dir);
        rs_env_put(text);
    }
    snprintf(text, sizeof(text), "%u", below(thread, 50));
    rs_env_changed("RANK", text);
    const char *got = rs_env_get(RS_ENV_TORCHINDUCTOR_CACHE_DIR);
    return got && (strcmp(got, dirs[0]) == 0 || strcmp(got, dirs[1]) == 0);
}

static _Atomic int insides;

/* Two directories of which one is the root at a time; the other is learned once a key was looked up
 * in it. */
static bool where(struct thread *thread)
{
    char path[256];
    unsigned at = below(thread, DIRS);
    struct rs_where found;
    snprintf(path, sizeof(path), "%s/fxgraph/uk/%s", dirs[at], FX);
    bool inside = rs_where(AT_FDCWD, path, &found);
    atomic_fetch_add(&insides, inside);
    snprintf(path, sizeof(path), "%s/fxgraph/xx/%s", dirs[at], FX);
    return (!inside || (found.dev == dir_stats[at].st_dev && found.ino == dir_stats[at].st_ino)) &&
           !rs_where(AT_FDCWD, path, &found);
}

/* What one thread got no other one writes to, though chunks go from arena to arena. */
static bool arena(struct thread *thread)
{
    enum { BLOCKS = 8 };
    struct rs_arena memory;
    unsigned char *bytes[BLOCKS], mark = (unsigned char)(1 + thread->number);
    size_t size[BLOCKS];
    bool fine = true;
    (below(thread, 2) ? rs_arena_init : rs_arena_init_small)(&memory, 32 << 20);
    for (int i = 0; i < BLOCKS; i++) {
        size[i] = 1 + below(thread, i == BLOCKS - 1 ? 2 << 20 : 4000);
        bytes[i] = rs_arena_alloc(&memory, size[i]);
        if (!bytes[i]) {
            return false;
        }
        memset(bytes[i], mark, size[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        for (size_t at = 0; at < size[i]; at += 61) {
            fine &= bytes[i][at] == mark;
        }
    }
    rs_arena_free(&memory);
    return fine;
}

static bool node(struct thread *thread)
{
    static struct rs_event events[64];
    static _Atomic bool reading;
    struct rs_node *tied = rs_node_tie();
    struct rs_key key = key_of(below(thread, 50));
    rs_count(RS_C_fx_hits, 1);
    rs_node_event(RS_EVENT_HIT, RS_KIND_fx_entry, &key, (uint64_t)thread->number);
    rs_log("thread %d", thread->number);
    bool fine = true;
    if (tied && tied->slot && !atomic_exchange(&reading, true)) {
        size_t count = rs_events_read(&tied->store, events, 64);
        for (size_t i = 0; i < count; i++) {
            fine &= events[i].value < THREADS && events[i].pid == (uint32_t)getpid();
        }
        struct rs_slot_view view;
        fine &= rs_slot_read(&tied->store, 0, &view) && view.counters[RS_C_fx_hits] > 0;
        atomic_store(&reading, false);
    }
    return fine && (!tied || tied == rs_node_tie());
}

static _Atomic int producers[PLACES];

/* One place at a time has one producer; who waits sees it end. */
static bool lease(struct thread *thread)
{
    struct rs_node *tied = rs_node_tie();
    unsigned number = below(thread, PLACES);
    struct rs_place place = {RS_LEASE_TRITON, key_of(number), 1, 2};
    bool takeover, fine = true;
    uint64_t waited, budget = UINT64_C(60000000000);
    if (!tied || !tied->slot) {
        return true; /* another thread is about to tie the process */
    }
    rs_lease_next_lookup(&tied->store, tied->slot, RS_LEASE_TRITON);
    switch (rs_lease_ask(&tied->store, tied->slot, &place, &takeover)) {
    case RS_LEASE_PRODUCER:
        fine = atomic_fetch_add(&producers[number], 1) == 0 && !takeover;
        sched_yield();
        atomic_fetch_sub(&producers[number], 1);
        return fine && rs_lease_stored(&tied->store, tied->slot, &place);
    case RS_LEASE_WAIT:
        return rs_lease_wait(&tied->store, tied->slot, &place, budget, &waited) == RS_WAIT_ENDED;
    case RS_LEASE_UNPRODUCTIVE:
    case RS_LEASE_NONE:
        break;
    }
    return false;
}

static const struct {
    const char *name;
    bool (*work)(struct thread *thread);
} works[] = {
    {"memory of digests", hashed},
    {"a digest once more", hashed_again},
    {"names of results", tuned},
    {"primary ordinal", primary},
    {"environment", environment},
    {"where a path lies", where},
    {"arenas", arena},
    {"segment and events", node},
    {"leases", lease},
};
enum { WORKS = sizeof(works) / sizeof(works[0]) };
static _Atomic int wrong[WORKS], done[WORKS];

static void *thread_main(void *arg)
{
    struct thread *thread = arg;
    pthread_barrier_wait(&all_ready);
    for (int i = 0; i < rounds * WORKS; i++) {
        unsigned work = below(thread, WORKS);
        bool fine = works[work].work(thread);
        atomic_fetch_add(&done[work], 1);
        atomic_fetch_add(&wrong[work], !fine);
    }
    return NULL;
}

static bool set_up(void)
{
    if (!mkdtemp(base)) {
        return false;
    }
    for (int i = 0; i < DIRS; i++) {
        snprintf(dirs[i], sizeof(dirs[i]), "%s/%d", base, i);
        if (mkdir(dirs[i], 0700) != 0 || stat(dirs[i], &dir_stats[i]) != 0) {
            return false;
        }
    }
    snprintf(rs_config.segment, sizeof(rs_config.segment), "threads-%d", (int)getpid());
    snprintf(rs_config.log, sizeof(rs_config.log), "%s/log", base);
    snprintf(rs_config.job, sizeof(rs_config.job), "threads");
    rs_env_changed("TORCHINDUCTOR_CACHE_DIR", dirs[0]);
    return true;
}

static void clean_up(void)
{
    char name[RS_SEGMENT_NAME_MAX];
    if (rs_store_name(name, geteuid(), rs_config.segment)) {
        rs_store_remove(name);
    }
    unlink(rs_config.log);
    for (int i = 0; i < DIRS; i++) {
        rmdir(dirs[i]);
    }
    rmdir(base);
}

int main(int argc, char **argv)
{
    struct thread threads[THREADS];
    int failed = 0;
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    first_seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : (unsigned)getpid();
    bool ready = set_up();
    pthread_barrier_init(&all_ready, NULL, THREADS);
    for (int i = 0; ready && i < THREADS; i++) {
        threads[i] = (struct thread){.number = i, .seed = first_seed + (unsigned)i};
        pthread_create(&threads[i].thread, NULL, thread_main, &threads[i]);
    }
    for (int i = 0; ready && i < THREADS; i++) {
        pthread_join(threads[i].thread, NULL);
    }
    for (int i = 0; i < WORKS; i++) {
        bool fine = ready && done[i] > 0 && wrong[i] == 0 && insides > 0;
        failed += !fine;
        printf("%s %s: %d times, %d wrong (seed %u)\n", fine ? "ok  " : "FAIL", works[i].name,
               done[i], wrong[i], first_seed);
    }
    clean_up();
    printf("%d passed, %d failed, 0 skipped\n", (int)WORKS - failed, failed);
    return failed ? 1 : 0;
}
