/* SPDX-License-Identifier: Apache-2.0
 *
 * store SEGMENT FOLDER: what the artifact store costs, as JSON rows for bench.py. Each hit is
 * compared with a read of a file of the same bytes from the page cache, in turns.
 */
#include "base/config.h"
#include "store/artifact.h"
#include "store/inspect.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 101, READERS = 64, HOT = 100000, MOST = 100000, PUTS = 40, PIECES = 300 };

static struct rs_store store;
static struct rs_slot *slot;
static unsigned char *data, *buffer;
static const size_t largest = 4 << 20;
static unsigned next_key;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void row(const char *what, const char *text, double value, const char *unit, double goal)
{
    static bool more;
    printf("%s{\"what\": \"%s\", \"text\": \"%s\", \"value\": %.4f, \"unit\": \"%s\", \"goal\": ",
           more ? ",\n" : "", what, text, value, unit);
    printf(goal > 0 ? "%g}" : "null}", goal);
    more = true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(values[0]), by_value);
    return values[count / 2];
}

/* Like Python source: letters that repeat, so that it can be packed. */
static void make_data(size_t size, unsigned seed)
{
    uint64_t state = seed + 1;
    for (size_t i = 0; i < size; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        data[i] = (unsigned char)("abcdefgh tmp0 = tl.load("[(state >> 60) + (state >> 32 & 7)]);
    }
}

static struct rs_artifact_key key_of(unsigned number)
{
    struct rs_artifact_key key = {.kind = RS_KIND_fx_entry};
    memcpy(key.key.bytes, &number, sizeof(number));
    return key;
}

/* With PIECES: as many stretches of it, nine tenths in all, are objects of their own, as the
 * kernels in an FX entry are. */
static void put_cut(unsigned number, size_t size, unsigned pieces)
{
    static struct rs_run runs[PIECES];
    struct rs_artifact_key key = key_of(number);
    struct rs_origin origin = rs_origin_of(&store, slot, 1, 1);
    struct rs_part_in part = {.name = "entry", .data = data, .size = size, .mode = 0644};
    size_t step = pieces ? size / pieces : 0;
    for (unsigned i = 0; i < pieces; i++) {
        runs[i] = (struct rs_run){.at = i * step, .size = step - step / 10};
    }
    part.runs = runs;
    part.run_count = pieces;
    if (rs_artifact_put(&store, slot, &key, &origin, 0, &part, 1) != RS_PUT_STORED) {
        fprintf(stderr, "nothing can be put\n");
        exit(1);
    }
}

static void put(unsigned number, size_t size)
{
    put_cut(number, size, 0);
}

static void hit(unsigned number)
{
    struct rs_artifact artifact;
    struct rs_artifact_key key = key_of(number);
    struct rs_origin origin = rs_origin_of(&store, slot, 1, 1);
    if (!rs_artifact_find(&store, slot, &key, &origin, 0, &artifact) ||
        !rs_artifact_read(&artifact, 0, buffer)) {
        fprintf(stderr, "what was put is not there\n");
        exit(1);
    }
    rs_artifact_release(&artifact);
}

static void read_file(const char *path, size_t size)
{
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fstat(fd, &found) != 0 || read(fd, buffer, size) != (ssize_t)size) {
        exit(1);
    }
    close(fd);
}

static void compare(const char *folder, size_t size, unsigned pieces, const char *how)
{
    char path[4096], what[128], text[128];
    double ratios[ROUNDS], hits[ROUNDS], files[ROUNDS];
    unsigned number = next_key++;
    make_data(size, number);
    snprintf(path, sizeof(path), "%s/entry", folder);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (write(fd, data, size) != (ssize_t)size) {
        exit(1);
    }
    close(fd);
    put_cut(number, size, pieces);
    for (int i = 0; i < ROUNDS; i++) {
        double a = now_ns();
        read_file(path, size);
        double b = now_ns();
        hit(number);
        double c = now_ns();
        files[i] = b - a;
        hits[i] = c - b;
        ratios[i] = (c - b) / (b - a);
    }
    double ratio = median(ratios, ROUNDS);
    snprintf(what, sizeof(what), "hit of %zu kB, %s", size / 1000, how);
    snprintf(text, sizeof(text), "%8.3f ms, %.2f times a page-cache read (%.3f ms)",
             median(hits, ROUNDS) / 1e6, ratio, median(files, ROUNDS) / 1e6);
    row(what, text, ratio, "times", size > 64000 && strcmp(how, "packed") != 0 ? 1.3 : 0);
    unlink(path);
}

static void insert(size_t size, const char *how)
{
    char what[128], text[128];
    double times[PUTS];
    for (int i = 0; i < PUTS; i++) {
        make_data(size, 1000 + next_key);
        double begin = now_ns();
        put(next_key++, size);
        times[i] = now_ns() - begin;
    }
    double each = median(times, PUTS);
    snprintf(what, sizeof(what), "put of %zu kB, %s", size / 1000, how);
    snprintf(text, sizeof(text), "%8.3f ms, %.0f MB/s", each / 1e6, (double)size / each * 1e3);
    row(what, text, each / (double)size, "ns/byte", strcmp(how, "packed") == 0 ? 0 : 2);
}

/* What all of a crowd read. */
static unsigned hot_number;
static char hot_path[4096];

