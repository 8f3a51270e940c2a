/* SPDX-License-Identifier: Apache-2.0
 *
 * Test-only: lets the replay drive the engine. Reads commands from standard input, one a line, and
 * answers each with one line:
 *
 *     scan FILE                     what the engine says, as name=value between tabs
 *     rewrite FILE TO KEYHEX|- OUT  the same, and the rewritten bytes in OUT
 *     back FILE KEYHEX|- FIRST STEP to each of these ordinals and back: the same bytes?
 *     time FILE TO KEYHEX|-         nanoseconds: scan, rewrite, memcpy + memfd write, SHA-256
 */
#include "ordinal/ordinal.h"
#include "ordinal/sha256.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ARENA = 1 << 30, ROUNDS = 9 };

/* The recordings are of this one. */
#define RECORDED_TORCH "2.11.0+cu130"

static struct rs_bytes read_file(const char *path)
{
    struct rs_bytes bytes = {NULL, 0};
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) {
        perror(path);
        exit(2);
    }
    uint8_t *data = malloc((size_t)st.st_size + 1);
    ssize_t got = data ? read(fd, data, (size_t)st.st_size) : -1;
    close(fd);
    if (got != st.st_size) {
        perror(path);
        exit(2);
    }
    bytes.data = data;
    bytes.size = (size_t)got;
    return bytes;
}

static const uint8_t *read_key(const char *hex, uint8_t key[RS_TORCH_KEY_SIZE])
{
    if (strlen(hex) != 2 * RS_TORCH_KEY_SIZE) {
        return NULL;
    }
    for (unsigned i = 0; i < RS_TORCH_KEY_SIZE; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1) {
            return NULL;
        }
        key[i] = (uint8_t)byte;
    }
    return key;
}

static void print_report(const struct rs_report *report)
{
    printf("kind=%s\treason=%s\tsites=%u\tnone=%u\tordinal=%d\tcomms=%u\tdtensor=%d\tflags=%"
           "u\tgrad=%d\t",
           rs_kind_name(report->kind), rs_reason_name(report->reason), report->sites,
           report->none_sites, rs_report_ordinal(report), report->comms, report->dtensor,
           rs_flags_of(report, RECORDED_TORCH), report->grad_enabled);
    printf("choices=%u\tnamed=%u\tleft=%u\tkeys=%u\twhere=%zu\tprivate=%d\tdevice=%s\ttriton=%"
           "s\ttorch_key=",
           report->choice_count, report->kernels_named, report->kernels_left, report->key_count,
           report->where, report->private_ordinal, report->device_name, report->triton_version);
    for (unsigned i = 0; report->has_torch_key && i < RS_TORCH_KEY_SIZE; i++) {
        printf("%02x", report->torch_key[i]);
    }
    printf("\n");
}

static void scan(const char *path)
{
    struct rs_bytes in = read_file(path);
    struct rs_arena arena;
    struct rs_report report;
    rs_arena_init(&arena, ARENA);
    rs_ordinal_scan(&arena, in, rs_kind_of(in), &report);
    print_report(&report);
    rs_arena_free(&arena);
    free((void *)(uintptr_t)in.data);
}

static void rewrite(const char *path, int to, const char *hex, const char *out_path)
{
    struct rs_bytes in = read_file(path);
    struct rs_arena arena;
    struct rs_report report;
    struct rs_pieces pieces;
    uint8_t key[RS_TORCH_KEY_SIZE];
    rs_arena_init(&arena, ARENA);
    enum rs_reason reason =
        rs_ordinal_rewrite(&arena, in, rs_kind_of(in), read_key(hex, key), to, &pieces, &report);
    if (reason == RS_OK) {
        FILE *out = fopen(out_path, "wb");
        for (size_t i = 0; out && i < pieces.count; i++) {
            fwrite(pieces.pieces[i].iov_base, 1, pieces.pieces[i].iov_len, out);
        }
        if (!out || fclose(out) != 0) {
            perror(out_path);
            exit(2);
        }
    }
    print_report(&report);
    rs_arena_free(&arena);
    free((void *)(uintptr_t)in.data);
}

/* One ordinal and back; "same" or what went wrong. */
static const char *there_and_back(struct rs_bytes in, enum rs_kind kind, const uint8_t *key, int to)
{
    struct rs_arena arena;
    struct rs_report report;
    struct rs_pieces pieces;
    const char *result = "same";
    rs_arena_init(&arena, ARENA);
    if (rs_ordinal_rewrite(&arena, in, kind, key, to, &pieces, &report) != RS_OK) {
        result = rs_reason_name(report.reason);
    } else {
        int from = rs_report_ordinal(&report);
        struct rs_bytes there = rs_pieces_flatten(&arena, &pieces);
        if (rs_ordinal_rewrite(&arena, there, kind, key, from, &pieces, &report) != RS_OK) {
            result = rs_reason_name(report.reason);
        } else if (rs_report_ordinal(&report) != to) {
            result = "other_ordinal";
        } else {
            struct rs_bytes back = rs_pieces_flatten(&arena, &pieces);
            bool same = back.size == in.size && memcmp(back.data, in.data, in.size) == 0;
            result = same ? "same" : "different";
        }
    }
    rs_arena_free(&arena);
    return result;
}

