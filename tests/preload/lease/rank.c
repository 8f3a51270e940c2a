/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank: looks for an artifact, asks for its lease, waits, or makes it.
 *
 *   lease rank SEGMENT DIRECTORY name=value...
 *
 * job=, rank=, key= (first artifact), keys= (how many, one after the other),
 * threads= (each wants all of them), ms= (time to make one), wait= (budget in
 * milliseconds), kill=POINT (die there), stop=POINT (SIGSTOP there), nth= (at
 * its nth pass), and act=, what a producer does: store, fail, hang, die (half
 * way), stop (SIGSTOP, then store), move (on to the next lookup), leave (its
 * thread ends), fork.
 */
#include "lease.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct {
    const char *dir, *job, *act;
    int rank, keys, threads, ms, wait_ms, nth;
    unsigned key;
    enum rs_kill kill, stop;
} options = {.job = "job", .act = "store", .keys = 1, .wait_ms = 20000, .nth = 1};

static struct rs_store store;
static struct rs_slot *slot;
static volatile sig_atomic_t signalled;

void rs_kill_point(enum rs_kill point)
{
    static _Atomic int passes;
    if ((point == options.kill || point == options.stop) &&
        atomic_fetch_add(&passes, 1) + 1 == options.nth) {
        kill(getpid(), point == options.kill ? SIGKILL : SIGSTOP);
    }
}

static const char *const kill_names[] = {
    "none",
#define RS_KILL(name, text) #name,
#include "store/kill_points.def"
#undef RS_KILL
};

long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sleep_ms(int ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static void log_line(char what, unsigned key, long begin)
{
    char path[128], text[128];
    snprintf(path, sizeof(path), "%s/log", options.dir);
    int length = snprintf(text, sizeof(text), "%c %d %u %ld %ld\n", what, options.rank, key, begin,
                          now_ms());
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (write(fd, text, (size_t)length) != length) {
        _exit(3);
    }
    close(fd);
}

static bool exists(unsigned key)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%u", options.dir, key);
    return access(path, F_OK) == 0;
}

/* Makes the artifact and puts it into place. */
static void make(unsigned key)
{
    char path[128], temporary[128];
    sleep_ms(options.ms);
    snprintf(path, sizeof(path), "%s/%u", options.dir, key);
    snprintf(temporary, sizeof(temporary), "%s/.%u.%d", options.dir, key, (int)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || rename(temporary, path) != 0) {
        _exit(4);
    }
    close(fd);
}

static void make_native(unsigned key)
{
    long begin = now_ms();
    make(key);
    log_line(LOG_NATIVE, key, begin);
    struct rs_place place = {.kind = RS_LEASE_TRITON, .dev = 1, .ino = 2};
    memcpy(place.key.bytes, &key, sizeof(key));
    rs_lease_stored(&store, slot, &place);
}

static void *other_lookup(void *arg)
{
    bool takeover;
    rs_lease_ask(&store, slot, arg, &takeover);
    return NULL;
}

static bool acts(const char *what)
{
    return strcmp(options.act, what) == 0;
}

/* The thread is the producer. */
static void produce(const struct rs_place *place, unsigned key)
{
    long begin = now_ms();
    rs_event(&store, slot, RS_EVENT_LEASE, RS_KIND_triton_group, &place->key, 0);
    log_line(LOG_ELECTED, key, begin);
    if (acts("hang")) {
        pause();
    } else if (acts("die")) {
        sleep_ms(options.ms);
        raise(SIGKILL);
    } else if (acts("fail")) {
        sleep_ms(options.ms);
        rs_lease_failed(&store, slot, place);
    } else if (acts("move")) {
        sleep_ms(options.ms);
        rs_lease_next_lookup(&store, slot, RS_LEASE_FX);
    } else {
        if (acts("stop")) {
            kill(getpid(), SIGSTOP);
        }
        make(key);
        rs_slot_count(slot, RS_C_stores_triton, 1);
        log_line(LOG_PRODUCED, key, begin);
        rs_lease_stored(&store, slot, place);
    }
}

static bool wait_again(const struct rs_place *place, unsigned key)
{
    uint64_t waited, budget = (uint64_t)options.wait_ms * 1000000;
    long begin = now_ms();
    switch (rs_lease_wait(&store, slot, place, budget, &waited)) {
    case RS_WAIT_ENDED:
    case RS_WAIT_OWNER_DIED:
        return true;
    case RS_WAIT_SIGNAL:
        log_line(LOG_SIGNAL, key, begin);
        break;
    case RS_WAIT_UNPRODUCTIVE:
    case RS_WAIT_TIMEOUT:
        break;
    }
    return false;
}

