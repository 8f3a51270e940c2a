/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of modules: by content, by many processes, full, and as others may have left it.
 */
#include "store/modules.h"
#include "test_store_fixture.h"

#include <time.h>

static const struct rs_module_facts facts = {
    .kind = RS_KIND_cubin, .size = 4711, .sm = 90, .suffix = 'a', .kernels = 2, .kernel = "add"};

static struct rs_hash128 name(uint64_t low, uint64_t high)
{
    return (struct rs_hash128){low, high};
}

static unsigned listed(const struct rs_store *store, struct rs_module_view *last)
{
    unsigned count = 0;
    struct rs_module_view view;
    for (unsigned i = 0; i < RS_MODULES; i++) {
        if (rs_module_read(store, i, &view)) {
            *last = view;
            count++;
        }
    }
    return count;
}

Test(modules, counts_by_content)
{
    struct fixture f;
    struct rs_module_view view;
    struct rs_hash128 one = name(1, 7), other = name(1, 8);
    fixture_open(&f, "content");
    struct rs_slot *slot = fixture_slot(&f, "job", 3);
    cr_assert_null(rs_module_find(&f.store, &one));
    struct rs_module *module = rs_module_add(&f.store, &one, &facts);
    cr_assert_not_null(module);
    cr_expect_eq(rs_module_add(&f.store, &one, &facts), module);
    cr_expect_eq(rs_module_find(&f.store, &one), module);
    cr_expect_null(rs_module_find(&f.store, &other));
    rs_module_count(module, slot, true, 100, 0);
    rs_module_count(module, slot, true, 20, 0);
    rs_module_count(module, slot, false, 3, 80);
    cr_assert_eq(listed(&f.store, &view), 1);
    cr_expect_eq(view.name.low, 1);
    cr_expect_eq(view.name.high, 7);
    cr_expect_eq(view.loads, 2);
    cr_expect_eq(view.failed, 1);
    cr_expect_eq(view.ns, 123);
    cr_expect_eq(view.ranks[0], 8);
    cr_expect_eq(view.refused_by, 80);
    cr_expect_eq(view.facts.kind, RS_KIND_cubin);
    cr_expect_eq(view.facts.size, 4711);
    cr_expect_eq(view.facts.sm, 90);
    cr_expect_eq(view.facts.suffix, 'a');
    cr_expect_not(view.facts.mapped);
    cr_expect_eq(view.facts.kernels, 2);
    cr_expect_str_eq(view.kernel, "add");
    fixture_close(&f);
}

Test(modules, ranks_are_bits)
{
    static const int ranks[] = {0, 63, 64, 127, 128, 130};
    struct fixture f;
    struct rs_module_view view;
    struct rs_hash128 one = name(9, 9);
    fixture_open(&f, "ranks");
    struct rs_module *module = rs_module_add(&f.store, &one, &facts);
    struct rs_slot *slot = fixture_slot(&f, "job", 0);
    for (unsigned i = 0; i < 6; i++) {
        struct rs_identity identity = {.job = "job", .rank = ranks[i], .world = 256};
        rs_slot_identify(&f.store, slot, &identity);
        rs_module_count(module, slot, true, 1, 0);
        rs_module_count(module, NULL, true, 1, 0);
    }
    cr_assert_eq(listed(&f.store, &view), 1);
    cr_expect_eq(view.loads, 12);
    cr_expect_eq(view.ranks[0], UINT64_C(1) | UINT64_C(1) << 63 | UINT64_C(1) << 2);
    cr_expect_eq(view.ranks[1], UINT64_C(1) | UINT64_C(1) << 63);
    fixture_close(&f);
}

