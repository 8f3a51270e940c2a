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

/* A rank that measures kernels at their first launch saves a result every now and then. Whatever
 * the program does between the store of a graph and its run is not known (in a pipeline the first
 * launch may stand behind a receive that a waiter feeds), so nobody waits longer: a few seconds,
 * and up to four times as long where processes wait for processors. */
#ifndef RS_MEASURED_S
#define RS_MEASURED_S 5
#endif

/* A store that has begun so many seconds ago is watched, and after as many without a byte more it
 * is given up. */
#ifndef RS_STALL_S
#define RS_STALL_S 10
#endif

static struct rs_budget budget;

/* A producer that did not store its AOT entry will not store the next ones either (torch can't
 * pickle something in them): who was left waiting so waits at no AOT key any more. */
static _Atomic(bool) no_more_aot;

/* The same for autotuning results, once one was not waited for to the end. */
static _Atomic(bool) no_more_results;

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

static bool silent(const struct waiting *waiting)
{
    const struct rs_wait_for *what = waiting->what;
    unsigned limit = what->there ? patience_for_results() : RS_SILENT_S;
    return (what->there || what->known.flags & RS_FLAG_BENCHMARKS) &&
           rs_lease_silent(&waiting->node->store, waiting->node->slot, &what->place, limit);
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

/* Slice after slice, until the lease ends or nothing is left. *SPENT: all of them. */
static int wait_in_slices(struct waiting *waiting, struct rs_slice slice, uint64_t *spent)
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
        *spent += ns;
        if (end != RS_WAIT_TIMEOUT) {
            return end;
        }
        slice = rs_budget_take(&budget, rs_config.wait_s * RS_NS_PER_S, SLICE_NS);
    }
    return RS_WAIT_TIMEOUT;
}

/* What a wait that ended so means. */
static enum rs_waited judge(const struct waiting *waiting, int end)
{
    switch (end) {
    case RS_WAIT_ENDED:
    case RS_WAIT_OWNER_DIED:
        return RS_WAITED_AGAIN;
    case RS_WAIT_TIMEOUT:
        rs_budget_exhaust(&budget);
        rs_count(RS_C_wait_timeouts, 1);
        rs_log("waited too long for a producer; this process waits no more");
        break;
    case RS_WAIT_SIGNAL:
        rs_count(RS_C_wait_interrupted, 1);
        break;
    case LEFT_SILENT:
        if (waiting->what->there) {
            atomic_store(&no_more_results, true);
            rs_log("no autotuning result has come for %u s: measuring here from now on",
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
    uint64_t spent = 0;
    struct waiting waiting = {.node = node, .what = what};
    struct rs_slice first = rs_budget_take(&budget, rs_config.wait_s * RS_NS_PER_S, SLICE_NS);
    if (first.ns == 0) {
        return RS_WAITED_NOT;
    }
    if ((what->place.kind == RS_LEASE_AOT && atomic_load(&no_more_aot)) ||
        (what->there && atomic_load(&no_more_results))) {
        rs_budget_settle(&budget, first, 0);
        return RS_WAITED_NOT;
    }
    int end = wait_in_slices(&waiting, first, &spent);
    rs_count(RS_C_wait_ns, spent);
    rs_node_event(end == RS_WAIT_TIMEOUT ? RS_EVENT_TIMEOUT : RS_EVENT_WAIT, what->known.kind,
                  &what->place.key, spent);
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
    atomic_store(&no_more_results, false);
}
