/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting ranks, waiting for them with a deadline, reading their log, counting cases.
 */
#include "lease.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int passed, failed;

/* Ranks of the running case: whatever it comes to, none outlives it. */
static pid_t started[1024];
static int started_count;

static void pause_ms(int ms)
{
    struct timespec pause = {0, ms * 1000000L};
    nanosleep(&pause, NULL);
}

bool bench_open(struct bench *bench)
{
    static int number;
    char override[64];
    snprintf(override, sizeof(override), "lease-%d-%d", (int)getpid(), number++);
    snprintf(bench->dir, sizeof(bench->dir), "/tmp/rankshare-lease-XXXXXX");
    if (!rs_store_name(bench->segment, geteuid(), override) || !mkdtemp(bench->dir)) {
        return false;
    }
    snprintf(bench->path, sizeof(bench->path), "/dev/shm%s", bench->segment);
    return true;
}

void bench_close(struct bench *bench)
{
    char path[512];
    DIR *dir = opendir(bench->dir);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        snprintf(path, sizeof(path), "%s/%s", bench->dir, entry->d_name);
        unlink(path);
    }
    if (dir) {
        closedir(dir);
    }
    rmdir(bench->dir);
    unlink(bench->path);
}

void bench_forget(const struct bench *bench, unsigned key)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%u", bench->dir, key);
    unlink(path);
}

pid_t rank_start(const struct bench *bench, const char *format, ...)
{
    enum { WORDS = 16 };
    char text[512],
        *argv[WORDS + 5] = {"lease", "rank", (char *)bench->segment, (char *)bench->dir};
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    int count = 4;
    for (char *word = strtok(text, " "); word && count < WORDS + 4; word = strtok(NULL, " ")) {
        argv[count++] = word;
    }
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    if (started_count < (int)(sizeof(started) / sizeof(started[0]))) {
        started[started_count++] = pid;
    }
    return pid;
}

/* Ends of children: 0 and the SIGKILL that a test wanted are right; anything else is a hang or a
 * bug. */
bool join_all(const pid_t *pids, int count, long limit_ms)
{
    long end = now_ms() + limit_ms;
    bool fine = true;
    for (int i = 0; i < count; i++) {
        int status = 0;
        while (waitpid(pids[i], &status, WNOHANG) == 0) {
            if (now_ms() > end) {
                kill(pids[i], SIGKILL);
                waitpid(pids[i], &status, 0);
                status = 1;
                break;
            }
            pause_ms(2);
        }
        fine &= status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    return fine;
}

size_t read_log(const struct bench *bench, struct line *lines, size_t max)
{
    char path[128];
    size_t count = 0;
    snprintf(path, sizeof(path), "%s/log", bench->dir);
    FILE *file = fopen(path, "re");
    while (file && count < max &&
           fscanf(file, " %c %d %u %ld %ld", &lines[count].what, &lines[count].rank,
                  &lines[count].key, &lines[count].begin_ms, &lines[count].end_ms) == 5) {
        count++;
    }
    if (file) {
        fclose(file);
    }
    return count;
}

int count_log(const struct bench *bench, char what, unsigned key)
{
    static struct line lines[4096];
    size_t count = read_log(bench, lines, sizeof(lines) / sizeof(lines[0]));
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        found += lines[i].what == what && (key == 0 || lines[i].key == key);
    }
    return found;
}

void clear_log(const struct bench *bench)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/log", bench->dir);
    unlink(path);
}

bool await(const struct bench *bench, char what, int count, long limit_ms)
{
    long end = now_ms() + limit_ms;
    while (count_log(bench, what, 0) < count) {
        if (now_ms() > end) {
            return false;
        }
        pause_ms(2);
    }
    return true;
}

static void end_all(void)
{
    while (started_count > 0) {
        pid_t pid = started[--started_count];
        if (waitpid(pid, NULL, WNOHANG) == 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
    }
}

void run_case(const char *name, case_run *run, int argument)
{
    struct bench bench;
    long begin = now_ms();
    const char *wrong = bench_open(&bench) ? run(&bench, argument) : "no directory";
    if (wrong) {
        printf("FAIL %s: %s\n", name, wrong);
        failed++;
    } else {
        printf("ok   %s (%ld ms)\n", name, now_ms() - begin);
        passed++;
    }
    fflush(stdout);
    end_all();
    bench_close(&bench);
}

int print_summary(void)
{
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed ? 1 : 0;
}
