/* SPDX-License-Identifier: Apache-2.0
 *
 * Autotuning results: what their text says, and the memory of their names.
 */
#include "rank/tuned_map.h"
#include "rank/tuned_text.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static bool read_text(const char *text, struct rs_tuned_text *out)
{
    return rs_tuned_read((struct rs_bytes){(const uint8_t *)text, strlen(text)}, out);
}

/* A recorded one: torch 2.11 on an H200. */
static const char recorded[] =
    "{\"XBLOCK\": 1024, \"num_warps\": 4, \"num_stages\": 1, \"configs_hash\": \"0ff3\", "
    "\"found_by_coordesc\": false, \"time_taken_ms\": 37, \"triton_cache_hash\": \"U6J6\"}";

Test(tuned_text, recorded)
{
    struct rs_tuned_text text;
    cr_assert(read_text(recorded, &text));
    cr_assert_eq(text.configs.size, 4);
    cr_assert_arr_eq(text.configs.data, "0ff3", 4);
    cr_assert_not(text.refined);
    cr_assert(read_text("{\"found_by_coordesc\":true,\"configs_hash\":\"a\"}", &text));
    cr_assert(text.refined);
}

/* A writer in place may be read at any byte. */
Test(tuned_text, cut_short_anywhere)
{
    struct rs_tuned_text text;
    size_t size = strlen(recorded);
    for (size_t i = 0; i < size; i++) {
        cr_assert_not(rs_tuned_read((struct rs_bytes){(const uint8_t *)recorded, i}, &text),
                      "the first %zu bytes", i);
    }
}

Test(tuned_text, others)
{
    static const char *const good[] = {
        " { \"configs_hash\" : \"a\" } \n",
        "{\"configs_hash\": \"a\", \"extra_options\": {\"x\": [1, {\"configs_hash\": 3}, []], "
        "\"y\": {}}}",
        "{\"a\\\"b\": \"\\\\\", \"configs_hash\": \"a\", \"t\": NaN, \"u\": -1.5e+3, \"v\": null}",
    };
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "null",
        "{\"XBLOCK\": 1}",
        "{\"configs_hash\": 3}",
        "{\"configs_hash\": \"\"}",
        "{\"x\": {\"configs_hash\": \"a\"}}",
        "{\"configs_hash\": \"a\"}{\"configs_hash\": \"a\"}",
        "{\"configs_hash\": \"a\"} x",
        "{\"configs_hash\": \"a\",}",
        "{\"configs_hash\": \"a\" \"b\": 1}",
        "{\"configs_hash\": \"a\n\"}",
        "{\"configs_hash\": \"a\\",
        "{\"configs_hash\": \"a\", \"b\": [1, 2}",
        "{\"configs_hash\": \"a\", \"b\": }",
        "{configs_hash: \"a\"}",
    };
    struct rs_tuned_text text;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_expect(read_text(good[i], &text), "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_not(read_text(bad[i], &text), "%s", bad[i]);
    }
}

Test(tuned_text, deep)
{
    char deep[4096] = "{\"configs_hash\": \"a\", \"b\": ";
    struct rs_tuned_text text;
    memset(deep + strlen(deep), '[', sizeof(deep) - 1 - strlen(deep));
    cr_assert_not(read_text(deep, &text));
}

Test(tuned_text, alike)
{
    struct rs_tuned_text a, b;
    cr_assert(read_text("{\"configs_hash\": \"aa\", \"x\": 1}", &a));
    cr_assert(read_text("{\"x\": 2, \"configs_hash\": \"aa\"}", &b));
    cr_assert(rs_tuned_alike(&a, &b));
    cr_assert(read_text("{\"configs_hash\": \"ab\"}", &b));
    cr_assert_not(rs_tuned_alike(&a, &b));
}

/* Blocks of a file that never reached the disk are zeros. */
Test(tuned_text, zeros)
{
    static const char text[] = "{\"configs_hash\": \"a\", \"b\": 1\0\0}";
    struct rs_tuned_text out;
    cr_assert_not(rs_tuned_read((struct rs_bytes){(const uint8_t *)text, sizeof(text) - 1}, &out));
}

/* ---- names ---- */

struct kernel {
    char old_file[RS_NAME + 1], new_file[RS_NAME + 1], old_config[RS_HEX + 1],
        new_config[RS_HEX + 1];
    struct rs_name name;
    struct rs_key old_key, new_key;
};

static void hex(char out[RS_HEX + 1], unsigned number, unsigned side)
{
    for (unsigned i = 0; i < RS_HEX / 8; i++) {
        unsigned word = (number * 2 + side + 1) * 2654435761u + i * 40503u * (number + 7);
        snprintf(out + 8 * i, 9, "%08x", word);
    }
}

