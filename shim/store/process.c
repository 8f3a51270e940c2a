/* SPDX-License-Identifier: Apache-2.0
 *
 * Liveness from kill(2) and /proc/<pid>/stat.
 */
#include "store/process.h"

#include "base/dir.h"
#include "store/store_sys.h"

#include <stdatomic.h>
#include <string.h>

/* What we read of a stat file. */
struct stat_fields {
    int32_t pid;
    char state;
    uint64_t flags;   /* PF_... of linux/sched.h */
    uint64_t pending; /* signals for this thread */
    uint64_t threads;
    uint64_t start;
    uint64_t code, stack; /* where they begin: random, from exec(2) on; 0 or 1 when kept from us */
};

/* Fields behind the program's name, which is in brackets and may hold anything. */
enum {
    FIELD_STATE = 3,
    FIELD_FLAGS = 9,
    FIELD_THREADS = 20,
    FIELD_START = 22,
    FIELD_CODE = 26,
    FIELD_STACK = 28,
    FIELD_PENDING = 31,
};

/* Inode of this process's pid namespace; 0: not asked yet. A process can't leave its namespace. */
static _Atomic uint64_t own_space;

static uint64_t digits(const char *at)
{
    uint64_t value = 0;
    while (*at >= '0' && *at <= '9') {
        value = value * 10 + (uint64_t)(*at++ - '0');
    }
    return value;
}

static bool parse_stat(const char *text, struct stat_fields *out)
{
    const char *at = strrchr(text, ')');
    if (!at) {
        return false;
    }
    out->pid = (int32_t)digits(text);
    out->start = 0;
    out->code = out->stack = out->flags = out->pending = 0;
    for (int field = FIELD_STATE; field <= FIELD_PENDING; field++) {
        at = strchr(at, ' ');
        if (!at) {
            break;
        }
        at++;
        if (field == FIELD_STATE) {
            out->state = *at;
        } else if (field == FIELD_FLAGS) {
            out->flags = digits(at);
        } else if (field == FIELD_PENDING) {
            out->pending = digits(at);
        } else if (field == FIELD_THREADS) {
            out->threads = digits(at);
        } else if (field == FIELD_START) {
            out->start = digits(at);
        } else if (field == FIELD_CODE) {
            out->code = digits(at);
        } else if (field == FIELD_STACK) {
            out->stack = digits(at);
        }
    }
    return out->start != 0;
}

static bool read_stat(const char *path, struct stat_fields *out)
{
    char text[1024];
    int fd = rs_sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    ssize_t got = rs_sys_pread(fd, text, sizeof(text) - 1, 0);
    rs_sys_close(fd);
    if (got <= 0) {
        return false;
    }
    text[got] = '\0';
    return parse_stat(text, out);
}

/* One number for where code and stack begin. Without address space randomisation a program that
 * replaces itself with the same arguments has the same. */
static uint32_t image_of(const struct stat_fields *fields)
{
    if (fields->stack == 0) {
        return 0;
    }
    uint64_t mixed = (fields->code >> 12) * UINT64_C(0x9e3779b97f4a7c15) ^ fields->stack;
    mixed *= UINT64_C(0xff51afd7ed558ccd);
    return (uint32_t)(mixed >> 32) | 1;
}

static char *put_text(char *at, const char *text)
{
    while (*text) {
        *at++ = *text++;
    }
    *at = '\0';
    return at;
}

