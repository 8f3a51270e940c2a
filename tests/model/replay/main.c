/* SPDX-License-Identifier: Apache-2.0
 *
 * replay [quick|long] [CONFIGURATION [SEED]]
 */
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void collect(const struct trace *trace, uint64_t kind, void *context)
{
    (void)context;
    replay_collect(trace, kind);
}

int main(int argc, char **argv)
{
    static struct exploration result;
    bool all = argc > 1 && strcmp(argv[1], "long") == 0;
    const char *only = argc > 2 ? argv[2] : "";
    unsigned seed = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : (unsigned)time(NULL);
    int passed = 0, failed = 0;
    m_dies_at_once = true; /* the runner waits for the end */
    if (!replay_open()) {
        puts("no segment");
        return 2;
    }
    for (int i = 0; i < m_config_count; i++) {
        char text[512];
        m_config = &m_configs[i];
        if (strncmp(m_config->name, only, strlen(only)) != 0 || m_config->is_long) {
            continue;
        }
        explore(all ? SIZE_MAX : 20000, 1u << 30, &result, collect, NULL);
        bool fine = replay_config(all ? 300 : 4, seed, text, sizeof(text));
        passed += fine;
        failed += !fine;
        printf("%s replay of %s: %s (seed %u)\n", fine ? "ok  " : "FAIL", m_config->name, text,
               seed);
        fflush(stdout);
    }
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed ? 1 : 0;
}
