/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and tables for people.
 */
#ifndef RS_TOOLS_FORMAT_H
#define RS_TOOLS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FORMAT_MAX = 32 };

/* 0 B, 999 B, 1.5 kB, 17.3 MB, ... (powers of 1000). Returns OUT. */
const char *format_bytes(char out[FORMAT_MAX], uint64_t bytes);
/* 0 s, 250 us, 12 ms, 3.4 s, 12 min 5 s. Returns OUT. */
const char *format_duration(char out[FORMAT_MAX], uint64_t nanoseconds);
/* 1,234,567. Returns OUT. */
const char *format_count(char out[FORMAT_MAX], uint64_t count);
/* "75 %", or "" when WHOLE is zero. Returns OUT. */
const char *format_percent(char out[FORMAT_MAX], uint64_t part, uint64_t whole);

/* A table: every cell is text; columns are as wide as their widest cell and two blanks apart. */
struct table {
    size_t columns;
    const char *alignment; /* one character a column: 'r' right, anything else left */
    char **cells;
    size_t count, room;
};

void table_init(struct table *table, size_t columns, const char *alignment);
/* Appends one cell (copied), row by row. */
void table_add(struct table *table, const char *text);
void table_add_count(struct table *table, uint64_t count);
void table_print(const struct table *table, FILE *out);
void table_free(struct table *table);

#endif
