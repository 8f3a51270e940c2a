/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/wait.h"

#include "base/dir.h"
#include "base/log.h"
#include "base/state.h"
#include "base/sys.h"
#include "ordinal/flags.h"
#include "rank/budget.h"
#include "rank/count.h"
#include "route/shape.h"

#include <sched.h>
#include <string.h>
#include <sys/sysinfo.h>

#define SLICE_NS (RS_NS_PER_S / 2)

/* A producer that measures kernels on a GPU may stand there behind a receive that a waiter has to
 * feed first. Tests are built with less. */
#ifndef RS_SILENT_S
#define RS_SILENT_S 60
#endif

/* A thread that measures kernels at their first launch saves a result every now and then, or looks
 * for what it compiles on the way. What the program does between the store of a graph and its run
 * is not known (in a pipeline the first launch may stand behind a receive that a waiter feeds), and
 * torch looks up results that never come (2.14 and later: those of reductions with one
 * configuration). So nobody waits for a thread that shows neither for a few seconds, and up to four
 * times as long where processes wait for processors, nor longer than a minute for any result. Only
 * the thread counts: its process and its group may work for ever at something else. */
#ifndef RS_MEASURED_S
#define RS_MEASURED_S 5
#endif
#define MEASURED_MAX_NS (12 * (uint64_t)RS_MEASURED_S * RS_NS_PER_S)

/* A process that has waited so long for nothing waits for no result again. */
#define MEASURED_LOST_NS (4 * (uint64_t)RS_MEASURED_S * RS_NS_PER_S)

/* A store that has begun so many seconds ago is watched, and after as many without a byte more it
 * is given up. */
#ifndef RS_STALL_S
#define RS_STALL_S 10
#endif

static struct rs_budget budget;

/* A producer that did not store its AOT entry will not store the next ones either (torch can't
 * pickle something in them): who was left waiting so waits at no AOT key any more. */
static _Atomic(bool) no_more_aot;

/* How long this process has waited for autotuning results that did not come. */
static _Atomic(uint64_t) lost_ns;

/* The last sign of work (rs_lease_last_sign()) of a producer that this process has left as silent.
 * It has left the AOT entry then, say, and would wait as long again for the FX entry in it, since
 * its own work counts for the producer where both are in one process group. */
static _Atomic(uint64_t) left_silent;

/* How a wait ends, beside enum rs_wait_end. */
enum { LEFT_SILENT = RS_WAIT_SIGNAL + 1, STALLED };

/* The temporary files in a key's directory. */
struct temporaries {
    uint64_t count, size;
};

struct waiting {
    struct rs_node *node;
    const struct rs_wait_for *what;
    struct temporaries last; /* seen when the store was SINCE seconds old; 0: not looked at yet */
    unsigned since;
    uint64_t spent;
};

static unsigned patience_for_results(void)
{
    enum { MOST = 4 };
    struct sysinfo machine;
    cpu_set_t usable;
    CPU_ZERO(&usable); /* the kernel fills in a part */
    if (syscall(SYS_sysinfo, &machine) != 0 ||
        syscall(SYS_sched_getaffinity, 0, sizeof(usable), &usable) <= 0) {
        return RS_MEASURED_S;
    }
    unsigned long load = machine.loads[0] >> SI_LOAD_SHIFT;
    unsigned long each = load / (unsigned long)CPU_COUNT(&usable);
    return RS_MEASURED_S * (unsigned)(each < 1 ? 1 : each > MOST ? MOST : each);
}

/* What one process may wait. Results get half of it at most: they can be had otherwise. */
static uint64_t limit_ns(const struct rs_wait_for *what)
{
    return rs_config.wait_s * RS_NS_PER_S / (what->there ? 2 : 1);
}

static bool silent(const struct waiting *waiting)
{
    const struct rs_wait_for *what = waiting->what;
    struct rs_store *store = &waiting->node->store;
    struct rs_slot *slot = waiting->node->slot;
    unsigned age;
    if (what->there) {
        return waiting->spent >= MEASURED_MAX_NS ||
               (rs_lease_stores(store, slot, &what->place, &age) && age >= patience_for_results());
    }
    if (!(what->known.flags & RS_FLAG_BENCHMARKS)) {
        return false;
    }
    uint64_t sign = rs_lease_last_sign(store, slot, &what->place);
    if (sign != 0 && sign == atomic_load(&left_silent)) {
        return true;
    }
    if (!rs_lease_silent(store, slot, &what->place, RS_SILENT_S)) {
        return false;
    }
    atomic_store(&left_silent, sign);
    return true;
}

static bool add_temporary(int fd, const char *name, void *context)
{
    struct temporaries *sum = context;
    struct stat st;
    if (!rs_shape_entry_name(name) && rs_sys_fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        sum->count++;
        sum->size += (uint64_t)st.st_size;
    }
    return true;
}

