/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs to look at a GPU image: images FILE ROUNDS prints, as one JSON object, the
 * nanoseconds of each step in the quickest round, and those of a memcpy of the image in the same
 * rounds.
 */
#include "image/cubin.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LIMIT = 64 << 20, STEPS = 5 };
static const char *const names[STEPS] = {"size", "readable", "hash", "kernels", "memcpy"};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        return NULL;
    }
    *size = (size_t)ftell(file);
    uint8_t *data = malloc(*size + 1);
    rewind(file);
    bool whole = data && fread(data, 1, *size, file) == *size;
    fclose(file);
    return whole ? data : NULL;
}

/* One round; false when the file is not a cubin. */
static bool measure(const uint8_t *data, size_t size, uint8_t *copy, double spent[STEPS])
{
    struct rs_reader reader;
    struct rs_image image;
    struct rs_hash128 hash;
    struct rs_cubin cubin;
    double at[STEPS + 1];
    rs_reader_process(&reader);
    at[0] = now();
    bool fine = rs_image_find(&reader, data, LIMIT, &image);
    at[1] = now();
    fine = fine && rs_reader_has(&reader, image.bytes.data, image.bytes.size);
    at[2] = now();
    fine = fine && rs_cubin_hash(image.bytes, &hash);
    at[3] = now();
    fine = fine && rs_cubin_read(image.bytes, &cubin, NULL, NULL);
    at[4] = now();
    memcpy(copy, data, size);
    at[5] = now();
    for (unsigned i = 0; i < STEPS; i++) {
        double step = at[i + 1] - at[i];
        spent[i] = spent[i] == 0 || step < spent[i] ? step : spent[i];
    }
    return fine;
}

int main(int argc, char **argv)
{
    double spent[STEPS] = {0};
    size_t size;
    uint8_t *data = argc == 3 ? read_file(argv[1], &size) : NULL;
    uint8_t *copy = data ? malloc(size) : NULL;
    if (!copy) {
        return 2;
    }
    for (long round = strtol(argv[2], NULL, 10); round > 0; round--) {
        if (!measure(data, size, copy, spent)) {
            return 1;
        }
    }
    for (unsigned i = 0; i < STEPS; i++) {
        printf("%s\"%s\": %.0f", i ? ", " : "{", names[i], spent[i]);
    }
    puts("}");
    return 0;
}
