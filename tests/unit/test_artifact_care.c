/* SPDX-License-Identifier: Apache-2.0
 *
 * What one process lacks, or one large artifact needs, does not cost the others theirs; and numbers
 * of the segment that nobody of ours has written.
 */
#include "store/inspect.h"
#include "store/layout.h"
#include "store/payload.h"
#include "store/process.h"
#include "test_artifact_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

static struct fixture f;
static struct rs_slot *slot;
static char dir[64];

static void setup(void)
{
    snprintf(dir, sizeof(dir), "/tmp/rankshare-care-%d", (int)getpid());
    fixture_open(&f, "care");
    f.store.dir = dir;
    slot = fixture_slot(&f, "job", 0);
}

static void teardown(void)
{
    fixture_cuts = false;
    rs_payload_remove(f.name, dir);
    rmdir(dir);
    fixture_close(&f);
}

TestSuite(artifact_care, .init = setup, .fini = teardown, .timeout = 60);

static uint64_t counted(enum rs_counter counter)
{
    return atomic_load(&slot->counters[counter]);
}

static bool is_young(unsigned number)
{
    return number * 2654435761U >> 16 & 1 && number % 3 == 0;
}

/* A store of MIB, full of groups of which a sixth, all over the arena, was used just now. Their
 * number. */
static unsigned fill(unsigned size, unsigned mib)
{
    struct rs_index index;
    unsigned count = 0;
    f.store.artifact_bytes = (uint64_t)mib << 20;
    for (; counted(RS_C_artifact_evicted) == 0; count++) {
        cr_assert_eq(put_group(&f, slot, count, 1, 0, count + 1, size, 1), RS_PUT_STORED);
    }
    cr_assert(rs_index_open(&f.store, &index));
    for (uint32_t i = 0; i < rs_groups_top(&index); i++) {
        struct rs_artifact_key key = rs_group_key(rs_group_at(&index, i));
        unsigned number;
        memcpy(&number, key.key.bytes + 8, sizeof(number));
        atomic_store(&rs_stamps(&index)[i], is_young(number) ? rs_now_ms() : 1000 + number);
    }
    return count;
}

Test(artifact_care, room_for_a_large_one_is_made_in_one_place)
{
    unsigned faults[RS_FAULTS], young = 0, left = 0, there = 0;
    unsigned count = fill(20000, 32);
    for (unsigned i = 1; i < count; i++) {
        young += is_young(i);
    }
    uint64_t before = counted(RS_C_artifact_evicted);
    cr_assert_eq(put_group(&f, slot, 1000000, 1, 0, 7, 2 << 20, 1), RS_PUT_STORED);
    cr_assert(read_group(&f, slot, 1000000, 1, 7, 2 << 20, 1));
    uint64_t gone = counted(RS_C_artifact_evicted) - before;
    cr_assert(gone >= 2 * 50 && gone < 3 * 110, "%u of %u groups went", (unsigned)gone, count);
    for (unsigned i = 0; i < count; i++) {
        bool found = find_group(&f, slot, i, 1, 0) != 0;
        left += found && is_young(i);
        there += found;
    }
    cr_assert(left > young * 8 / 10, "%u of %u young ones are left", left, young);
    cr_assert(there > count * 8 / 10, "%u of %u are left", there, count);
    rs_index_check(&f.store, faults);
    for (int i = 0; i < RS_FAULTS; i++) {
        cr_assert_eq(faults[i], 0, "%s", rs_index_fault_text(i));
    }
}

Test(artifact_care, what_is_read_does_not_go_for_a_large_one)
{
    enum { READERS = 30 }; /* a thread has 32 pins at most */
    struct rs_artifact artifacts[READERS];
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    unsigned count = fill(20000, 16);
    for (unsigned i = 0; i < READERS; i++) { /* several in each stretch */
        struct rs_artifact_key key = artifact_key(count - 1 - i * (count / READERS));
        cr_assert(rs_artifact_find(&f.store, slot, &key, &origin, 0, &artifacts[i]));
    }
    cr_assert_eq(put_group(&f, slot, 1000000, 1, 0, 7, 2 << 20, 1), RS_PUT_NO_ROOM);
    cr_assert(counted(RS_C_artifact_evicted) < 200, "%u went for nothing",
              (unsigned)counted(RS_C_artifact_evicted));
    unsigned char *bytes = malloc(20000);
    for (unsigned i = 0; i < READERS; i++) {
        cr_assert(rs_artifact_read(&artifacts[i], 0, bytes), "number %u", i);
        rs_artifact_release(&artifacts[i]);
    }
    free(bytes);
    cr_assert_eq(put_group(&f, slot, 1000000, 1, 0, 7, 2 << 20, 1), RS_PUT_STORED);
}

static rlim_t limit(int resource, rlim_t most)
{
    struct rlimit now;
    getrlimit(resource, &now);
    rlim_t before = now.rlim_cur;
    now.rlim_cur = most;
    cr_assert_eq(setrlimit(resource, &now), 0);
    return before;
}

/* The number that the next but LEFT - 1 descriptors would get. */
static rlim_t descriptors(int left)
{
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return (rlim_t)(fd + left);
}

Test(artifact_care, a_reader_short_of_descriptors_drops_nothing)
{
    fixture_cuts = true;
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1 << 20, 2), RS_PUT_STORED);
    for (int left = 0; left < 3; left++) {
        rlim_t before = limit(RLIMIT_NOFILE, descriptors(left));
        bool read = read_group(&f, slot, 1, 1, 5, 1 << 20, 2);
        limit(RLIMIT_NOFILE, before);
        cr_assert_eq(read, left == 2, "with %d descriptors", left);
        cr_assert(read_group(&f, slot, 1, 1, 5, 1 << 20, 2), "after %d descriptors", left);
    }
    cr_assert_eq(counted(RS_C_artifact_damaged), 0);
}