/* Who loads a module after another process has, and who of these is to keep it. */
Test(modules, kept_once_two_processes_have_it)
{
    struct fixture f;
    struct rs_hash128 one = name(4, 4);
    fixture_open(&f, "kept");
    struct rs_slot *slot = fixture_slot(&f, "job", 0);
    struct rs_slot other = {.pid = slot->pid + 1, .start = slot->start, .space = slot->space};
    struct rs_slot later = {.pid = slot->pid, .start = slot->start + 1, .space = slot->space};
    struct rs_module *module = rs_module_add(&f.store, &one, &facts);
    cr_assert_not(rs_module_shared(module, slot), "nobody has loaded it");
    rs_module_count(module, slot, false, 1, 0);
    cr_assert_not(rs_module_shared(module, &other), "the driver has not taken it");
    rs_module_count(module, slot, true, 1, 0);
    rs_module_count(module, slot, true, 1, 0);
    cr_assert_not(rs_module_shared(module, slot));
    cr_assert(rs_module_shared(module, &other));
    cr_assert(rs_module_shared(module, &later), "a pid that was given away again");
    rs_module_count(module, &other, true, 1, 0);
    cr_assert_not(rs_module_shared(module, slot), "the first one is enough");
    cr_assert(rs_module_keep(module));
    cr_assert_not(rs_module_keep(module));
    rs_module_not_kept(module);
    cr_assert(rs_module_keep(module));
    /* The next tenant of the entry begins anew. */
    module->used_s -= 100;
    module->low = 4 + RS_MODULES;
    for (uint64_t i = 0; i < 31; i++) {
        struct rs_hash128 more = name(5, i);
        cr_assert_not_null(rs_module_add(&f.store, &more, &facts));
    }
    struct rs_hash128 next = name(4, 1000);
    cr_assert_eq(rs_module_add(&f.store, &next, &facts), module);
    cr_expect(rs_module_keep(module));
    cr_expect_not(rs_module_shared(module, &other));
    fixture_close(&f);
}

/* What begins in one window of 32 places fits there and no further, as long as all of it is new. */
Test(modules, full_window)
{
    struct fixture f;
    struct rs_module_view view;
    unsigned added = 0;
    fixture_open(&f, "full");
    for (uint64_t i = 0; i < 40; i++) {
        struct rs_hash128 one = name(RS_MODULES - 3, i); /* goes round the end */
        added += rs_module_add(&f.store, &one, &facts) != NULL;
    }
    cr_expect_eq(added, 32);
    cr_expect_eq(listed(&f.store, &view), 32);
    struct rs_hash128 late = name(RS_MODULES - 3, 1000), third = name(RS_MODULES - 3, 3);
    cr_assert_null(rs_module_add(&f.store, &late, &facts));
    /* The one that was not used for longest goes, with its counts. */
    struct rs_module *oldest = rs_module_find(&f.store, &third);
    cr_assert_not_null(oldest);
    rs_module_count(oldest, NULL, true, 5, 0);
    oldest->used_s -= 100;
    struct rs_module *taken = rs_module_add(&f.store, &late, &facts);
    cr_expect_eq(taken, oldest);
    cr_expect_eq(taken->loads, 0);
    cr_expect_null(rs_module_find(&f.store, &third));
    fixture_close(&f);
}

/* A process that died while it filled an entry. */
Test(modules, left_half_filled)
{
    struct fixture f;
    struct rs_module_view view;
    fixture_open(&f, "half");
    struct rs_module *first = &rs_modules(f.store.segment)[5];
    uint64_t now = (uint64_t)time(NULL);
    for (unsigned i = 0; i < 32; i++)
        first[i].word = now << 32 | 7 << 8 | 1;
    struct rs_hash128 one = name(5, 1);
    cr_expect_null(rs_module_find(&f.store, &one));
    cr_expect_null(rs_module_add(&f.store, &one, &facts));
    cr_expect_eq(listed(&f.store, &view), 0);
    first[9].word = (now - 11) << 32 | 7 << 8 | 1;
    cr_expect_eq(rs_module_add(&f.store, &one, &facts), &first[9]);
    cr_expect_eq(listed(&f.store, &view), 1);
    fixture_close(&f);
}

Test(modules, long_name_is_cut)
{
    struct fixture f;
    struct rs_module_view view;
    char text[300];
    memset(text, 'k', sizeof text);
    text[sizeof text - 1] = '\0';
    struct rs_module_facts named = facts;
    named.kernel = text;
    struct rs_hash128 one = name(77, 1);
    fixture_open(&f, "long");
    cr_assert_not_null(rs_module_add(&f.store, &one, &named));
    cr_assert_eq(listed(&f.store, &view), 1);
    cr_expect_eq(strlen(view.kernel), RS_KERNEL_MAX - 1);
    cr_expect_eq(rs_store_check(&f.store), RS_STORE_OK);
    fixture_close(&f);
}

