/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/known.h"

#include "rank/env.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

static struct rs_key key_number(uint32_t number)
{
    struct rs_key key;
    memset(&key, 0, sizeof(key));
    for (size_t i = 0; i + 4 <= sizeof(key.bytes); i += 4) {
        uint32_t word = (number + (uint32_t)i) * 2654435761u;
        memcpy(key.bytes + i, &word, sizeof(word));
    }
    return key;
}

static void add(uint32_t number, enum rs_treatment treatment, int ordinal)
{
    struct rs_key key = key_number(number);
    struct rs_known what = {treatment, RS_KIND_fx_details, ordinal, (unsigned)ordinal & 0xff};
    rs_known_add(&key, &what);
}

static struct rs_known find(uint32_t number)
{
    struct rs_key key = key_number(number);
    return rs_known_find(&key);
}

Test(known, remembers_and_replaces)
{
    cr_assert(find(1).treatment == RS_TREAT_UNKNOWN);
    add(1, RS_TREAT_CANONICAL, 127);
    add(2, RS_TREAT_PRIVATE, 0);
    add(3, RS_TREAT_NATIVE, -1);
    cr_assert(find(1).treatment == RS_TREAT_CANONICAL && find(1).ordinal == 127);
    cr_assert_eq(find(1).flags, 127);
    cr_assert(find(2).treatment == RS_TREAT_PRIVATE && find(2).ordinal == 0);
    cr_assert(find(3).treatment == RS_TREAT_NATIVE && find(3).ordinal == -1);
    add(1, RS_TREAT_NATIVE, 4);
    cr_assert(find(1).treatment == RS_TREAT_NATIVE && find(1).ordinal == 4);
}

Test(known, whether_a_key_was_moved)
{
    add(1, RS_TREAT_NATIVE, 4);
    add(2, RS_TREAT_PRIVATE, 4);
    add(3, RS_TREAT_CANONICAL, 0);
    add(4, RS_TREAT_CANONICAL, -1);
    cr_assert(!rs_known_moved());
    add(5, RS_TREAT_CANONICAL, 1);
    cr_assert(rs_known_moved());
    rs_known_forked();
    cr_assert(!rs_known_moved());
}

Test(known, more_keys_than_slots_forget_but_never_lie)
{
    enum { MANY = 20000 };
    for (uint32_t i = 0; i < MANY; i++) {
        add(i, RS_TREAT_CANONICAL, (int)(i % 100));
    }
    unsigned kept = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        struct rs_known what = find(i);
        if (what.treatment != RS_TREAT_UNKNOWN) {
            kept++;
            cr_assert(what.ordinal == (int)(i % 100));
            cr_assert_eq(what.flags, i % 100);
        }
    }
    cr_assert(kept > 4000, "%u kept", kept);
}

/* What is remembered of NUMBER keys with TREATMENT from FIRST on. */
static unsigned kept(uint32_t first, uint32_t number, enum rs_treatment treatment)
{
    unsigned found = 0;
    for (uint32_t i = first; i < first + number; i++) {
        found += find(i).treatment == treatment;
    }
    return found;
}

Test(known, native_and_private_keys_outlive_shared_ones)
{
    enum { MANY = 30000 };
    for (uint32_t i = 0; i < 500; i++) {
        add(i, i % 2 ? RS_TREAT_NATIVE : RS_TREAT_PRIVATE, 3);
    }
    for (uint32_t i = 1000; i < 1000 + MANY; i++) {
        add(i, RS_TREAT_CANONICAL, 3);
    }
    cr_assert_eq(kept(0, 500, RS_TREAT_NATIVE), 250);
    cr_assert_eq(kept(0, 500, RS_TREAT_PRIVATE), 250);
    cr_assert(kept(1000, MANY, RS_TREAT_CANONICAL) > 4000);
    cr_assert(find(999999).treatment == RS_TREAT_UNKNOWN, "nothing native was forgotten");
}

Test(known, a_native_key_that_finds_no_room_makes_all_unknown_keys_suspect)
{
    enum { MANY = 30000 };
    for (uint32_t i = 0; i < MANY; i++) {
        add(i, RS_TREAT_NATIVE, 3);
    }
    unsigned native = kept(0, MANY, RS_TREAT_NATIVE);
    cr_assert(native > 4000 && native < MANY);
    cr_assert_eq(kept(0, MANY, RS_TREAT_FORGOTTEN), MANY - native);
    cr_assert(find(999999).treatment == RS_TREAT_FORGOTTEN);
    rs_known_forked();
    cr_assert(find(999999).treatment == RS_TREAT_UNKNOWN, "a child has hashed nothing");
}

enum { EACH = 6000, ADDERS = 4 };

