/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks that put and read artifacts whose bytes follow from their names, so that whoever reads can
 * tell. They share a page of memory with the one that starts, kills and counts them.
 */
#ifndef RS_TEST_PRELOAD_STORE_H
#define RS_TEST_PRELOAD_STORE_H

#include "store/artifact.h"
#include "store/kill_point.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum { RANKS = 64, KEYS = 48, ROOTS = 2, PARTS = 6 };

/* What a group is made of. */
struct recipe {
    unsigned number, root; /* its key and origin */
    unsigned seed, count;
    size_t size;
};

struct shared {
    struct {
        _Atomic int point; /* enum rs_kill: dies there, */
        _Atomic int after; /* at the so-manieth visit */
        _Atomic unsigned puts, hits, misses, refused;
    } ranks[RANKS];
    _Atomic unsigned wrong; /* groups whose bytes are not theirs */
    _Atomic unsigned died;  /* at their points */
    char said[256];         /* what the first wrong one was */
    _Atomic bool stop;
    /* Groups known to be there: put by a rank that was told so. */
    _Atomic unsigned stored[KEYS][ROOTS]; /* seed + 1 */
};
extern struct shared *shared;
extern char segment[RS_SEGMENT_NAME_MAX];

/* In a rank: opens the segment, with an arena of BYTES, as rank number RANK. */
struct rank {
    struct rs_store *store; /* threads share it */
    struct rs_store own;
    struct rs_slot *slot;
    int number;
    unsigned state; /* of its random numbers */
};
bool rank_open(struct rank *rank, int number, uint64_t bytes, unsigned seed);
unsigned rank_random(struct rank *rank, unsigned below);

/* Called once in this process at find_looked, in the middle of a look; NULL: nothing. */
extern void (*while_looking)(void);

enum rs_put_result rank_put(struct rank *rank, const struct recipe *recipe, unsigned flags);
/* Reads the group of NUMBER and ROOT, when there is one, and checks every byte. *SEED gets its
 * seed. False: there is none. */
bool rank_read(struct rank *rank, unsigned number, unsigned root, unsigned *seed);
struct recipe rank_recipe(struct rank *rank);
void rank_forget(struct rank *rank, unsigned number, unsigned root);
/* Puts, reads and forgets at random, COUNT times or until told to stop. */
void rank_work(struct rank *rank, unsigned count);

/* Starts RUN in a process of its own. */
pid_t start(void (*run)(struct rank *rank), int number, uint64_t bytes, unsigned seed);

/* What must hold whenever nobody is in the middle of a step: NULL, or what does not. */
const char *check_all(struct rank *rank);

/* The tests; each prints its lines and returns how many failed. */
int test_points(bool thorough, unsigned seed, const char *word);
int test_replaced(unsigned seed, const char *word);
int test_kills(unsigned kills, int ranks, unsigned seed, const char *word);
int test_threads(unsigned rounds, unsigned seed, const char *word);
int test_stress(int ranks, unsigned seed, const char *word);
bool say(const char *name, const char *problem, double seconds);
double seconds_now(void);
void new_segment(const char *name);
void end_segment(void);
extern int passed, failed;

#endif
