/* SPDX-License-Identifier: Apache-2.0
 *
 * The images under tests/data/images.
 */
#ifndef TEST_IMAGE_FILES_H
#define TEST_IMAGE_FILES_H

#include "base/bytes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file in a buffer of exactly its size, which the caller frees. */
static inline struct rs_bytes image_file(const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "tests/data/images/%s", name);
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    uint8_t *data = malloc(size ? size : 1);
    rewind(file);
    cr_assert(data && fread(data, 1, size, file) == size, "%s", path);
    fclose(file);
    return (struct rs_bytes){data, size};
}

#endif
