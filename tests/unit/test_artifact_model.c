/* SPDX-License-Identifier: Apache-2.0
 *
 * Random puts, reads, forgettings and evictions against a table of what must be there; the index
 * must agree with itself after each round.
 */
#include "base/config.h"
#include "store/inspect.h"
#include "test_artifact_fixture.h"

enum { KEYS = 40, ROOTS = 3, STEPS = 1500 };

/* What was put last; PUT false: nothing. */
struct known {
    bool put, cut;
    unsigned seed, count;
    size_t size;
};

static struct fixture f;
static struct rs_slot *slot;
static struct known known[KEYS][ROOTS];

static void setup(void)
{
    fixture_open(&f, "model");
    slot = fixture_slot(&f, "job", 0);
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(artifact_model, .init = setup, .fini = teardown, .timeout = 120);

static void check_index(unsigned seed)
{
    unsigned faults[RS_FAULTS];
    cr_assert(rs_index_check(&f.store, faults));
    for (int i = 0; i < RS_FAULTS; i++) {
        cr_assert_eq(faults[i], 0, "seed %u: %u times: %s", seed, faults[i],
                     rs_index_fault_text((enum rs_index_fault)i));
    }
}

/* Few seeds and sizes, so that bytes repeat under other keys. */
static struct known random_group(void)
{
    static const size_t sizes[] = {0, 100, 700, 3000, 20000, 150000};
    size_t size = sizes[random() % 6];
    return (struct known){
        .put = true,
        .cut = random() % 2,
        .seed = size ? (unsigned)random() % 4 : 0, /* no bytes are the same whatever the seed */
        .count = 1 + (unsigned)random() % FIXTURE_PARTS,
        .size = size,
    };
}

static bool same(const struct known *a, const struct known *b)
{
    return a->put && a->cut == b->cut && a->seed == b->seed && a->count == b->count &&
           a->size == b->size;
}

static void put_one(unsigned seed, bool full)
{
    unsigned key = (unsigned)random() % KEYS, root = (unsigned)random() % ROOTS;
    struct known next = random_group();
    fixture_cuts = next.cut && next.size >= FIXTURE_RUNS * 2;
    next.cut = fixture_cuts;
    enum rs_put_result result =
        put_group(&f, slot, key, root + 1, 0, next.seed, next.size, next.count);
    bool there = result == RS_PUT_THERE, stored = result == RS_PUT_STORED;
    cr_assert(there || stored || (full && result == RS_PUT_NO_ROOM), "seed %u: %d", seed, result);
    cr_assert(!there || same(&known[key][root], &next), "seed %u", seed);
    cr_assert(full || !stored || !same(&known[key][root], &next), "seed %u", seed);
    if (there || stored) {
        known[key][root] = next;
    }
}

/* Without FULL what was put must be there. */
static void read_one(unsigned seed, bool full)
{
    unsigned key = (unsigned)random() % KEYS, root = (unsigned)random() % ROOTS;
    const struct known *want = &known[key][root];
    bool there = find_group(&f, slot, key, root + 1, 0) != 0;
    cr_assert(!there || want->put, "seed %u: what was never put is found", seed);
    cr_assert(full || there == want->put, "seed %u: lost", seed);
    bool whole = there && read_group(&f, slot, key, root + 1, want->seed, want->size, want->count);
    if (there && !whole) {
        /* Its runs have been evicted. */
        cr_assert(full && want->cut, "seed %u: other bytes", seed);
        cr_assert_eq(find_group(&f, slot, key, root + 1, 0), 0);
    }
    known[key][root].put = whole;
}

static void forget_one(unsigned seed, bool full)
{
    unsigned number = (unsigned)random() % KEYS, root = (unsigned)random() % ROOTS;
    struct rs_artifact_key key = artifact_key(number);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, root + 1);
    unsigned gone = rs_artifact_forget(&f.store, slot, &key, &origin);
    cr_assert_leq(gone, known[number][root].put, "seed %u", seed);
    cr_assert(full || gone == known[number][root].put, "seed %u", seed);
    known[number][root].put = false;
}

