/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare: finds the verb and hands over to it.
 */
#include "tool.h"

#include <rankshare/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct verb {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

static int verb_help(int argc, char **argv);

static const struct verb verbs[] = {
    {"run", "start a command whose ranks share what they compile", verb_run},
    {"stats", "who compiled, loaded, waited, and what was refused and why", verb_stats},
    {"key", "the key torch gives these details, natively and in canonical form", verb_key},
    {"ordinals", "which device ordinals artifacts hold, and whether they can be shared",
     verb_ordinals},
    {"inspect", "what GPU images hold: architecture, kernels, registers, memory", verb_inspect},
    {"rewrite", "the same artifact for another device ordinal", verb_rewrite},
    {"ls", "the artifacts in the segment", verb_ls},
    {"verify", "read all artifacts in the segment and say what is damaged", verb_verify},
    {"evict", "shrink what the segment keeps", verb_evict},
    {"warm", "read a cache directory into the segment", verb_warm},
    {"clear", "remove the shared segment", verb_clear},
    {"doctor", "say why sharing is not active or will not work here", verb_doctor},
    {"help", "this list, or a verb's own help", verb_help},
};
enum { VERB_COUNT = sizeof(verbs) / sizeof(verbs[0]) };

static void print_version(FILE *out, struct argp_state *state)
{
    (void)state;
    fprintf(out, "rankshare %s (segment layout %d)\n", RANKSHARE_VERSION, RANKSHARE_LAYOUT);
}

static void list_verbs(FILE *out)
{
    fputs("Usage: rankshare VERB [ARGUMENTS]\n\n", out);
    for (size_t i = 0; i < VERB_COUNT; i++)
        fprintf(out, "  %-10s %s\n", verbs[i].name, verbs[i].summary);
    fputs("\n`rankshare help VERB' explains one verb; `rankshare --version' names this build.\n",
          out);
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    tool_error(NULL, "no verb `%s'; `rankshare help' lists them", name);
    return NULL;
}

/* ARGV[0] becomes "rankshare VERB", which argp and getopt put before their messages. */
static int call_verb(const struct verb *verb, int argc, char **argv)
{
    char *name = tool_format("rankshare %s", verb->name);

    argv[0] = name;
    int status = verb->run(argc, argv);
    free(name);
    return status;
}

static int verb_help(int argc, char **argv)
{
    if (argc > 2) {
        tool_error(NULL, "help takes one verb");
        return TOOL_USAGE;
    }
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        list_verbs(stdout);
        return tool_flush() ? TOOL_OK : TOOL_UNREADABLE;
    }
    const struct verb *verb = find_verb(argv[1]);
    if (!verb)
        return TOOL_USAGE;
    char *args[] = {NULL, (char[]){"--help"}, NULL};
    return call_verb(verb, 2, args);
}

int main(int argc, char **argv)
{
    argp_program_version_hook = print_version;
    argp_err_exit_status = TOOL_USAGE;
    if (argc < 2) {
        list_verbs(stderr);
        return TOOL_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        print_version(stdout, NULL);
        return tool_flush() ? TOOL_OK : TOOL_UNREADABLE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)
        return verb_help(1, argv);
    if (argv[1][0] == '-') {
        tool_error(NULL, "unknown option `%s'; `rankshare help' lists the verbs", argv[1]);
        return TOOL_USAGE;
    }
    const struct verb *verb = find_verb(argv[1]);
    return verb ? call_verb(verb, argc - 1, argv + 1) : TOOL_USAGE;
}
