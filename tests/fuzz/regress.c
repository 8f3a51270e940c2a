/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over the files given, without libFuzzer: for compilers that have none, and for
 * inputs that once broke something.
 */
#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return 1;
    }
    size_t size = 0, room = 1 << 16;
    uint8_t *data = malloc(room);
    while (data) {
        size += fread(data + size, 1, room - size, file);
        if (size < room) {
            break;
        }
        uint8_t *more = realloc(data, room *= 2);
        if (!more) {
            free(data);
        }
        data = more;
    }
    fclose(file);
    if (!data) {
        return 1;
    }
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        failed |= run_file(argv[i]);
    }
    printf("%d files\n", argc - 1);
    return failed;
}
