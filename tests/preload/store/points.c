/* SPDX-License-Identifier: Apache-2.0
 *
 * A death at each point of the store, one after the other. Afterwards what was put before is there,
 * byte for byte, the index agrees with itself, and the store goes on.
 */
#include "store.h"

#include "store/inspect.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct point {
    enum rs_kill point;
    const char *name;
    bool of_store; /* else the lease tests' */
    bool of_heir;  /* passed only by who inherits the lock */
    void (*run)(struct rank *rank);
    bool of_first; /* only where nothing was put before */
};

/* Puts groups that nobody disturbs, and notes each that is stored. */
static void put_known(struct rank *rank)
{
    for (unsigned i = 0; i < 2 * KEYS; i++) {
        struct recipe recipe = rank_recipe(rank);
        if (rank_put(rank, &recipe, 0) == RS_PUT_STORED) {
            atomic_store(&shared->stored[recipe.number][recipe.root], recipe.seed + 1);
        }
    }
}

/* The same, but a put that is replaced by death may have taken place. */
static void put_and_die(struct rank *rank)
{
    for (unsigned i = 0; i < 20 * KEYS; i++) {
        struct recipe recipe = rank_recipe(rank);
        atomic_store(&shared->stored[recipe.number][recipe.root], 0); /* either one now */
        if (rank_put(rank, &recipe, 0) == RS_PUT_STORED) {
            atomic_store(&shared->stored[recipe.number][recipe.root], recipe.seed + 1);
        }
    }
}

/* So many bytes that one step of memory is not enough. */
static void put_much_and_die(struct rank *rank)
{
    for (unsigned i = 0; i < KEYS; i++) {
        struct recipe recipe = {.number = i, .seed = 2 * i + 1, .count = PARTS, .size = 100000};
        atomic_store(&shared->stored[i][0], 0);
        (void)rank_put(rank, &recipe, 0);
    }
}

static void evict_and_die(struct rank *rank)
{
    memset(shared->stored, 0, sizeof(shared->stored));
    rs_artifact_evict_to(rank->store, 0);
}

static void read_and_die(struct rank *rank)
{
    unsigned seed;
    for (unsigned i = 0; i < 20 * KEYS; i++) {
        (void)rank_read(rank, rank_random(rank, KEYS), rank_random(rank, ROOTS), &seed);
    }
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static struct point point_of(enum rs_kill kill, const char *name)
{
    static const char *const beginnings[] = {"room_",  "group_", "object_", "payload_", "publish_",
                                             "evict_", "entry_", "mend_",   "find_"};
    struct point point = {.point = kill, .name = name};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        point.of_store |= begins(name, beginnings[i]);
    }
    point.of_heir = begins(name, "mend_");
    point.of_first = begins(name, "room_") && kill != RS_KILL_room_more;
    point.run = begins(name, "evict_")      ? evict_and_die
                : begins(name, "find_")     ? read_and_die
                : kill == RS_KILL_room_more ? put_much_and_die
                                            : put_and_die;
    return point;
}

static void arm(int number, enum rs_kill point, int after)
{
    atomic_store(&shared->ranks[number].point, (int)point);
    atomic_store(&shared->ranks[number].after, after);
}

static bool ends_by_kill(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static const char *known_are_there(struct rank *rank)
{
    unsigned seed;
    for (unsigned number = 0; number < KEYS; number++) {
        for (unsigned root = 0; root < ROOTS; root++) {
            unsigned stored = atomic_load(&shared->stored[number][root]);
            if (stored && (!rank_read(rank, number, root, &seed) || seed != stored - 1)) {
                return "a group that was stored is gone";
            }
        }
    }
    return NULL;
}

static const char *goes_on(struct rank *rank)
{
    unsigned seed;
    struct recipe recipe = {.number = KEYS, .seed = 5, .count = 3, .size = 9000};
    if (rank_put(rank, &recipe, 0) != RS_PUT_STORED || !rank_read(rank, KEYS, 0, &seed) ||
        seed != 5) {
        return "nothing can be put any more";
    }
    return check_all(rank);
}

static const char *die_at(const struct point *point, int after, unsigned seed)
{
    const uint64_t room = UINT64_C(256) << 20;
    struct rank rank;
    int status;
    new_segment("points");
    if (!point->of_first) {
        waitpid(start(put_known, 0, room, seed), &status, 0);
    }
    if (point->of_heir) {
        arm(1, RS_KILL_object_writing, 3);
        if (!ends_by_kill(start(put_and_die, 1, room, seed + 1))) {
            return "the one to inherit from did not die";
        }
    }
    arm(2, point->point, after);
    if (!ends_by_kill(start(point->run, 2, room, seed + 2))) {
        return "nobody came by";
    }
    if (!rank_open(&rank, 3, room, seed)) {
        return "the segment can't be opened";
    }
    const char *problem = known_are_there(&rank);
    problem = problem ? problem : check_all(&rank);
    problem = problem ? problem : goes_on(&rank);
    rs_store_close(&rank.own);
    end_segment();
    return problem;
}

int test_points(bool thorough, unsigned seed, const char *word)
{
    static const char *const names[] = {
        [RS_KILL_NONE] = "",
#define RS_KILL(name, text) [RS_KILL_##name] = #name,
#include "store/kill_points.def"
#undef RS_KILL
    };
    int before = failed;
    for (int i = RS_KILL_NONE + 1; i < RS_KILL_COUNT; i++) {
        struct point point = point_of((enum rs_kill)i, names[i]);
        char name[96];
        snprintf(name, sizeof(name), "killed at %s", names[i]);
        if (!point.of_store || !strstr(name, word)) {
            continue;
        }
        double began = seconds_now();
        bool once = point.of_first || point.of_heir || point.point == RS_KILL_room_more;
        const char *problem = NULL;
        int last = once ? 1 : thorough ? 40 : 1 + (int)(seed % 20);
        for (int after = thorough ? 1 : last; !problem && after <= last; after += 3) {
            problem = die_at(&point, after, seed + (unsigned)after);
        }
        say(name, problem, seconds_now() - began);
    }
    return failed - before;
}
