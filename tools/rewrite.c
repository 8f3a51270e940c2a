/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare rewrite --to N FILE OUT: the view of ordinal N, by the code that the library uses.
 */
#include "artifact.h"

#include <errno.h>
#include <string.h>

struct arguments {
    long to;
    const char *details;
    const char *files[2];
    int count;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 't':
        if (!tool_number(arg, 0, RS_ORDINAL_MAX, &arguments->to))
            argp_error(state, "--to takes an ordinal from 0 to %d", RS_ORDINAL_MAX);
        return 0;
    case 'd':
        arguments->details = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->count == 2)
            argp_error(state, "FILE and OUT, no more");
        arguments->files[arguments->count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (arguments->count < 2)
            argp_error(state, "FILE and OUT are needed");
        if (arguments->to < 0)
            argp_error(state, "--to is needed");
        if (arguments->details && strcmp(arguments->details, "-") == 0 &&
            strcmp(arguments->files[0], "-") == 0)
            argp_error(state, "only one of them can be standard input");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* torch_key() as the details in PATH hold it. */
static bool read_torch_key(const char *path, uint8_t torch_key[RS_TORCH_KEY_SIZE])
{
    struct artifact details;

    if (!artifact_open(&details, path))
        return false;
    bool found = details.report.has_torch_key;
    if (found)
        memcpy(torch_key, details.report.torch_key, RS_TORCH_KEY_SIZE);
    else
        tool_error(tool_file_name(path),
                   "no torch_key in here (kind %s); --details takes what torch "
                   "hashed for a key",
                   rs_kind_name(details.kind));
    artifact_free(&details);
    return found;
}

static int rewrite(struct artifact *artifact, const struct arguments *arguments,
                   const uint8_t *torch_key)
{
    struct rs_pieces pieces;
    struct rs_report report;
    enum rs_reason reason = rs_ordinal_rewrite(&artifact->arena, artifact->bytes, artifact->kind,
                                               torch_key, (int)arguments->to, &pieces, &report);

    if (reason != RS_OK) {
        artifact->report = report;
        artifact_refusal(artifact, reason);
        return TOOL_REFUSED;
    }
    return tool_write(arguments->files[1], &pieces) ? TOOL_OK : TOOL_UNREADABLE;
}

int verb_rewrite(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"to", 't', "N", 0, "the ordinal that OUT is for (0: the canonical form)", 0},
        {"details", 'd', "KEYFILE", 0,
         "what torch hashed for the key: holds torch_key, without which the names of static "
         "autotuners stay",
         0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE OUT",
        .doc = "Writes the same artifact for another device ordinal, as the library shows it to a "
               "rank.\v"
               "FILE and OUT may be - for standard input and output. A file without ordinals is "
               "copied. Exit status: 0, 1 wrong usage, 2 unreadable, 3 refused: then OUT is not "
               "written.",
    };
    struct arguments arguments = {.to = -1};
    uint8_t torch_key[RS_TORCH_KEY_SIZE];
    struct artifact artifact;
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &arguments, &status))
        return status;
    if (arguments.details && !read_torch_key(arguments.details, torch_key))
        return TOOL_UNREADABLE;
    if (!artifact_open(&artifact, arguments.files[0]))
        return TOOL_UNREADABLE;
    status = rewrite(&artifact, &arguments, arguments.details ? torch_key : NULL);
    artifact_free(&artifact);
    return status;
}
