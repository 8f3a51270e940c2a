/* SPDX-License-Identifier: Apache-2.0
 *
 * A group that is forgotten, and its entry another root's with the same key, between a reader's
 * look and its opening: the reader has found nothing. (A long run with deaths met it once in
 * 220,000 hits.)
 */
#include "store.h"

#include "store/inspect.h"

#include <string.h>

static struct rank reader;
static const struct recipe other = {.number = 1, .root = 1, .seed = 4, .count = 2, .size = 700};
static bool entry_was_reused;

static void replace(void)
{
    unsigned before = rs_artifact_top(reader.store);
    rank_forget(&reader, 1, 0);
    entry_was_reused =
        rank_put(&reader, &other, 0) == RS_PUT_STORED && rs_artifact_top(reader.store) == before;
}

static const char *replaced(void)
{
    const struct recipe one = {.number = 1, .root = 0, .seed = 3, .count = 2, .size = 700};
    unsigned seed;
    if (rank_put(&reader, &one, 0) != RS_PUT_STORED || !rank_read(&reader, 1, 0, &seed) ||
        seed != 3) {
        return "a group can't be put and read";
    }
    while_looking = replace;
    bool found = rank_read(&reader, 1, 0, &seed);
    if (!entry_was_reused) {
        return "the entry was not taken again";
    }
    if (found) {
        return "another root's group was found";
    }
    return rank_read(&reader, 1, 1, &seed) && seed == 4 ? check_all(&reader)
                                                        : "the other one is gone";
}

int test_replaced(unsigned seed, const char *word)
{
    if (!strstr("replaced", word)) {
        return 0;
    }
    double began = seconds_now();
    new_segment("replaced");
    const char *problem =
        rank_open(&reader, 0, UINT64_C(64) << 20, seed) ? replaced() : "no segment";
    rs_store_close(&reader.own);
    end_segment();
    return !say("a group that is replaced while it is looked at", problem, seconds_now() - began);
}
