/* SPDX-License-Identifier: Apache-2.0
 *
 * Many processes read while others put, evict, or cut the segment short. A child ends with 0 when
 * all that it was given was right.
 */
#include "test_artifact_fixture.h"

#include "store/inspect.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

enum { READERS = 64, ROUNDS = 50, TURNS = 20, HOT = 1, SIZE = 100000, PARTS = 2, LARGE = 2 << 20 };

static struct fixture f;
static struct rs_slot *slot;
static _Atomic bool *enough; /* has been put and evicted: readers may end */

static void setup(void)
{
    enough = mmap(NULL, sizeof(*enough), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq((void *)enough, MAP_FAILED);
    fixture_open(&f, "crowd");
    f.store.artifact_bytes = 16 << 20;
    slot = fixture_slot(&f, "job", 0);
}

static void teardown(void)
{
    fixture_close(&f);
}

TestSuite(artifact_crowd, .init = setup, .fini = teardown, .timeout = 120);

/* Finds group NUMBER and reads its parts. -1: there is none, or it went; 0: wrong bytes; 1: right,
 * as SEED or OTHER made them. */
static int look(struct rs_slot *own, unsigned number, size_t size, unsigned seed, unsigned other)
{
    static unsigned char got[LARGE], want[LARGE];
    struct rs_artifact artifact;
    struct rs_artifact_key key = artifact_key(number);
    struct rs_origin origin = rs_origin_of(&f.store, own, 7, 1);
    if (!rs_artifact_find(&f.store, own, &key, &origin, 0, &artifact)) {
        return -1;
    }
    int right = 1;
    unsigned which = 0; /* the parts of one group are of one seed */
    for (unsigned i = 0; right == 1 && i < artifact.count; i++) {
        if (artifact.parts[i].size != size) {
            right = 0;
        } else if (!rs_artifact_read(&artifact, i, got)) {
            right = -1;
        } else {
            for (unsigned turn = 0; turn < 2; turn++) {
                unsigned made = turn ? other : seed;
                fill_bytes(want, size, made, i);
                if (memcmp(got, want, size) == 0 && (which == 0 || which == made)) {
                    which = made;
                    turn = 2;
                } else if (turn == 1) {
                    right = 0;
                }
            }
        }
    }
    rs_artifact_release(&artifact);
    return right;
}

static pid_t child(int rank, int (*body)(struct rs_slot *own))
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        rs_store_forked();
        struct rs_identity identity = {.job = "job", .rank = rank};
        struct rs_slot *own = rs_slot_claim(&f.store, &identity);
        _exit(own ? body(own) : 99);
    }
    return pid;
}

static int read_hot(struct rs_slot *own)
{
    int right = 0;
    for (int i = 0; i < ROUNDS || !atomic_load(enough); i++) {
        int found = look(own, HOT, SIZE, 5, 6);
        if (found == 0) {
            return 1;
        }
        right += found == 1;
    }
    return right > 0 ? 0 : 2;
}

/* One hot key that is exchanged for other bytes again and again, in a store that is too small for
 * all that is put beside it. */
Test(artifact_crowd, sixty_four_readers)
{
    pid_t readers[READERS];
    int status, left = READERS;
    f.store.artifact_bytes = 4 << 20;
    cr_assert_eq(put_group(&f, slot, HOT, 1, 0, 5, SIZE, PARTS), RS_PUT_STORED);
    for (int i = 0; i < READERS; i++) {
        readers[i] = child(i + 1, read_hot);
    }
    for (unsigned turn = 0; left > 0; turn++) {
        atomic_store(enough, turn >= TURNS);
        (void)put_group(&f, slot, HOT, 1, 0, 5 + turn % 2, SIZE, PARTS);
        (void)put_group(&f, slot, 100 + turn % 50, 1, 0, 1000 + turn, 1 << 20, 1);
        for (int i = 0; i < READERS; i++) {
            if (readers[i] && waitpid(readers[i], &status, WNOHANG) == readers[i]) {
                cr_expect_eq(status, 0, "reader %d: %x", i, (unsigned)status);
                readers[i] = 0;
                left--;
            }
        }
    }
    cr_assert_gt(atomic_load(&slot->counters[RS_C_artifact_evicted]), 0);
    cr_assert_eq(atomic_load(&slot->counters[RS_C_artifact_damaged]), 0);
}

/* Until the bytes are gone. */
static int read_large(struct rs_slot *own)
{
    for (;;) {
        for (unsigned number = 1; number <= 3; number++) {
            int found = look(own, number, LARGE, number, number);
            if (found != 1) {
                return found == 0;
            }
        }
    }
}

/* Where the arena ends in the middle of a read, the read fails, and nobody gets SIGBUS. */
Test(artifact_crowd, cut_short_under_running_readers)
{
    enum { TRIES = 8, EACH = 4 };
    for (unsigned turn = 0; turn < TRIES; turn++) {
        pid_t readers[EACH];
        for (unsigned number = 1; number <= 3; number++) {
            cr_assert_eq(put_group(&f, slot, number, 1, 0, number, LARGE, 1), RS_PUT_STORED);
        }
        for (int i = 0; i < EACH; i++) {
            readers[i] = child(i + 1, read_large);
        }
        usleep(2000 + turn * 2003);
        off_t end = RS_AT_ARENA + (off_t)(turn * 331 % 200) * 30000;
        cr_assert_eq(truncate(f.path, end), 0);
        for (int i = 0; i < EACH; i++) {
            int status;
            cr_assert_eq(waitpid(readers[i], &status, 0), readers[i]);
            cr_expect_eq(status, 0, "turn %u, reader %d: %x", turn, i, (unsigned)status);
        }
        teardown();
        setup();
    }
}
