/* SPDX-License-Identifier: Apache-2.0
 *
 * How the tool writes numbers and tables.
 */
#include "../../tools/format.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *got, const char *wanted)
{
    cr_assert_str_eq(got, wanted, "\"%s\", not \"%s\"", got, wanted);
}

Test(format, bytes)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},           {999, "999 B"},     {1000, "1.0 kB"},      {1549, "1.5 kB"},
        {999949, "999.9 kB"}, {999950, "1.0 MB"}, {17300000, "17.3 MB"}, {UINT64_MAX, "18.4 EB"},
    };
    char text[FORMAT_MAX];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect(format_bytes(text, cases[i].bytes), cases[i].text);
}

Test(format, durations)
{
    static const struct {
        uint64_t nanoseconds;
        const char *text;
    } cases[] = {
        {0, "0 s"},
        {1, "0 us"},
        {1500, "2 us"},
        {999999, "1 ms"},
        {1000000, "1 ms"},
        {250000000, "250 ms"},
        {999400000, "999 ms"},
        {999600000, "1.0 s"},
        {3440000000u, "3.4 s"},
        {119900000000u, "119.9 s"},
        {125000000000u, "2 min 5 s"},
        {UINT64_MAX, "307445734 min 33 s"},
    };
    char text[FORMAT_MAX];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect(format_duration(text, cases[i].nanoseconds), cases[i].text);
}

Test(format, counts)
{
    char text[FORMAT_MAX];

    expect(format_count(text, 0), "0");
    expect(format_count(text, 999), "999");
    expect(format_count(text, 1000), "1,000");
    expect(format_count(text, 1234567), "1,234,567");
    expect(format_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
}

Test(format, percentages_need_a_whole)
{
    char text[FORMAT_MAX];

    expect(format_percent(text, 0, 0), "");
    expect(format_percent(text, 5, 0), "");
    expect(format_percent(text, 3, 4), "75 %");
    expect(format_percent(text, 4, 4), "100 %");
}

static void print(const struct table *table, char *text, size_t size)
{
    FILE *out = fmemopen(text, size, "w");

    table_print(table, out);
    fclose(out);
}

Test(format, tables_are_aligned_and_end_in_no_blank)
{
    static const char *const cells[] = {"", "ONE", "", "RANK", "DEVICE", "N", "0", "cuda:11", "1"};
    char text[256] = "";
    struct table table;

    table_init(&table, 3, "rlr");
    for (size_t i = 0; i < 8; i++)
        table_add(&table, cells[i]);
    table_add_count(&table, 1234);
    print(&table, text, sizeof(text));
    expect(text, "      ONE\n"
                 "RANK  DEVICE       N\n"
                 "   0  cuda:11  1,234\n");
    table_free(&table);
}

Test(format, a_table_without_rows_prints_nothing)
{
    char text[16] = "";
    struct table table;

    table_init(&table, 2, "ll");
    print(&table, text, sizeof(text));
    expect(text, "");
    table_free(&table);
}