static void play(unsigned seed, uint64_t size)
{
    bool full = size != RS_SIZE_UNSET;
    memset(known, 0, sizeof(known));
    cr_assert_geq(rs_artifact_evict_to(&f.store, 0), 0);
    srandom(seed);
    for (int step = 0; step < STEPS; step++) {
        switch (random() % 8) {
        case 0:
            forget_one(seed, full);
            break;
        case 1:
        case 2:
        case 3:
            put_one(seed, full);
            break;
        default:
            read_one(seed, full);
        }
        if (step % 250 == 0) {
            check_index(seed);
        }
    }
    check_index(seed);
}

Test(artifact_model, with_room)
{
    for (unsigned seed = 1; seed <= 6; seed++) {
        play(seed, RS_SIZE_UNSET);
    }
    cr_assert_gt(rs_artifact_evict_to(&f.store, 0), 0);
    cr_assert_eq(atomic_load(&f.store.segment->arena_used), 0);
    cr_assert_eq(atomic_load(&f.store.segment->groups_used), 0);
    check_index(0);
}

/* Less room than all groups need: some go, none is ever wrong. */
Test(artifact_model, without_room)
{
    f.store.artifact_bytes = 2 << 20;
    for (unsigned seed = 1; seed <= 6; seed++) {
        play(seed, f.store.artifact_bytes);
    }
    cr_assert_leq(atomic_load(&f.store.segment->arena_used), 2 << 20);
    cr_assert_gt(atomic_load(&slot->counters[RS_C_artifact_evicted]), 0);
}

/* A writer that died at any place: everything is made anew from the entries, and is as before. */
Test(artifact_model, mended)
{
    struct rs_index index;
    play(1, RS_SIZE_UNSET);
    cr_assert(rs_index_open(&f.store, &index));
    uint64_t used = atomic_load(&f.store.segment->arena_used);
    memset(index.at + RS_IN_GROUP_HEADS, 0x5a, RS_HEADS * sizeof(uint32_t));
    memset(index.at + RS_IN_OBJECT_HEADS, 0, RS_HEADS * sizeof(uint32_t));
    memset(index.at + RS_IN_BITMAP, 0xff, 65536);
    atomic_store(&f.store.segment->groups_free, 77);
    atomic_store(&f.store.segment->objects_free, 0);
    atomic_store(&f.store.segment->arena_used, 12345);
    rs_index_mend(&index);
    check_index(1);
    cr_assert_eq(atomic_load(&f.store.segment->arena_used), used);
    for (unsigned key = 0; key < KEYS; key++) {
        for (unsigned root = 0; root < ROOTS; root++) {
            const struct known *want = &known[key][root];
            cr_assert_eq(want->put && read_group(&f, slot, key, root + 1, want->seed, want->size,
                                                 want->count),
                         want->put);
        }
    }
}

/* ---- order of eviction ------------------------------------------------------------------------
 */

/* The READY group of NUMBER, without using it; RS_NO_ENTRY: none. */
static uint32_t entry_of(unsigned number)
{
    struct rs_index index;
    struct rs_artifact_key key = artifact_key(number);
    cr_assert(rs_index_open(&f.store, &index));
    for (uint32_t i = 0; i < rs_groups_top(&index); i++) {
        const struct rs_group *group = rs_group_at(&index, i);
        if (rs_word_state(atomic_load(&group->word)) == RS_ENTRY_READY &&
            rs_group_has_key(group, &key)) {
            return i;
        }
    }
    return RS_NO_ENTRY;
}

static void set_stamp(unsigned number, uint64_t stamp)
{
    struct rs_index index;
    cr_assert(rs_index_open(&f.store, &index));
    atomic_store(&rs_stamps(&index)[entry_of(number)], stamp);
}

enum { GROUPS = 300 };

