/* SPDX-License-Identifier: Apache-2.0
 *
 * A process of the replay: program.c's look-ups and stores, with the real store.
 */
#include "replay.h"

#include "store/kill_point.h"
#include "store/layout.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RUNNER_GONE_S = 120 };
#define HOUR_NS UINT64_C(3600000000000)

struct stage *stage;
int stepped_window = RS_WINDOW_OF_THE_PRODUCT;

static _Thread_local struct actor *me; /* NULL: not to be held up */
static struct rs_slot *slot;

/* Which point of the model an RS_STEP is. */
static const uint8_t point_of[RS_KILL_COUNT] = {
#define RS_KILL(name, text) [RS_KILL_##name] = M_NONE,
#define RS_STEP(name, text) [RS_KILL_##name] = M_##name,
#include "store/kill_points.def"
#undef RS_KILL
};
enum {
    STEPS = 0
#define RS_KILL(name, text)
#define RS_STEP(name, text) +1
#include "store/kill_points.def"
#undef RS_KILL
};
_Static_assert((int)STEPS == (int)M_POINT_COUNT - (int)M_look_word, "a point that no code has");

/* Stands at POINT until the runner lets it go on. */
static enum m_choice stand_at(enum m_point point)
{
    int saved = errno;
    atomic_store(&me->point, (int)point);
    sem_post(&me->arrived);
    struct timespec end = {.tv_sec = time(NULL) + RUNNER_GONE_S};
    while (sem_timedwait(&me->go, &end) != 0) {
        if (errno == ETIMEDOUT) {
            _exit(2);
        }
    }
    errno = saved;
    return (enum m_choice)atomic_load(&me->choice);
}

void rs_kill_point(enum rs_kill point)
{
    if (me && point_of[point] != M_NONE) {
        (void)stand_at((enum m_point)point_of[point]);
    }
}

static int entry_of(const _Atomic uint32_t *turn)
{
    for (int i = 0; i < stepped_window; i++) {
        if (turn == &rs_lease_at(stage->store.segment, stage->base + i)->turn) {
            return i + 1;
        }
    }
    return 0;
}

int stepped_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
    (void)until_ns;
    if (atomic_load(word) != value) {
        errno = EAGAIN;
        return -1;
    }
    atomic_store(&me->woken, false);
    atomic_store(&me->sleeps_at, entry_of(word));
    enum m_choice choice = stand_at(M_asleep);
    atomic_store(&me->sleeps_at, 0);
    atomic_store(&me->woken, false);
    errno = choice == C_slice ? ETIMEDOUT : EINTR;
    return choice == C_step ? 0 : -1;
}

void stepped_futex_wake_all(_Atomic uint32_t *word)
{
    for (int i = 0; i < M_THREADS; i++) {
        if (atomic_load(&stage->actors[i].sleeps_at) == entry_of(word)) {
            atomic_store(&stage->actors[i].woken, true);
        }
    }
}

uint64_t stepped_clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    syscall(SYS_clock_gettime, clock, &now);
    uint64_t ns = (uint64_t)now.tv_sec * RS_NS_PER_S + (uint64_t)now.tv_nsec;
    return me && atomic_load(&me->expired) ? ns + 2 * HOUR_NS : ns;
}

/* ---- the program -------------------------------------------------------------------------------
 */

/* True: look again. */
static bool wait_for(const struct rs_place *place)
{
    uint64_t waited;
    uint64_t budget = atomic_load(&me->expired) ? 0 : HOUR_NS;
    enum rs_wait_end end = rs_lease_wait(&stage->store, slot, place, budget, &waited);
    bool again = end == RS_WAIT_ENDED || end == RS_WAIT_OWNER_DIED;
    if (!again) {
        atomic_store(&me->expired, false);
    }
    return again;
}

static enum m_did look_up(int number)
{
    const struct rs_place *place = &stage->places[number];
    bool producer = false, takeover;
    for (int looks = 0;; looks++) {
        if (looks > 0) {
            (void)stand_at(M_disk);
        }
        bool filled = atomic_load(&stage->filled[number]);
        if (looks == 0) {
            rs_lease_next_lookup(&stage->store, slot, place->kind);
        }
        if (filled && producer) {
            rs_lease_stored(&stage->store, slot, place);
        }
        if (filled) {
            return DID_HIT;
        }
        if (producer) {
            return DID_PRODUCE;
        }
        enum rs_lease_verdict verdict = rs_lease_ask(&stage->store, slot, place, &takeover);
        producer = verdict == RS_LEASE_PRODUCER;
        if (verdict == RS_LEASE_WAIT && m_config->budget[C_stall] && stand_at(M_wait) == C_stall) {
            rs_lease_stalled(&stage->store, slot, place);
            continue;
        }
        if (!producer && (verdict != RS_LEASE_WAIT || !wait_for(place))) {
            return DID_NATIVE;
        }
    }
}

static enum m_did store(int number, bool fails)
{
    const struct rs_place *place = &stage->places[number];
    int did = atomic_load(&me->did[number]);
    if (did != DID_PRODUCE && did != DID_NATIVE) {
        return DID_HIT;
    }
    if (fails) {
        rs_lease_failed(&stage->store, slot, place);
    } else {
        if (m_config->budget[C_stall]) {
            rs_lease_storing(&stage->store, slot, place);
            (void)stand_at(M_put);
        }
        atomic_store(&stage->filled[number], true);
        rs_lease_stored(&stage->store, slot, place);
    }
    return DID_STORE;
}

static void fork_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        me = NULL;
        rs_store_forked();
        actor_process(m_config->process[m_config->child]);
    }
}

static void *thread_main(void *arg)
{
    int number = (int)((struct actor *)arg - stage->actors);
    const char *at = m_config->script[number];
    me = arg;
    atomic_store(&me->tid, (pid_t)syscall(SYS_gettid));
    for (;;) {
        enum m_choice choice = stand_at(M_op);
        if (choice == C_exit) {
            return NULL;
        }
        if (choice == C_fork) {
            fork_child();
            continue;
        }
        int place = at[1] - 'a';
        if (*at == '?') {
            atomic_store(&me->did[place], DID_NOTHING);
            atomic_store(&me->did[place], (int)look_up(place));
        } else {
            atomic_store(&me->did[place], (int)store(place, choice == C_fail));
        }
        at += 2;
    }
}

void actor_process(int process)
{
    struct rs_identity identity = {.job = "replay", .rank = process};
    pthread_attr_t attributes;
    slot = rs_slot_claim(&stage->store, &identity);
    if (!slot) {
        _exit(1);
    }
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < m_config->threads; i++) {
        pthread_t thread;
        if (m_config->process[i] == process) {
            stage->actors[i].pid = getpid();
            stage->actors[i].slot = (int)(slot - rs_slots(stage->store.segment));
            pthread_create(&thread, &attributes, thread_main, &stage->actors[i]);
        }
    }
    for (;;) {
        pause();
    }
}