Test(artifact_care, who_cannot_map_the_index_does_not_make_it_anew)
{
    struct rs_process self = rs_process_self();
    atomic_store(&f.store.segment->store_lock, rs_process_tag(&self));
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        rs_store_forked();
        struct rs_slot *mine = fixture_slot(&f, "job", 1);
        none.rlim_cur = none.rlim_max = 16 << 20;
        setrlimit(RLIMIT_AS, &none); /* less than it has */
        _exit(put_group(&f, mine, 2, 1, 0, 6, 1000, 1) == RS_PUT_STORED);
    }
    usleep(200000);
    atomic_store(&f.store.segment->store_lock, 0);
    enum rs_put_result put = put_group(&f, slot, 1, 1, 0, 5, 1000, 1);
    waitpid(child, NULL, 0);
    cr_assert_eq(put, RS_PUT_STORED);
    cr_assert(read_group(&f, slot, 1, 1, 5, 1000, 1));
}

Test(artifact_care, numbers_that_nobody_wrote)
{
    struct rs_artifact artifact;
    struct rs_artifact_key key = artifact_key(1);
    struct rs_origin origin = rs_origin_of(&f.store, slot, 7, 1);
    unsigned char byte[1000];
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1000, 1), RS_PUT_STORED);
    cr_assert(rs_artifact_find(&f.store, slot, &key, &origin, 0, &artifact));
    uint32_t room = atomic_exchange(&f.store.segment->groups_room, 0);
    (void)rs_artifact_read(&artifact, 0, byte);
    rs_artifact_release(&artifact);
    cr_assert_eq(find_group(&f, slot, 1, 1, 0), 0);
    atomic_store(&f.store.segment->groups_room, room);
    cr_assert(read_group(&f, slot, 1, 1, 5, 1000, 1));
    atomic_store(&f.store.segment->slots_used, UINT32_MAX);
    cr_assert_not_null(fixture_slot(&f, "job", 1));
}

Test(artifact_care, tops_that_are_too_low_lose_nothing)
{
    for (unsigned i = 0; i < 20; i++) {
        cr_assert_eq(put_group(&f, slot, i, 1, 0, i + 1, 5000, 2), RS_PUT_STORED);
    }
    atomic_store(&f.store.segment->groups_top, 0);
    atomic_store(&f.store.segment->objects_top, 3);
    for (unsigned i = 20; i < 30; i++) {
        cr_assert_eq(put_group(&f, slot, i, 1, 0, i + 1, 5000, 2), RS_PUT_STORED);
    }
    for (unsigned i = 0; i < 30; i++) {
        cr_assert(read_group(&f, slot, i, 1, i + 1, 5000, 2), "number %u", i);
    }
}

/* Where the arena is a file: removed, and made anew by a store of the same name, it has most often
 * the same inode. */
Test(artifact_care, another_stores_file_is_left_alone)
{
    struct stat before, after;
    char path[RS_SEGMENT_NAME_MAX + 80];
    snprintf(path, sizeof(path), "%s%s.arena", dir, f.name);
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1000, 1), RS_PUT_STORED);
    /* As if /dev/shm had been too small. */
    cr_assert_eq(mkdir(dir, 0700), 0);
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    cr_assert_eq(fstat(fd, &before), 0);
    if (rs_file_born(fd) == 0) {
        cr_skip_test("this file system does not say when a file was made");
    }
    atomic_store(&f.store.segment->file_dev, before.st_dev);
    atomic_store(&f.store.segment->file_ino, before.st_ino);
    atomic_store(&f.store.segment->file_born, rs_file_born(fd));
    atomic_store(&f.store.segment->store_place, RS_PLACE_FILE);
    close(fd);
    uint64_t base;
    fd = rs_payload_open(&f.store, true, &base);
    cr_assert(fd >= 0);
    close(fd);
    unlink(path);
    fd = open(path, O_CREAT | O_RDWR, 0600);
    cr_assert_eq(fstat(fd, &after), 0);
    atomic_store(&f.store.segment->file_ino,
                 after.st_ino); /* whether the number came again or not */
    close(fd);
    cr_assert_eq(rs_payload_open(&f.store, true, &base), -1);
}

static _Atomic bool over;

/* What an evictor does that meets a reader. */
static void *hesitate(void *group)
{
    _Atomic uint64_t *word = &((struct rs_group *)group)->word;
    uint64_t ready = atomic_load(word);
    while (!atomic_load(&over)) {
        atomic_store(word, rs_word(RS_ENTRY_LEAVING, rs_word_generation(ready)));
        atomic_store(word, ready);
    }
    return NULL;
}

Test(artifact_care, what_an_evictor_lets_be_is_not_damaged)
{
    struct rs_index index;
    pthread_t thread;
    char part[RS_PART_NAME_MAX];
    cr_assert_eq(put_group(&f, slot, 1, 1, 0, 5, 1000, 1), RS_PUT_STORED);
    cr_assert(rs_index_open(&f.store, &index));
    pthread_create(&thread, NULL, hesitate, rs_group_at(&index, 0));
    for (int i = 0; i < 60000; i++) {
        enum rs_artifact_state state = rs_artifact_check(&f.store, 0, part);
        cr_assert(state == RS_ARTIFACT_WHOLE || state == RS_ARTIFACT_GONE, "%d", (int)state);
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}
