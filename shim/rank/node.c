/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/node.h"

#include "base/log.h"
#include "base/state.h"
#include "base/sys.h"
#include "rank/count.h"
#include "rank/env.h"
#include "store/process.h"
#include "store/registry.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNTIED, HEIR, TYING, TIED, REFUSED }; /* HEIR: untied, forked by a process that was tied */

static _Atomic(int) state = UNTIED;
static struct rs_node node;
static bool mapped;                 /* the mapping outlives a fork, the slot does not */
static uid_t mapped_as;             /* the user whose segment it is */
static _Atomic(uint64_t) slot_word; /* as it was when the slot was claimed */

static _Atomic(uint64_t) counters[RS_COUNTER_COUNT];
static _Atomic(struct rs_slot *) counting; /* where counts go; NULL: into `counters` */

void rs_count(enum rs_counter counter, uint64_t add)
{
    struct rs_slot *slot = atomic_load_explicit(&counting, memory_order_acquire);
    if (slot) {
        rs_slot_count(slot, counter, add);
        return;
    }
    atomic_fetch_add(&counters[counter], add);
    /* Either we see a slot now, or move_counts() sees what we have added. */
    slot = atomic_load(&counting);
    if (slot) {
        rs_slot_count(slot, counter, atomic_exchange(&counters[counter], 0));
    }
}

void rs_count_refusal(enum rs_reason reason)
{
    if (reason > RS_OK && reason < RS_REASON_COUNT) {
        rs_count(rs_refusal_counter(reason), 1);
    }
}

/* Moves what was counted so far. */
static void move_counts(struct rs_slot *slot)
{
    atomic_store(&counting, slot);
    for (int i = 0; i < RS_COUNTER_COUNT; i++) {
        uint64_t value = atomic_exchange(&counters[i], 0);
        if (value) {
            rs_slot_count(slot, (enum rs_counter)i, value);
        }
    }
}

static int number(enum rs_env variable, int fallback)
{
    const char *text = rs_env_get(variable);
    if (!text) {
        return fallback;
    }
    char *end;
    long value = strtol(text, &end, 10);
    return *end || value < 0 || value > 1000000 ? fallback : (int)value;
}

/* The job of a session whose leader is gone: where a process lives that knew its start time, it is
 * the same session, for the kernel gives no number of a living one away. */
static void session_known(char *job, size_t size)
{
    struct rs_job_view known;
    size_t length = strlen(job) - 1; /* without the "0" */
    for (unsigned i = 0; i < RS_JOBS; i++) {
        if (rs_job_read(&node.store, i, &known) && strncmp(known.name, job, length) == 0 &&
            rs_job_alive(node.store.segment, i)) {
            snprintf(job, size, "%s", known.name);
            return;
        }
    }
}

/* Session id and start time of its leader: the job of ranks that a shell or a script started. */
static void session_job(char *job, size_t size)
{
    pid_t session = getsid(0);
    uint64_t start = rs_process_start(session);
    snprintf(job, size, "session-%d-%llu", (int)session, (unsigned long long)start);
    if (start == 0) {
        session_known(job, size);
    }
}

/* The job's name: RANKSHARE_JOB, else the elastic run with its master, else the session. */
static void job_name(char *job, size_t size)
{
    const char *run = rs_env_get(RS_ENV_TORCHELASTIC_RUN_ID);
    const char *address = rs_env_get(RS_ENV_MASTER_ADDR);
    const char *port = rs_env_get(RS_ENV_MASTER_PORT);
    const char *given = rs_env_get(RS_ENV_RANKSHARE_JOB);
    if (given && strlen(given) < RS_TEXT_MAX) {
        snprintf(job, size, "%.*s", (int)size - 1, given);
    } else if (run) {
        snprintf(job, size, "%s@%s:%s", run, address ? address : "", port ? port : "");
    } else {
        session_job(job, size);
    }
}

static bool map_segment(void)
{
    char name[RS_SEGMENT_NAME_MAX];
    uid_t user = rs_sys_geteuid();
    if (mapped && mapped_as == user) {
        return true;
    }
    if (mapped) { /* a fork child that has become somebody else */
        rs_store_close(&node.store);
        mapped = false;
    }
    if (!rs_store_name(name, user, rs_config.segment)) {
        rs_log("segment: the name in RANKSHARE_SEGMENT can't be used");
        return false;
    }
    enum rs_store_status status = rs_store_open(name, true, true, &node.store);
    if (status != RS_STORE_OK) {
        rs_log("segment %s: %s", name, rs_store_status_text(status));
        return false;
    }
    node.store.patience_ns = rs_config.wait_s * RS_NS_PER_S;
    node.store.artifact_bytes = rs_config.size;
    node.store.dir = rs_config.dir;
    mapped = true;
    mapped_as = user;
    return true;
}