static void hot_key(void)
{
    hit(hot_number);
}

static void hot_file(void)
{
    read_file(hot_path, HOT);
}

/* Nanoseconds of one read when COUNT processes read the same at the same time. */
static double crowd(int count, void (*read_hot)(void))
{
    static _Atomic int *ready;
    ready = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const int each = 64000 / count;
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            struct rs_identity identity = {.job = "bench", .rank = i};
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* else they wait for a killed parent for ever */
            rs_store_forked();
            slot = rs_slot_claim(&store, &identity);
            read_hot();
            atomic_fetch_add(ready, 1);
            while (atomic_load(ready) <= count) {
                usleep(100);
            }
            for (int turn = 0; turn < each; turn++) {
                read_hot();
            }
            _exit(0);
        }
    }
    while (atomic_load(ready) < count) {
        usleep(100);
    }
    double begin = now_ns();
    atomic_store(ready, count + 1);
    for (int i = 0; i < count; i++) {
        int status;
        wait(&status);
        if (status) {
            exit(1);
        }
    }
    munmap((void *)ready, 4096);
    return (now_ns() - begin) / ((double)each * count);
}

/* The crowd's reads in a second, and what part that is of one process' times the cores. */
static double linear(void (*read_hot)(void), char *text, size_t size)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    double one = crowd(1, read_hot), all = crowd(READERS, read_hot);
    double part = one / (double)(cores < READERS ? cores : READERS) / all;
    snprintf(text, size, "%5.0f %% of linear on %ld cores (%.0f -> %.0f reads/s)", part * 100,
             cores, 1e9 / one, 1e9 / all);
    return part;
}

/* The file tells what this machine's cores and memory make of any such crowd. */
static void readers(const char *folder)
{
    char text[128];
    hot_number = next_key++;
    make_data(HOT, hot_number);
    put(hot_number, HOT);
    double part = linear(hot_key, text, sizeof(text));
    row("64 processes read one key of 100 kB", text, 1 / part, "times", 1.25);
    snprintf(hot_path, sizeof(hot_path), "%s/hot", folder);
    int fd = open(hot_path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (write(fd, data, HOT) != HOT) {
        exit(1);
    }
    close(fd);
    part = linear(hot_file, text, sizeof(text));
    row("64 processes read one file of 100 kB", text, 1 / part, "times", 0);
    unlink(hot_path);
}

static double lookups(unsigned from, unsigned count)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_ns();
        for (unsigned turn = 0; turn < 20; turn++) {
            struct rs_artifact artifact;
            struct rs_artifact_key key = key_of(from + (unsigned)random() % count);
            struct rs_origin origin = rs_origin_of(&store, slot, 1, 1);
            if (rs_artifact_find(&store, slot, &key, &origin, 0, &artifact)) {
                rs_artifact_release(&artifact);
            }
        }
        times[i] = (now_ns() - begin) / 20;
    }
    return median(times, ROUNDS);
}

static void growth(void)
{
    char what[128], text[128];
    unsigned from = 1000000, count = 0;
    double first = 0;
    make_data(64, 1);
    for (unsigned size = 10; size <= MOST; size *= 10) {
        for (; count < size; count++) {
            memcpy(data, &count, sizeof(count));
            put(from + count, 64);
        }
        double found = lookups(from, count), absent = lookups(3 * from, count);
        first = first > 0 ? first : found;
        snprintf(what, sizeof(what), "find one of %u artifacts", size);
        snprintf(text, sizeof(text), "%8.0f ns; an absent one %.0f ns", found, absent);
        row(what, text, found / first, "times", size > 10 ? 1.5 : 0);
    }
}

static void open_store(const char *name, const char *folder, uint64_t bytes)
{
    char segment[RS_SEGMENT_NAME_MAX];
    struct rs_identity identity = {.job = "bench", .rank = 0};
    if (!rs_store_name(segment, geteuid(), name) ||
        rs_store_open(segment, true, true, &store) != RS_STORE_OK) {
        exit(1);
    }
    store.artifact_bytes = bytes;
    store.dir = folder;
    slot = rs_slot_claim(&store, &identity);
}

static void close_store(void)
{
    char name[RS_SEGMENT_NAME_MAX];
    memcpy(name, store.name, sizeof(name));
    rs_store_close(&store);
    rs_store_remove(name);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8000, 64000, 256000, 1000000, 4000000};
    if (argc < 3) {
        return 1;
    }
    data = malloc(largest);
    buffer = malloc(largest);
    puts("[");
    open_store(argv[1], argv[2], UINT64_C(256) << 20);
    for (int i = 0; i < 5; i++) {
        compare(argv[2], sizes[i], 0, "as it is");
    }
    compare(argv[2], largest, PIECES, "a tenth its own, in 300 pieces");
    insert(100000, "as it is");
    insert(1000000, "as it is");
    readers(argv[2]);
    growth();
    close_store();
    open_store(argv[1], argv[2], UINT64_C(5) << 20);
    for (size_t i = 0; i < 3000000; i++) { /* what can't be packed fills half of it */
        data[i] = (unsigned char)random();
    }
    put(next_key++, 2600000);
    for (int i = 1; i < 4; i++) {
        compare(argv[2], sizes[i], 0, "packed");
    }
    insert(100000, "packed");
    close_store();
    puts("\n]");
    return 0;
}
