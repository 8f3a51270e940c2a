/* SPDX-License-Identifier: Apache-2.0
 *
 * The runner: starts the processes of a trace, lets one thread make one step at a time, and
 * compares.
 */
#include "replay.h"

#include "store/layout.h"
#include "store/lease_table.h"
#include "store/registry.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HUNG_S = 30, FORMER_SLOT = RS_SLOTS - 1, FORMER_RUN = 999999 };

extern int stepped_window;

static char differs[512]; /* what the first difference was */

#define DIFFERS(...) (differs[0] ? (void)0 : (void)snprintf(differs, sizeof(differs), __VA_ARGS__))

/* ---- the stage ---------------------------------------------------------------------------------
 */

/* Keys whose windows begin where the first one's does. */
static void choose_places(void)
{
    uint64_t number = 0;
    for (int i = 0; i < m_config->places; i++) {
        struct rs_place place = {.kind = (enum rs_lease_kind)m_config->kind[i], .dev = 1, .ino = 2};
        do {
            number++;
            memcpy(place.key.bytes, &number, sizeof(number));
        } while (i > 0 ? rs_lease_index(&place, 0) != stage->base
                       : rs_lease_index(&place, 0) > RS_LEASES - M_ENTRIES);
        stage->places[i] = place;
        stage->base = rs_lease_index(&place, 0);
    }
}

static struct rs_lease *entry_at(int i)
{
    return rs_lease_at(stage->store.segment, stage->base + i);
}

static void write_key(struct rs_lease *lease, const struct rs_place *place)
{
    lease->kind = (uint32_t)place->kind;
    lease->dev = place->dev;
    lease->ino = place->ino;
    for (int part = 0; part < 4; part++) {
        uint64_t word;
        memcpy(&word, place->key.bytes + part * 8, 8);
        lease->key[part] = word;
    }
}

/* What a former run has left. Its slot was never given out, so its owner is dead. */
static void plant(int i)
{
    const struct m_entry *former = &m_config->former[i];
    struct rs_lease *lease = entry_at(i);
    if (former->word == 0) {
        return;
    }
    uint64_t word = m_unpack(former->word);
    struct rs_lease_owner owner = {FORMER_SLOT, 1};
    lease->word = rs_lw_make(rs_lw_state(word), false, owner, rs_lw_generation(word));
    if (former->place) {
        write_key(lease, &stage->places[former->place - 1]);
    }
    if (former->run) {
        lease->run = FORMER_RUN;
    }
}

static void clear_stage(void)
{
    struct rs_segment *segment = stage->store.segment;
    memset(rs_slots(segment), 0, segment->slots_used * sizeof(struct rs_slot));
    memset(rs_jobs(segment), 0, sizeof(struct rs_job));
    segment->slots_used = 0;
    segment->registry = 0;
    memset(stage->actors, 0, sizeof(stage->actors));
    memset(stage->filled, 0, sizeof(stage->filled));
    memset(rs_leases(segment), 0, RS_LEASES * sizeof(struct rs_lease));
    choose_places();
    for (int i = 0; i < M_THREADS; i++) {
        sem_init(&stage->actors[i].go, 1, 0);
        sem_init(&stage->actors[i].arrived, 1, 0);
    }
    for (int i = 0; i < m_config->entries; i++) {
        plant(i);
    }
}

static bool arrives(int thread)
{
    struct timespec end = {.tv_sec = time(NULL) + HUNG_S};
    while (sem_timedwait(&stage->actors[thread].arrived, &end) != 0) {
        if (errno != EINTR) {
            DIFFERS("thread %d does not come to its next point", thread);
            return false;
        }
    }
    return true;
}

static bool start_processes(void)
{
    for (int process = 0; process < m_config->threads; process++) {
        bool begins = false;
        for (int i = 0; i < m_config->threads; i++) {
            bool child = m_config->child && i == m_config->child;
            begins |= m_config->process[i] == process && !child;
        }
        if (begins && fork() == 0) {
            actor_process(process);
        }
        for (int i = 0; begins && i < m_config->threads; i++) {
            if (m_config->process[i] == process && !arrives(i)) {
                return false;
            }
        }
    }
    return true;
}

