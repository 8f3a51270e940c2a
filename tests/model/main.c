/* SPDX-License-Identifier: Apache-2.0
 *
 * model [quick|long] [CONFIGURATION [STATES]]: explores the configurations whose names begin so, at
 * most so many states of each, and then the mutants, each of which must be found out.
 */
#include "explore.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *config, *text;
} mutants[MUTANT_COUNT] = {
#define X(name, config, text) {#name, #config, text},
    M_MUTANTS(X)
#undef X
};

static int passed, failed;

static void judge(bool fine, const char *what)
{
    passed += fine;
    failed += !fine;
    printf("%s %s", fine ? "ok  " : "FAIL", what);
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static void as_it_is(size_t limit, unsigned future_of)
{
    static struct exploration result;
    explore(limit, future_of, &result, NULL, NULL);
    judge(!result.wrong && result.complete, m_config->name);
    printf(" (%zu states, %zu transitions, %d deep)\n", result.states, result.transitions,
           result.depth);
    if (result.wrong) {
        printf("  %s, after\n", result.wrong);
        print_trace(&result.to);
    } else if (!result.complete) {
        printf("  more than %zu states\n", limit);
    }
    fflush(stdout);
}

static void with_mistake(enum m_mutant mutant)
{
    static struct exploration result;
    for (int i = 0; i < m_config_count; i++) {
        if (begins(m_configs[i].name, mutants[mutant].config)) {
            m_config = &m_configs[i];
            break;
        }
    }
    m_mutant = mutant;
    /* By what a state shows, and if that is not enough, by what follows from it. */
    explore(2000000, UINT_MAX, &result, NULL, NULL);
    if (!result.wrong) {
        explore(2000000, 1, &result, NULL, NULL);
    }
    m_mutant = MUTANT_none;
    judge(result.wrong, "mistake: ");
    printf("%s: %s (%zu states)\n", mutants[mutant].text, result.wrong ? result.wrong : "not found",
           result.states);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bool all = argc > 1 && strcmp(argv[1], "long") == 0;
    const char *only = argc > 2 ? argv[2] : "";
    size_t limit = argc > 3 ? strtoul(argv[3], NULL, 10) : 60000000;
    for (int i = 0; i < m_config_count; i++) {
        m_config = &m_configs[i];
        if (begins(m_config->name, only) && (all || *only || !m_config->is_long)) {
            as_it_is(limit, all ? 1 : 8);
        }
    }
    for (int i = MUTANT_none + 1; i < MUTANT_COUNT && !*only; i++) {
        with_mistake((enum m_mutant)i);
    }
    printf("%d passed, %d failed, 0 skipped\n", passed, failed);
    return failed ? 1 : 0;
}
