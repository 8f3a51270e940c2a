/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare clear: removes the segment.
 */
#include "store/payload.h"
#include "tool.h"
#include "view.h"

#include <errno.h>
#include <stdlib.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **segment = state->input;

    switch (key) {
    case 's':
        *segment = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "clear takes no argument");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static size_t count_living(const struct view *view)
{
    size_t living = 0;

    for (size_t i = 0; i < view->count; i++)
        for (size_t j = 0; j < view->jobs[i].count; j++)
            living += view->jobs[i].processes[j].alive == 1;
    return living;
}

int verb_clear(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"segment", 's', "NAME", 0, "another segment (RANKSHARE_SEGMENT)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Removes the shared segment: statistics, leases and artifacts. Cache directories are "
            "left "
            "alone.\v"
            "Processes that use it keep the old one; those that start later make a new one. Exit "
            "status: 0, 1 wrong usage, 2 no segment, or not allowed.",
    };
    const char *override = NULL;
    char segment[RS_SEGMENT_NAME_MAX];
    struct view view;
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &override, &status))
        return status;
    if (!view_segment_name(override, segment))
        return TOOL_USAGE;
    view_read(segment, &view); /* unreadable ones are removed like others, if they are ours */
    size_t living = count_living(&view);
    view_free(&view);
    enum rs_store_status removed = rs_store_remove(segment);
    if (removed != RS_STORE_OK) {
        tool_error(segment, "%s", rs_store_status_text(removed));
        return TOOL_UNREADABLE;
    }
    (void)rs_payload_remove(segment, getenv("RANKSHARE_DIR"));
    if (living > 0)
        tool_error(segment, "removed, but %zu process%s it", living,
                   living == 1 ? " still uses" : "es still use");
    return TOOL_OK;
}
