/* SPDX-License-Identifier: Apache-2.0
 *
 * store KILLS RANKS [SEED [WORD]]: prints a line per case, then the counts.
 */
#include "store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct shared *shared;
char segment[RS_SEGMENT_NAME_MAX];
int passed, failed;

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

bool say(const char *name, const char *problem, double seconds)
{
    if (problem) {
        printf("FAIL  %s: %s\n", name, problem);
        failed++;
    } else {
        printf("ok    %s (%.1f s)\n", name, seconds);
        passed++;
    }
    fflush(stdout);
    return !problem;
}

void new_segment(const char *name)
{
    char override[64];
    memset(shared, 0, sizeof(*shared));
    for (int i = 0; i < RANKS; i++) {
        atomic_store(&shared->ranks[i].point, RS_KILL_NONE);
    }
    snprintf(override, sizeof(override), "store-%s-%d", name, (int)getpid());
    rs_store_name(segment, geteuid(), override);
    end_segment();
}

void end_segment(void)
{
    (void)rs_store_remove(segment);
}

int main(int argc, char **argv)
{
    unsigned kills = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    int ranks = argc > 2 ? atoi(argv[2]) : 6;
    unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : (unsigned)time(NULL);
    const char *word = argc > 4 ? argv[4] : "";
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || ranks < 1 || ranks > RANKS) {
        return 1;
    }
    printf("seed %u\n", seed);
    test_points(ranks > 8, seed, word);
    test_replaced(seed, word);
    test_threads(kills > 1000 ? 50 : kills > 10 ? 3 : 1, seed, word);
    test_stress(ranks, seed, word);
    test_kills(kills, ranks < 8 ? ranks : 8, seed, word);
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed > 0;
}