static void back(const char *path, const char *hex, int first, int step)
{
    struct rs_bytes in = read_file(path);
    uint8_t key_bytes[RS_TORCH_KEY_SIZE];
    const uint8_t *key = read_key(hex, key_bytes);
    const char *result = "same";
    int to = first;
    for (; to <= RS_ORDINAL_MAX && step > 0 && strcmp(result, "same") == 0; to += step) {
        result = there_and_back(in, rs_kind_of(in), key, to);
    }
    printf("result=%s\tlast=%d\n", result, to - step);
    free((void *)(uintptr_t)in.data);
}

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void least(double *best, double since)
{
    double took = now() - since;
    *best = *best == 0 || took < *best ? took : *best;
}

static void copy_to_memfd(struct rs_bytes in)
{
    int fd = memfd_create("bench", MFD_CLOEXEC);
    uint8_t *copy = malloc(in.size);
    if (!copy || fd < 0) {
        exit(2);
    }
    memcpy(copy, in.data, in.size);
    if (write(fd, copy, in.size) != (ssize_t)in.size) {
        exit(2);
    }
    close(fd);
    free(copy);
}

/* A view as a reader gets it: rewritten and written to a memfd. */
static void view_to_memfd(struct rs_arena *arena, struct rs_bytes in, const uint8_t *key, int to)
{
    struct rs_report report;
    struct rs_pieces pieces;
    int fd = memfd_create("bench", MFD_CLOEXEC);
    rs_ordinal_rewrite(arena, in, rs_kind_of(in), key, to, &pieces, &report);
    for (size_t at = 0; at < pieces.count;) {
        size_t count = pieces.count - at < 1024 ? pieces.count - at : 1024;
        if (writev(fd, pieces.pieces + at, (int)count) < 0) {
            exit(2);
        }
        at += count;
    }
    close(fd);
}

static void measure(const char *path, int to, const char *hex)
{
    struct rs_bytes in = read_file(path);
    struct rs_arena arena;
    struct rs_report report;
    struct rs_pieces pieces;
    uint8_t key_bytes[RS_TORCH_KEY_SIZE], digest[32];
    const uint8_t *key = read_key(hex, key_bytes);
    double scanned = 0, rewritten = 0, viewed = 0, copied = 0, hashed = 0;
    rs_arena_init(&arena, ARENA);
    for (int i = 0; i < ROUNDS; i++) {
        struct rs_sha256 sha;
        double t = now();
        rs_ordinal_scan(&arena, in, rs_kind_of(in), &report);
        rs_arena_free(&arena);
        least(&scanned, t);
        t = now();
        rs_ordinal_rewrite(&arena, in, rs_kind_of(in), key, to, &pieces, &report);
        rs_pieces_flatten(&arena, &pieces);
        rs_arena_free(&arena);
        least(&rewritten, t);
        t = now();
        view_to_memfd(&arena, in, key, to);
        rs_arena_free(&arena);
        least(&viewed, t);
        t = now();
        copy_to_memfd(in);
        least(&copied, t);
        t = now();
        rs_sha256_init(&sha);
        rs_sha256_add(&sha, in.data, in.size);
        rs_sha256_end(&sha, digest);
        least(&hashed, t);
    }
    printf("size %zu scan %.0f rewrite+flatten %.0f view %.0f memcpy+memfd %.0f sha256 %.0f\n",
           in.size, scanned, rewritten, viewed, copied, hashed);
    free((void *)(uintptr_t)in.data);
}

int main(void)
{
    char line[16384];
    while (fgets(line, sizeof(line), stdin)) {
        char *word[5] = {NULL};
        unsigned count = 0;
        for (char *at = strtok(line, " \n"); at && count < 5; at = strtok(NULL, " \n")) {
            word[count++] = at;
        }
        if (count == 2 && strcmp(word[0], "scan") == 0) {
            scan(word[1]);
        } else if (count == 5 && strcmp(word[0], "rewrite") == 0) {
            rewrite(word[1], atoi(word[2]), word[3], word[4]);
        } else if (count == 5 && strcmp(word[0], "back") == 0) {
            back(word[1], word[2], atoi(word[3]), atoi(word[4]));
        } else if (count == 4 && strcmp(word[0], "time") == 0) {
            measure(word[1], atoi(word[2]), word[3]);
        } else {
            fprintf(stderr, "what is this: %s\n", word[0] ? word[0] : "");
            return 1;
        }
        fflush(stdout);
    }
    return 0;
}