static void shuffle(unsigned order[GROUPS])
{
    for (unsigned i = 0; i < GROUPS; i++) {
        order[i] = i;
    }
    for (unsigned i = GROUPS - 1; i > 0; i--) {
        unsigned j = (unsigned)random() % (i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
}

Test(artifact_model, the_longest_unused_goes_first)
{
    unsigned order[GROUPS], gone = 0;
    srandom(4);
    shuffle(order);
    for (unsigned i = 0; i < GROUPS; i++) {
        cr_assert_eq(put_group(&f, slot, i, 1, 0, i + 1, 1000, 1), RS_PUT_STORED);
    }
    for (unsigned i = 0; i < GROUPS; i++) {
        set_stamp(order[i], 1000 + i);
    }
    while (gone < GROUPS) {
        uint64_t used = atomic_load(&f.store.segment->arena_used);
        int more = rs_artifact_evict_to(&f.store, used - (used > 100000 ? 100000 : used));
        cr_assert_gt(more, 0);
        gone += (unsigned)more;
        for (unsigned i = 0; i < GROUPS; i++) {
            cr_assert_eq(entry_of(order[i]) == RS_NO_ENTRY, i < gone, "number %u of %u", i, gone);
        }
    }
}

/* As if its promise had been made AGE milliseconds ago. */
static void age_promise(unsigned number, uint64_t age)
{
    struct rs_index index;
    cr_assert(rs_index_open(&f.store, &index));
    struct rs_group *group = rs_group_at(&index, entry_of(number));
    cr_assert_not_null(group);
    atomic_store(&group->keep_ms, atomic_load(&group->keep_ms) - age);
}

Test(artifact_model, promises_do_not_fill_the_store)
{
    for (unsigned i = 1; i <= 3; i++) {
        unsigned flags = i < 3 ? RS_PUT_PROMISED : 0;
        cr_assert_eq(put_group(&f, slot, i, 1, flags, i, 1000, 1), RS_PUT_STORED);
    }
    age_promise(1, 61 * 1000);
    age_promise(2, 58 * 1000);
    uint64_t used = atomic_load(&f.store.segment->arena_used);
    cr_assert_eq(rs_artifact_evict_to(&f.store, used - 1), 1);
    cr_assert_eq(find_group(&f, slot, 3, 1, 0), 0, "what nobody was promised goes first");
    cr_assert_eq(find_group(&f, slot, 1, 1, 0), RS_MATCH_ROOT);
    cr_assert_eq(rs_artifact_evict_to(&f.store, 0), 1);
    cr_assert_eq(find_group(&f, slot, 1, 1, 0), 0, "a promise of more than a minute ago");
    cr_assert_eq(find_group(&f, slot, 2, 1, 0), RS_MATCH_ROOT, "one of less");
}

Test(artifact_model, what_is_read_or_promised_stays)
{
    struct rs_artifact artifact;
    struct rs_artifact_key key = artifact_key(1);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 1, 1000, 1), RS_PUT_STORED);
    cr_assert_eq(put_group(&f, slot, 2, 1, RS_PUT_PROMISED, 2, 1000, 1), RS_PUT_STORED);
    cr_assert_eq(put_group(&f, slot, 3, 1, 0, 3, 1000, 1), RS_PUT_STORED);
    cr_assert(rs_artifact_find(&f.store, slot, &key, &origin, 0, &artifact));
    cr_assert_eq(rs_artifact_evict_to(&f.store, 0), 1);
    cr_assert_eq(find_group(&f, slot, 3, 1, 0), 0);
    cr_assert_eq(find_group(&f, slot, 2, 1, 0), RS_MATCH_ROOT);
    rs_artifact_release(&artifact);
    cr_assert_eq(rs_artifact_evict_to(&f.store, 0), 1);
    cr_assert_eq(find_group(&f, slot, 1, 1, 0), 0);
    cr_assert_eq(find_group(&f, slot, 2, 1, 0), RS_MATCH_ROOT);
}
