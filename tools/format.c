/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and tables for people.
 */
#include "format.h"

#include "tool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *format_bytes(char out[FORMAT_MAX], uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes / 1000;
    size_t unit = 0;

    if (bytes < 1000) {
        snprintf(out, FORMAT_MAX, "%" PRIu64 " B", bytes);
        return out;
    }
    /* 999.95 would be printed as 1000.0 */
    while (value >= 999.95 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1000;
        unit++;
    }
    snprintf(out, FORMAT_MAX, "%.1f %s", value, units[unit]);
    return out;
}

const char *format_duration(char out[FORMAT_MAX], uint64_t nanoseconds)
{
    double seconds = (double)nanoseconds / 1e9;

    if (nanoseconds == 0)
        snprintf(out, FORMAT_MAX, "0 s");
    else if (nanoseconds < 999500)
        snprintf(out, FORMAT_MAX, "%.0f us", (double)nanoseconds / 1e3);
    else if (nanoseconds < 999500000)
        snprintf(out, FORMAT_MAX, "%.0f ms", (double)nanoseconds / 1e6);
    else if (seconds < 119.95)
        snprintf(out, FORMAT_MAX, "%.1f s", seconds);
    else
        snprintf(out, FORMAT_MAX, "%" PRIu64 " min %" PRIu64 " s", nanoseconds / 60000000000u,
                 nanoseconds / 1000000000u % 60);
    return out;
}

const char *format_count(char out[FORMAT_MAX], uint64_t count)
{
    char digits[FORMAT_MAX];
    size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count), used = 0;

    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

const char *format_percent(char out[FORMAT_MAX], uint64_t part, uint64_t whole)
{
    out[0] = '\0';
    if (whole > 0)
        snprintf(out, FORMAT_MAX, "%.0f %%", 100.0 * (double)part / (double)whole);
    return out;
}

void table_init(struct table *table, size_t columns, const char *alignment)
{
    *table = (struct table){.columns = columns, .alignment = alignment};
}

void table_add(struct table *table, const char *text)
{
    if (table->count == table->room) {
        char **old = table->cells;

        table->room = table->room ? table->room * 2 : 64;
        table->cells = tool_alloc(table->room * sizeof(*table->cells));
        if (old)
            memcpy(table->cells, old, table->count * sizeof(*old));
        free(old);
    }
    table->cells[table->count++] = tool_format("%s", text);
}

void table_add_count(struct table *table, uint64_t count)
{
    char text[FORMAT_MAX];

    table_add(table, format_count(text, count));
}

void table_print(const struct table *table, FILE *out)
{
    int *widths = tool_alloc(table->columns * sizeof(*widths));
    int owed = 0;

    for (size_t i = 0; i < table->count; i++) {
        int length = (int)strlen(table->cells[i]);
        int *width = &widths[i % table->columns];
        *width = length > *width ? length : *width;
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % table->columns;
        bool right = table->alignment[column] == 'r';

        /* Blanks are owed until something follows, so that no line ends in one. */
        int padding = widths[column] - (int)strlen(table->cells[i]);
        owed += right ? padding : 0;
        if (table->cells[i][0]) {
            fprintf(out, "%*s%s", owed, "", table->cells[i]);
            owed = 0;
        }
        owed += (right ? 0 : padding) + 2;
        if (column + 1 == table->columns) {
            fputc('\n', out);
            owed = 0;
        }
    }
    free(widths);
}

void table_free(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->count = table->room = 0;
}