/* False: they can't be seen. A directory that is gone holds none. */
static bool see_temporaries(const char *directory, struct temporaries *sum)
{
    *sum = (struct temporaries){0, 0};
    int fd = rs_sys_openat(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return errno == ENOENT;
    }
    rs_dir_each(fd, add_temporary, sum);
    rs_sys_close(fd);
    return true;
}

/* Whether the producer's store has begun and does not get ahead: its disk is full, or the program
 * has given the entry up and says nothing. */
static bool stalled(struct waiting *waiting)
{
    const struct rs_wait_for *what = waiting->what;
    struct temporaries now;
    unsigned age;
    if (!what->directory ||
        !rs_lease_stores(&waiting->node->store, waiting->node->slot, &what->place, &age) ||
        age < RS_STALL_S || !see_temporaries(what->directory, &now)) {
        waiting->since = 0;
        return false;
    }
    bool same = waiting->since && age >= waiting->since && now.count == waiting->last.count &&
                now.size == waiting->last.size;
    if (now.count > 0 && !same) {
        waiting->last = now;
        waiting->since = age;
    }
    return now.count == 0 || age - waiting->since >= RS_STALL_S;
}

/* Slice after slice, until the lease ends or nothing is left. */
static int wait_in_slices(struct waiting *waiting, struct rs_slice slice)
{
    struct rs_node *node = waiting->node;
    const struct rs_wait_for *what = waiting->what;
    while (slice.ns > 0) {
        uint64_t ns = 0;
        int end = silent(waiting) ? LEFT_SILENT : stalled(waiting) ? STALLED : RS_WAIT_TIMEOUT;
        if (end == RS_WAIT_TIMEOUT) {
            end = (int)rs_lease_wait_until(&node->store, node->slot, &what->place, slice.ns,
                                           what->there, what->context, &ns);
        }
        rs_budget_settle(&budget, slice, ns);
        waiting->spent += ns;
        if (end != RS_WAIT_TIMEOUT) {
            return end;
        }
        slice = rs_budget_take(&budget, limit_ns(what), SLICE_NS);
    }
    return RS_WAIT_TIMEOUT;
}

/* What a wait that ended so means. */
static enum rs_waited judge(const struct waiting *waiting, int end)
{
    switch (end) {
    case RS_WAIT_ENDED:
        return RS_WAITED_STORED;
    case RS_WAIT_OWNER_DIED:
        return RS_WAITED_AGAIN;
    case RS_WAIT_TIMEOUT:
        if (waiting->what->there) {
            break;
        }
        rs_budget_exhaust(&budget);
        rs_count(RS_C_wait_timeouts, 1);
        rs_log("waited too long for a producer; this process waits no more");
        break;
    case RS_WAIT_SIGNAL:
        rs_count(RS_C_wait_interrupted, 1);
        break;
    case LEFT_SILENT:
        if (waiting->what->there) {
            atomic_fetch_add(&lost_ns, waiting->spent);
            rs_log("no autotuning result has come for %u s: measuring here",
                   patience_for_results());
            break;
        }
        rs_count(RS_C_wait_silent, 1);
        rs_log("the producer has shown no sign of work for %d s and may be blocked on its GPU: "
               "compiling without it",
               RS_SILENT_S);
        break;
    case STALLED:
        if (rs_lease_stalled(&waiting->node->store, waiting->node->slot, &waiting->what->place)) {
            rs_count(RS_C_wait_stalled, 1);
            rs_log("the producer began to store in %s and does not go on",
                   waiting->what->directory);
        }
        if (waiting->what->place.kind == RS_LEASE_AOT) {
            atomic_store(&no_more_aot, true);
        }
        return RS_WAITED_AGAIN; /* the entry may be there: stopped right after its store */
    default:                    /* RS_WAIT_UNPRODUCTIVE */
        break;
    }
    return RS_WAITED_OVER;
}

enum rs_waited rs_wait(struct rs_node *node, const struct rs_wait_for *what)
{
    struct waiting waiting = {.node = node, .what = what};
    struct rs_slice first = rs_budget_take(&budget, limit_ns(what), SLICE_NS);
    if (first.ns == 0) {
        return RS_WAITED_NOT;
    }
    if ((what->place.kind == RS_LEASE_AOT && atomic_load(&no_more_aot)) ||
        (what->there && atomic_load(&lost_ns) >= MEASURED_LOST_NS)) {
        rs_budget_settle(&budget, first, 0);
        return RS_WAITED_NOT;
    }
    int end = wait_in_slices(&waiting, first);
    bool late = end == RS_WAIT_TIMEOUT && !what->there;
    rs_count(RS_C_wait_ns, waiting.spent);
    rs_node_event(late ? RS_EVENT_TIMEOUT : RS_EVENT_WAIT, what->known.kind, &what->place.key,
                  waiting.spent);
    return judge(&waiting, end);
}

void rs_wait_produced(void)
{
    rs_budget_refill(&budget);
}

void rs_wait_forked(void)
{
    memset(&budget, 0, sizeof(budget));
    atomic_store(&no_more_aot, false);
    atomic_store(&lost_ns, 0);
    atomic_store(&left_silent, 0);
}