static void make(struct kernel *kernel, unsigned number)
{
    snprintf(kernel->old_file, sizeof(kernel->old_file), "co%050u", number);
    snprintf(kernel->new_file, sizeof(kernel->new_file), "cn%050u", number);
    hex(kernel->old_config, number, 0);
    hex(kernel->new_config, number, 1);
    kernel->name = (struct rs_name){
        .old_file = (const uint8_t *)kernel->old_file,
        .new_file = (const uint8_t *)kernel->new_file,
        .old_config = (const uint8_t *)kernel->old_config,
        .new_config = (const uint8_t *)kernel->new_config,
    };
    cr_assert(rs_key_from_triton(kernel->old_config, RS_HEX, &kernel->old_key));
    cr_assert(rs_key_from_triton(kernel->new_config, RS_HEX, &kernel->new_key));
}

static void learn(const struct kernel *kernel, int to)
{
    struct rs_report report = {.names = &kernel->name, .name_count = 1};
    rs_tuned_learn(&report, to, false);
}

Test(tuned_map, to_cuda_0_and_from_it)
{
    struct kernel view, store;
    char name[RS_TUNED_NAME + 1], expected[RS_TUNED_NAME + 1];
    make(&view, 1);
    make(&store, 2);
    cr_assert_not(rs_tuned_shared(&view.new_key, name));
    learn(&view, 3);
    learn(&store, 0);
    cr_assert(rs_tuned_shared(&view.new_key, name));
    snprintf(expected, sizeof(expected), "o0/%s.best_config", view.old_config);
    cr_assert_str_eq(name, expected);
    cr_assert(rs_tuned_shared(&store.old_key, name));
    snprintf(expected, sizeof(expected), "n0/%s.best_config", store.new_config);
    cr_assert_str_eq(name, expected);
    cr_assert_not(rs_tuned_shared(&view.old_key, name));
}

/* Old versions name results after the kernel's file, or after the SHA-256 of "<file>.py:". */
Test(tuned_map, names_of_old_versions)
{
    static const char own[] = "cbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbba";
    static const char shared[] = "caaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const struct rs_name to_own = {.old_file = (const uint8_t *)shared,
                                   .new_file = (const uint8_t *)own};
    struct rs_report report = {.names = &to_own, .name_count = 1};
    struct rs_key file, hash;
    char name[RS_TUNED_NAME + 1];
    cr_assert(rs_key_from_name51(own + 1, &file));
    cr_assert(rs_key_from_triton("3e66da72962b1e1e1199d1859d9a1acdc46bc96449ca02facdf4f9281d9b645c",
                                 RS_HEX, &hash));
    rs_tuned_learn(&report, 3, false);
    cr_assert_not(rs_tuned_shared(&file, name), "without torch_key nothing is known of later ones");
    rs_tuned_learn(&report, 3, true);
    cr_assert(rs_tuned_shared(&file, name));
    cr_assert_str_eq(name, "aa/caaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.best_config");
    cr_assert(rs_tuned_shared(&hash, name));
    cr_assert_str_eq(
        name, "aa/9f2610dd265b0d9c02dd42261d68888576ce24e6ca3b761b6d10ac832c493d66.best_config");
}

Test(tuned_map, versions_that_write_in_place)
{
    static const int others[] = {0, 3, 8, 11, 15, 16};
    for (int minor = 4; minor <= 7; minor++) {
        cr_expect(rs_tuned_in_place(minor), "2.%d", minor);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        cr_expect_not(rs_tuned_in_place(others[i]), "2.%d", others[i]);
    }
}

/* A result may be saved before its graph was read: a blob unpacked first. */
Test(tuned_map, saved_first)
{
    struct kernel kernel;
    char name[RS_TUNED_NAME + 1];
    make(&kernel, 3);
    cr_assert_not(rs_tuned_is_ours(&kernel.new_key));
    rs_tuned_saved_here(&kernel.new_key);
    cr_assert(rs_tuned_is_ours(&kernel.new_key));
    cr_assert_not(rs_tuned_shared(&kernel.new_key, name));
    learn(&kernel, 5);
    cr_assert(rs_tuned_shared(&kernel.new_key, name));
    cr_assert(rs_tuned_is_ours(&kernel.new_key));
}

/* Without torch_key nothing is known of results. */
Test(tuned_map, no_names)
{
    struct kernel kernel;
    char name[RS_TUNED_NAME + 1];
    make(&kernel, 4);
    kernel.name.old_config = kernel.name.new_config = NULL;
    learn(&kernel, 5);
    cr_assert_not(rs_tuned_shared(&kernel.new_key, name));
}

static void *learn_many(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 1000; i++) {
        struct kernel kernel;
        make(&kernel, i);
        learn(&kernel, 1);
    }
    return NULL;
}

Test(tuned_map, threads_and_more_than_fit)
{
    enum { THREADS = 4, MANY = 20000 };
    pthread_t threads[THREADS];
    char name[RS_TUNED_NAME + 1];
    struct kernel kernel;
    for (int i = 0; i < THREADS; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, learn_many, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; i < 1000; i++) {
        make(&kernel, i);
        cr_assert(rs_tuned_shared(&kernel.new_key, name), "%u", i);
        cr_assert_arr_eq(name + 3, kernel.old_config, RS_HEX);
    }
    for (unsigned i = 0; i < MANY; i++) {
        make(&kernel, i);
        learn(&kernel, 1);
    }
    make(&kernel, 0);
    cr_assert(rs_tuned_shared(&kernel.new_key, name), "the first one is still known");
}