static void end_processes(void)
{
    for (int i = 0; i < M_THREADS; i++) {
        if (stage->actors[i].pid) {
            kill(stage->actors[i].pid, SIGKILL);
        }
    }
    while (wait(NULL) > 0) { /* forked ones come to us: PR_SET_CHILD_SUBREAPER */
    }
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

static int process_of_slot(unsigned slot)
{
    for (int i = 0; i < m_config->threads; i++) {
        if (stage->actors[i].pid && (unsigned)stage->actors[i].slot == slot) {
            return m_config->process[i];
        }
    }
    return slot == FORMER_SLOT ? M_FORMER : -1;
}

static int place_of(const struct rs_lease *lease)
{
    for (int i = 0; i < m_config->places; i++) {
        struct rs_lease wanted = {0};
        write_key(&wanted, &stage->places[i]);
        if (lease->kind == wanted.kind && lease->dev == wanted.dev && lease->ino == wanted.ino &&
            memcmp((const void *)lease->key, (const void *)wanted.key, sizeof(wanted.key)) == 0) {
            return i + 1;
        }
    }
    return 0;
}

static int thread_of(pid_t tid)
{
    for (int i = 0; i < m_config->threads; i++) {
        if (tid && stage->actors[i].tid == tid) {
            return i + 1;
        }
    }
    return 0;
}

static void compare_entry(const struct m_entry *want, int i)
{
    const struct rs_lease *lease = entry_at(i);
    uint64_t word = lease->word, model = m_unpack(want->word);
    bool free = rs_lw_generation(model) == 0; /* never had an owner */
    if (rs_lw_state(word) != rs_lw_state(model) || rs_lw_taken(word) != rs_lw_taken(model) ||
        rs_lw_generation(word) != rs_lw_generation(model)) {
        DIFFERS("entry %d: state %d, taken over %d, generation %u instead of %d, %d, %u", i,
                rs_lw_state(word), rs_lw_taken(word), rs_lw_generation(word), rs_lw_state(model),
                rs_lw_taken(model), rs_lw_generation(model));
    }
    if (!free && process_of_slot(rs_lw_owner(word).slot) != (int)rs_lw_owner(model).slot) {
        DIFFERS("entry %d: owned by slot %u instead of process %u", i, rs_lw_owner(word).slot,
                rs_lw_owner(model).slot);
    }
    if (lease->storing >> 32 != want->storing) {
        DIFFERS("entry %d: a store of lease %u instead of %u", i, (unsigned)(lease->storing >> 32),
                want->storing);
    }
    int run = lease->run == 0 ? 0 : lease->run == FORMER_RUN ? 1 : 2;
    if (lease->turn != want->turn || place_of(lease) != want->place ||
        thread_of(lease->tid) != want->tid || run != want->run) {
        DIFFERS("entry %d: turn %u, place %d, thread %d, run %d instead of %u, %d, %d, %d", i,
                lease->turn, place_of(lease), thread_of(lease->tid), run, want->turn, want->place,
                want->tid, want->run);
    }
}

static void compare_thread(const struct m_state *want, int i)
{
    const struct actor *actor = &stage->actors[i];
    const struct m_thread *t = &want->thread[i];
    if (!m_alive(want, i) || t->point == M_gone) {
        return;
    }
    if (actor->point != t->point) {
        DIFFERS("thread %d stands before %s instead of %s", i, m_point_names[actor->point],
                m_point_names[t->point]);
    }
    if (actor->woken != t->woken) {
        DIFFERS("thread %d: woken %d instead of %d", i, actor->woken, t->woken);
    }
    for (int place = 0; place < m_config->places; place++) {
        if (actor->did[place] != t->did[place]) {
            DIFFERS("thread %d: place %c came to %d instead of %d", i, 'a' + place,
                    actor->did[place], t->did[place]);
        }
    }
}

static bool same(const struct m_state *want)
{
    for (int i = 0; i < m_config->entries; i++) {
        compare_entry(&want->entry[i], i);
    }
    for (int i = 0; i < m_config->threads; i++) {
        compare_thread(want, i);
    }
    return differs[0] == '\0';
}

/* ---- steps -------------------------------------------------------------------------------------
 */

static bool let_go(int thread, enum m_choice choice)
{
    stage->actors[thread].choice = (int)choice;
    sem_post(&stage->actors[thread].go);
    return choice == C_exit || arrives(thread);
}

static void pause_ms(void)
{
    struct timespec pause = {0, 200000};
    nanosleep(&pause, NULL);
}

static bool real_step(int thread, enum m_choice choice)
{
    struct actor *actor = &stage->actors[thread];
    struct rs_slot *slot = &rs_slots(stage->store.segment)[actor->slot];
    time_t end = time(NULL) + HUNG_S;
    switch (choice) {
    case C_die:
        kill(actor->pid, SIGKILL);
        while (rs_slot_alive(slot) != 0 && time(NULL) < end) {
            pause_ms();
        }
        return true;
    case C_expire:
        actor->expired = true;
        return true;
    case C_exit:
        let_go(thread, choice);
        while (syscall(SYS_tgkill, actor->pid, actor->tid, 0) == 0 && time(NULL) < end) {
            pause_ms();
        }
        return true;
    case C_fork:
        return let_go(thread, choice) && arrives(m_config->child);
    default:
        return let_go(thread, choice);
    }
}

static struct m_state now;

static bool both_step(int thread, enum m_choice choice)
{
    m_step(&now, thread, choice);
    return real_step(thread, choice) && same(&now);
}

bool replay_begin(void)
{
    differs[0] = '\0';
    m_wrong = NULL;
    stepped_window = m_config->entries;
    m_start(&now);
    clear_stage();
    return start_processes() && same(&now);
}

bool replay_move(struct move move)
{
    bool fine = both_step(move.thread, (enum m_choice)move.choice);
    while (fine && !m_config->fine && explore_inside(&now.thread[move.thread])) {
        fine = both_step(move.thread, C_step);
    }
    return fine;
}

const struct m_state *replay_state(void)
{
    return &now;
}

const char *replay_end(void)
{
    end_processes();
    return differs[0] ? differs : m_wrong;
}

bool replay_open(void)
{
    char name[RS_SEGMENT_NAME_MAX], override[32];
    stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(override, sizeof(override), "replay-%d", (int)getpid());
    if (stage == MAP_FAILED || !rs_store_name(name, geteuid(), override)) {
        return false;
    }
    bool fine = rs_store_open(name, true, true, &stage->store) == RS_STORE_OK;
    rs_store_remove(name); /* mapped, and inherited by all */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return fine;
}