static char *put_number(char *at, pid_t number)
{
    char reversed[12];
    int length = 0;
    do {
        reversed[length++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (length > 0) {
        *at++ = reversed[--length];
    }
    *at = '\0';
    return at;
}

/* "/proc/<pid>/stat", or with TID "/proc/<pid>/task/<tid>/stat". */
static bool read_stat_of(pid_t pid, pid_t tid, struct stat_fields *out)
{
    char path[64];
    char *at = put_number(put_text(path, "/proc/"), pid);
    if (tid) {
        at = put_number(put_text(at, "/task/"), tid);
    }
    put_text(at, "/stat");
    return read_stat(path, out);
}

static uint64_t space_of_self(void)
{
    uint64_t space = atomic_load_explicit(&own_space, memory_order_relaxed);
    struct stat found;
    if (space == 0 && rs_sys_fstatat(AT_FDCWD, "/proc/self/ns/pid", &found, 0) == 0) {
        space = found.st_ino;
        atomic_store_explicit(&own_space, space, memory_order_relaxed);
    }
    return space;
}

/* Whether /proc belongs to our pid namespace: a container may show its host's. */
static bool proc_is_ours(struct stat_fields *self)
{
    return read_stat("/proc/self/stat", self) && self->pid == rs_sys_getpid();
}

struct rs_process rs_process_self(void)
{
    struct stat_fields self = {0};
    struct rs_process process = {.pid = rs_sys_getpid(), .space = space_of_self()};
    if (proc_is_ours(&self)) {
        process.start = self.start;
        process.image = image_of(&self);
    }
    return process;
}

uint64_t rs_process_start(pid_t pid)
{
    struct stat_fields found;
    return read_stat_of(pid, 0, &found) ? found.start : 0;
}

uint64_t rs_thread_start(pid_t tid)
{
    struct stat_fields self, thread;
    if (!proc_is_ours(&self) || !read_stat_of(self.pid, tid, &thread)) {
        return 0;
    }
    return thread.start;
}

/* START is compared in the bits of MASK, IMAGE when it is known. */
static int alive(pid_t pid, uint64_t start, uint64_t mask, uint32_t image)
{
    struct stat_fields found, self;
    if (rs_sys_kill0(pid) != 0 && errno == ESRCH) {
        return 0;
    }
    /* Something has this pid. Where we can't read more, take it for the process. */
    if (start == 0 || !proc_is_ours(&self) || !read_stat_of(pid, 0, &found)) {
        return 1;
    }
    uint32_t now = image_of(&found);
    if ((found.start & mask) != start || (image && now && image != now)) {
        return 0;
    }
    /* The leader may have left its threads behind, which is no death. */
    bool over = found.state == 'Z' || found.state == 'X';
    return !(over && found.threads <= 1);
}

int rs_process_alive(const struct rs_process *process)
{
    if (process->space == 0 || process->space != space_of_self()) {
        return -1;
    }
    return alive(process->pid, process->start, UINT64_MAX, process->image);
}

/* A tag: one bit that is set, 20 of the namespace, 21 of the start time, 22 of the pid (all it
 * has). */
enum { PID_BITS = 22, START_BITS = 21, SPACE_BITS = 20 };
#define LOW(value, bits) ((value) & ((UINT64_C(1) << (bits)) - 1))

uint64_t rs_process_tag(const struct rs_process *process)
{
    return UINT64_C(1) << 63 | LOW(process->space, SPACE_BITS) << (PID_BITS + START_BITS) |
           LOW(process->start, START_BITS) << PID_BITS | LOW((uint64_t)process->pid, PID_BITS);
}

int rs_tag_alive(uint64_t tag)
{
    uint64_t space = LOW(tag >> (PID_BITS + START_BITS), SPACE_BITS);
    if (space == 0 || space != LOW(space_of_self(), SPACE_BITS)) {
        return -1;
    }
    uint64_t mask = (UINT64_C(1) << START_BITS) - 1;
    return alive((pid_t)LOW(tag, PID_BITS), tag >> PID_BITS & mask, mask, 0);
}

int rs_thread_alive(pid_t pid, pid_t tid, uint64_t start)
{
    struct stat_fields found;
    if (rs_sys_tgkill0(pid, tid) != 0 && errno == ESRCH) {
        return 0;
    }
    if (start == 0 || !read_stat_of(pid, tid, &found)) {
        return 1;
    }
    return found.start == start && found.state != 'Z' && found.state != 'X';
}

struct ending {
    pid_t pid;
    bool all;
    int threads; /* but for a leader that is a zombie without others: that is a dead process */
};

/* A thread that ends because its process does has SIGKILL pending first, then one of these flags.
 * The flags stand first in its line and are read first, so who takes the signal between the two
 * shows neither; at the second look it shows its flag, or is gone, which tells nothing of the
 * others. */
static bool thread_ends(int fd, const char *name, void *context)
{
    enum { PF_EXITING = 0x4, PF_SIGNALED = 0x400, LOOKS = 2 };
    const uint64_t sigkill = UINT64_C(1) << (9 - 1);
    struct ending *ending = context;
    struct stat_fields found;
    pid_t tid = (pid_t)digits(name);
    (void)fd;
    for (int i = 0; i < LOOKS; i++) {
        if (!read_stat_of(ending->pid, tid, &found)) {
            return true;
        }
        bool over = found.state == 'Z' || found.state == 'X';
        ending->threads += !over || tid != ending->pid || found.threads > 1;
        if (over || (found.pending & sigkill) || (found.flags & (PF_EXITING | PF_SIGNALED))) {
            return true;
        }
    }
    ending->all = false;
    return false;
}

/* The list may show a leader that is a zombie and nobody else while there are others: it breaks off
 * at a thread that leaves while it is made. So the leader's own count is asked, too. */
bool rs_process_ending(pid_t pid)
{
    char path[64];
    struct stat_fields self;
    struct ending ending = {.pid = pid, .all = true};
    put_text(put_number(put_text(path, "/proc/"), pid), "/task");
    int fd = proc_is_ours(&self)
                 ? rs_sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
                 : -1;
    if (fd < 0) {
        return false;
    }
    rs_dir_each(fd, thread_ends, &ending);
    rs_sys_close(fd);
    return ending.all && ending.threads > 0;
}

void rs_process_forked(void)
{
    atomic_store_explicit(&own_space, 0, memory_order_relaxed);
}