static struct rs_identity identity_of(const char *job)
{
    return (struct rs_identity){
        .job = job,
        .rank = number(RS_ENV_RANK, number(RS_ENV_LOCAL_RANK, -1)),
        .world = number(RS_ENV_WORLD_SIZE, 0),
    };
}

static int tie(void)
{
    char job[RS_JOB_NAME_MAX];
    int saved = errno;
    bool ready = map_segment();
    if (ready) {
        job_name(job, sizeof(job));
        struct rs_identity identity = identity_of(job);
        node.slot = rs_slot_claim(&node.store, &identity);
        if (node.slot) {
            atomic_store(&slot_word, atomic_load(&node.slot->word));
            move_counts(node.slot);
        }
    } else {
        rs_count(RS_C_segment_errors, 1);
    }
    errno = saved;
    return ready ? TIED : REFUSED;
}

/* Other threads may be using the segment, so it can't be exchanged: the process goes on alone. */
static void leave(const char *why)
{
    int now = TIED;
    if (atomic_compare_exchange_strong(&state, &now, REFUSED)) {
        atomic_store(&counting, NULL);
        rs_count(RS_C_segment_errors, 1);
        rs_log("segment: %s: it shares no more", why);
    }
}

/* What a process opened with its old rights is not its new user's. */
static bool left(void)
{
    if (rs_sys_geteuid() == mapped_as) {
        return false;
    }
    if (node.slot && rs_node_if_tied()) {
        (void)rs_lease_next_lookup(&node.store, node.slot, RS_LEASE_AOT);
    }
    leave("this process has changed its user");
    return true;
}

struct rs_node *rs_node_tie(void)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);
    if (now == TIED) {
        return left() ? NULL : &node;
    }
    if ((now == UNTIED || now == HEIR) && atomic_compare_exchange_strong(&state, &now, TYING)) {
        now = tie();
        atomic_store_explicit(&state, now, memory_order_release);
        rs_node_identify(); /* another thread may have called setenv meanwhile */
    }
    /* Another thread may be at it: a few system calls. Go on without rather than wait for long. */
    for (int i = 0; now == TYING && i < 1000; i++) {
        sched_yield();
        now = atomic_load_explicit(&state, memory_order_acquire);
    }
    return now == TIED ? &node : NULL;
}

struct rs_node *rs_node(void)
{
    int now = atomic_load_explicit(&state, memory_order_acquire);
    return now == TIED ? &node : now == HEIR ? rs_node_tie() : NULL;
}

struct rs_node *rs_node_if_tied(void)
{
    return atomic_load_explicit(&state, memory_order_acquire) == TIED ? &node : NULL;
}

void rs_node_identify(void)
{
    if (atomic_load_explicit(&state, memory_order_acquire) == TIED) {
        struct rs_identity identity = identity_of(NULL);
        rs_slot_identify(&node.store, node.slot, &identity);
    }
}

void rs_node_event(enum rs_event_type type, enum rs_kind kind, const struct rs_key *key,
                   uint64_t value)
{
    struct rs_node *tied = rs_node();
    if (tied) {
        rs_event(&tied->store, tied->slot, type, kind, key, value);
    }
}

void rs_node_beat(void)
{
    struct rs_slot *slot = atomic_load_explicit(&counting, memory_order_acquire);
    if (slot && atomic_load_explicit(&slot->word, memory_order_relaxed) !=
                    atomic_load_explicit(&slot_word, memory_order_relaxed)) {
        leave("this process was taken for dead, and its slot given to another");
    } else if (slot) {
        rs_slot_beat(slot);
    }
}

void rs_node_forked(void)
{
    atomic_store(&counting, NULL);
    for (int i = 0; i < RS_COUNTER_COUNT; i++) {
        atomic_store_explicit(&counters[i], 0, memory_order_relaxed);
    }
    node.slot = NULL;
    int now = atomic_load(&state);
    atomic_store(&state, now == TIED || now == HEIR ? HEIR : UNTIED);
    rs_store_forked();
}