static void *adder(void *argument)
{
    uint32_t first = *(uint32_t *)argument;
    for (uint32_t i = first; i < ADDERS * EACH; i += ADDERS) {
        add(i, i % 8 < 4 ? RS_TREAT_CANONICAL : RS_TREAT_NATIVE, (int)(i % 100));
    }
    return NULL;
}

Test(known, threads_lose_no_native_key)
{
    pthread_t threads[ADDERS];
    uint32_t first[ADDERS];
    for (uint32_t i = 0; i < ADDERS; i++) {
        first[i] = i;
        pthread_create(&threads[i], NULL, adder, &first[i]);
    }
    for (uint32_t i = 0; i < ADDERS; i++) {
        pthread_join(threads[i], NULL);
    }
    bool suspect = find(999999).treatment == RS_TREAT_FORGOTTEN;
    for (uint32_t i = 0; i < ADDERS * EACH; i++) {
        struct rs_known what = find(i);
        if (what.treatment == RS_TREAT_CANONICAL || what.treatment == RS_TREAT_NATIVE) {
            cr_assert_eq(what.treatment, i % 8 < 4 ? RS_TREAT_CANONICAL : RS_TREAT_NATIVE);
            cr_assert_eq(what.ordinal, (int)(i % 100));
        } else {
            cr_assert(i % 8 < 4 || suspect, "native key %u was lost unnoticed", i);
        }
    }
}

Test(known, kernels_keys_make_room_for_graphs_keys)
{
    enum { MANY = 30000 };
    struct rs_known kernel = {RS_TREAT_CANONICAL, RS_KIND_triton_key, -1, 0};
    for (uint32_t i = 0; i < 500; i++) {
        add(i, RS_TREAT_CANONICAL, 3);
    }
    for (uint32_t i = 1000; i < 1000 + MANY; i++) {
        struct rs_key key = key_number(i);
        rs_known_add(&key, &kernel);
    }
    cr_assert_eq(kept(0, 500, RS_TREAT_CANONICAL), 500);
}

Test(known, one_first_look_per_hash)
{
    struct rs_known what;
    struct rs_key one = key_number(1), two = key_number(2);
    cr_assert(!rs_known_first_look(&one, &what));
    add(1, RS_TREAT_CANONICAL, 3);
    cr_assert(!rs_known_first_look(&two, &what));
    cr_assert(rs_known_first_look(&one, &what) && what.ordinal == 3);
    cr_assert(!rs_known_first_look(&one, &what));
    add(1, RS_TREAT_CANONICAL, 3);
    cr_assert(rs_known_first_look(&one, &what), "hashed again, looked up again");
}

static void *look_elsewhere(void *argument)
{
    struct rs_known what;
    struct rs_key one = key_number(1);
    *(bool *)argument = rs_known_first_look(&one, &what);
    return NULL;
}

Test(known, the_last_hash_belongs_to_its_thread)
{
    pthread_t thread;
    bool looked = true;
    add(1, RS_TREAT_CANONICAL, 3);
    pthread_create(&thread, NULL, look_elsewhere, &looked);
    pthread_join(thread, NULL);
    cr_assert(!looked);
}

Test(known, the_first_ordinal_is_primary_and_a_child_starts_anew)
{
    cr_assert(rs_primary() == -1);
    cr_assert(rs_primary_offer(3) == 3);
    cr_assert(rs_primary_offer(0) == 3);
    add(1, RS_TREAT_CANONICAL, 3);
    rs_known_forked();
    cr_assert(rs_primary() == 3, "a hint");
    cr_assert(find(1).treatment == RS_TREAT_UNKNOWN, "the parent's keys say nothing of the child");
    cr_assert(rs_primary_offer(5) == 5);
    cr_assert(rs_primary_offer(3) == 5);
}

Test(known, a_hint_ends_with_its_list_of_devices)
{
    static const struct {
        const char *devices;
        int own, child;
    } rows[] = {
        {"4,5", 3, 3}, {"7", 3, 0}, {"GPU-1f", 3, 0}, {"4,5,6", 3, RS_ORDINAL_UNSURE},
        {NULL, 3, -2}, {"", 3, -2}, {"4,5", 3, 3},    {"-1", 3, 0},
    };
    rs_env_changed("CUDA_VISIBLE_DEVICES", "4,5");
    rs_primary_offer(3);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rs_env_changed("CUDA_VISIBLE_DEVICES", rows[i].devices);
        cr_assert_eq(rs_primary(), rows[i].own, "who hashed keeps its ordinal: row %zu", i);
    }
    rs_known_forked();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        rs_env_changed("CUDA_VISIBLE_DEVICES", rows[i].devices);
        cr_assert_eq(rs_primary(), rows[i].child, "row %zu", i);
    }
    cr_assert_eq(rs_primary_offer(1), 1);
    cr_assert_eq(rs_primary(), 1, "its own details count, whatever the list");
}
