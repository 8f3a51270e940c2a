/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare evict: shrinks what the segment keeps.
 */
#include "base/config.h"
#include "format.h"
#include "store.h"
#include "tool.h"

#include <errno.h>

struct arguments {
    struct store_arguments store;
    const char *to;
    uint64_t bytes;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 't':
        arguments->to = arg;
        if (!rs_config_size(arg, &arguments->bytes))
            argp_error(state, "`%s' is no size: bytes, with K, M or G", arg);
        return 0;
    case 's':
        arguments->store.segment = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "evict takes no argument");
        return EINVAL;
    case ARGP_KEY_END:
        if (!arguments->to)
            argp_error(state, "--to SIZE is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int verb_evict(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"to", 't', "SIZE", 0, "bytes that may stay, with K, M or G", 0},
        {"segment", 's', "NAME", 0, "another segment (RANKSHARE_SEGMENT)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Removes artifacts from the segment, those first that were used longest ago, until "
               "the others take no more than SIZE. What is being read, or what a rank waits for, "
               "stays. Cache directories are left alone; memory that is free then goes back to the "
               "system.\vExit status: "
               "0, 1 wrong usage, 2 no segment, not allowed, or it is busy.",
    };
    struct arguments arguments = {0};
    char gone_text[FORMAT_MAX], used[FORMAT_MAX];
    struct rs_artifact_sums sums;
    struct rs_store store;
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &arguments, &status) ||
        !store_open(&arguments.store, true, &store, &status))
        return status;
    int gone = rs_artifact_evict_to(&store, arguments.bytes);
    rs_artifact_sums(&store, &sums);
    if (gone < 0) {
        tool_error(NULL, "the segment is busy: another process has held it for a second");
        status = TOOL_UNREADABLE;
    } else {
        printf("%s artifact%s removed; %s in use%s\n", format_count(gone_text, (uint64_t)gone),
               gone == 1 ? "" : "s", format_bytes(used, sums.used),
               sums.used > arguments.bytes ? " by what is read or waited for" : "");
    }
    rs_store_close(&store);
    return tool_flush() ? status : TOOL_UNREADABLE;
}