/* What no process of ours writes is found out before it is printed. */
Test(modules, damaged_table)
{
    struct fixture f;
    struct rs_hash128 one = name(4, 4);
    fixture_open(&f, "damaged");
    struct rs_module *module = rs_module_add(&f.store, &one, &facts);
    cr_expect_eq(rs_store_check(&f.store), RS_STORE_OK);
    module->kind = RS_KIND_COUNT;
    cr_expect_eq(rs_store_check(&f.store), RS_STORE_CONTENT);
    module->kind = RS_KIND_ptx;
    module->kernel[RS_KERNEL_MAX / 8 - 1] = UINT64_MAX;
    cr_expect_eq(rs_store_check(&f.store), RS_STORE_CONTENT);
    module->kernel[RS_KERNEL_MAX / 8 - 1] = 0;
    module->word |= 0xf0;
    cr_expect_eq(rs_store_check(&f.store), RS_STORE_CONTENT);
    struct rs_module_view view;
    cr_expect_eq(listed(&f.store, &view), 0);
    fixture_close(&f);
}

/* Many processes that load the same modules at once: every load is counted, and each module has an
 * entry or, where two made one at the same time, two. */
Test(modules, processes_at_once)
{
    enum { PROCESSES = 8, MODULES = 40, ROUNDS = 50 };
    struct fixture f;
    struct rs_module_view view;
    uint64_t loads = 0;
    unsigned seen = 0;
    fixture_open(&f, "processes");
    for (int p = 0; p < PROCESSES; p++) {
        if (fork() == 0) {
            rs_store_forked();
            struct rs_slot *slot = fixture_slot(&f, "job", p);
            for (int round = 0; round < ROUNDS; round++)
                for (uint64_t i = 0; i < MODULES; i++) {
                    struct rs_hash128 one = name(i * 1000003, i);
                    struct rs_module *module = rs_module_add(&f.store, &one, &facts);
                    if (!module)
                        _exit(1);
                    rs_module_count(module, slot, true, 1, 0);
                }
            _exit(0);
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = 1;
        wait(&status);
        cr_expect_eq(status, 0);
    }
    for (unsigned i = 0; i < RS_MODULES; i++) {
        if (rs_module_read(&f.store, i, &view)) {
            loads += view.loads;
            seen++;
        }
    }
    cr_expect_eq(loads, PROCESSES * MODULES * ROUNDS);
    cr_expect(seen >= MODULES && seen < 2 * MODULES, "%u entries", seen);
    fixture_close(&f);
}

Test(modules, named_later)
{
    struct fixture f;
    struct rs_module_view view;
    struct rs_module_facts unnamed = facts;
    unnamed.kernel = "";
    struct rs_hash128 one = name(3, 1), other = name(4000, 1);
    fixture_open(&f, "named");
    struct rs_module *module = rs_module_add(&f.store, &one, &unnamed);
    uint32_t ticket = rs_module_ticket(&f.store, module);
    cr_expect_lt(ticket, 1u << RS_TICKET_BITS);
    rs_module_name(&f.store, ticket, "first");
    rs_module_name(&f.store, ticket, "second");
    cr_assert_eq(listed(&f.store, &view), 1);
    cr_expect_str_eq(view.kernel, "first");
    cr_expect_not(view.facts.mapped);
    /* One that has a name keeps it. */
    struct rs_module *named = rs_module_add(&f.store, &other, &facts);
    rs_module_name(&f.store, rs_module_ticket(&f.store, named), "later");
    cr_expect_eq(listed(&f.store, &view), 2);
    cr_expect_str_eq(view.kernel, "add");
    /* Another tenant of the entry is not meant. */
    rs_module_count(module, NULL, true, 1, 0);
    module->word += 1 << 8;
    module->flags = 0;
    rs_module_name(&f.store, ticket, "stranger");
    cr_assert(rs_module_read(&f.store, 3, &view));
    cr_expect_str_eq(view.kernel, "first");
    fixture_close(&f);
}