/* One lookup: look, ask, look again, and so on, as the hooks do. */
static void want(unsigned key)
{
    struct rs_place place = {.kind = RS_LEASE_TRITON, .dev = 1, .ino = 2};
    long begin = now_ms();
    bool takeover, waited = false;
    memcpy(place.key.bytes, &key, sizeof(key));
    rs_lease_next_lookup(&store, slot, RS_LEASE_TRITON);
    for (;;) {
        if (exists(key)) {
            log_line(waited ? LOG_WAITED : LOG_HIT, key, begin);
            return;
        }
        enum rs_lease_verdict verdict = rs_lease_ask(&store, slot, &place, &takeover);
        if (takeover) {
            log_line(LOG_TAKEOVER, key, begin);
        }
        if (verdict == RS_LEASE_PRODUCER && exists(key)) {
            rs_lease_stored(&store, slot, &place); /* another was faster: between look and ask */
            continue;
        }
        if (verdict == RS_LEASE_PRODUCER) {
            produce(&place, key);
            return;
        }
        if (verdict != RS_LEASE_WAIT || !wait_again(&place, key)) {
            make_native(key);
            return;
        }
        waited = true;
    }
}

static void on_term(int number)
{
    signalled = number;
}

/* The lease is taken by a thread that ends; the process goes on. */
static void leave(unsigned key)
{
    struct rs_place place = {.kind = RS_LEASE_TRITON, .dev = 1, .ino = 2};
    pthread_t thread;
    memcpy(place.key.bytes, &key, sizeof(key));
    pthread_create(&thread, NULL, other_lookup, &place);
    pthread_join(thread, NULL);
    log_line(LOG_ELECTED, key, now_ms());
    pause();
}

static void *want_thread(void *arg)
{
    want(*(unsigned *)arg);
    return NULL;
}

/* One thread waits while another forks; the child wants the same artifact. */
static void fork_while_waiting(unsigned key)
{
    pthread_t thread;
    pthread_create(&thread, NULL, want_thread, &key);
    sleep_ms(options.ms);
    pid_t pid = fork();
    if (pid == 0) {
        rs_store_forked();
        struct rs_identity identity = {.job = options.job, .rank = options.rank + 100};
        options.rank += 100;
        slot = rs_slot_claim(&store, &identity);
        want(key);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    pthread_join(thread, NULL);
}

static enum rs_kill kill_number(const char *name)
{
    for (int i = 0; i < RS_KILL_COUNT; i++) {
        if (strcmp(name, kill_names[i]) == 0) {
            return (enum rs_kill)i;
        }
    }
    _exit(5);
}

static void parse(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value) {
            _exit(5);
        }
        *value++ = '\0';
        const char *name = argv[i];
        int number = atoi(value);
        if (strcmp(name, "job") == 0) {
            options.job = value;
        } else if (strcmp(name, "act") == 0) {
            options.act = value;
        } else if (strcmp(name, "kill") == 0) {
            options.kill = kill_number(value);
        } else if (strcmp(name, "stop") == 0) {
            options.stop = kill_number(value);
        } else if (strcmp(name, "rank") == 0) {
            options.rank = number;
        } else if (strcmp(name, "key") == 0) {
            options.key = (unsigned)number;
        } else if (strcmp(name, "keys") == 0) {
            options.keys = number;
        } else if (strcmp(name, "threads") == 0) {
            options.threads = number;
        } else if (strcmp(name, "ms") == 0) {
            options.ms = number;
        } else if (strcmp(name, "wait") == 0) {
            options.wait_ms = number;
        } else if (strcmp(name, "nth") == 0) {
            options.nth = number;
        } else {
            _exit(5);
        }
    }
}

static void *want_all(void *arg)
{
    (void)arg;
    for (int i = 0; i < options.keys && !signalled; i++) {
        want(options.key + (unsigned)i);
    }
    return NULL;
}

int rank_main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_term, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &action, NULL);
    options.dir = argv[1];
    parse(argc - 2, argv + 2);
    if (rs_store_open(argv[0], true, true, &store) != RS_STORE_OK) {
        return 6;
    }
    struct rs_identity identity = {.job = options.job, .rank = options.rank, .world = 2};
    /* A process that is being killed keeps the registry lock until it is gone: more than the second
     * that a claim waits, on a busy machine or under a sanitizer. */
    for (int tries = 0; !slot && tries < 10; tries++) {
        slot = rs_slot_claim(&store, &identity);
    }
    if (!slot) {
        return 7;
    }
    if (acts("leave")) {
        leave(options.key);
    } else if (acts("fork")) {
        fork_while_waiting(options.key);
    }
    enum { MOST_THREADS = 16 };
    pthread_t threads[MOST_THREADS];
    int count = options.threads < MOST_THREADS ? options.threads : MOST_THREADS;
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, want_all, NULL);
    }
    want_all(NULL);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
