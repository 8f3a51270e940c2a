/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare verify: reads everything in the segment.
 */
#include "format.h"
#include "store.h"
#include "store/payload.h"
#include "tool.h"
#include "view.h"

#include <errno.h>
#include <unistd.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct store_arguments *arguments = state->input;

    switch (key) {
    case 's':
        arguments->segment = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "verify takes no argument");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* By `rankshare clear', while it is read: what is left of it says nothing. */
static bool is_removed(const struct rs_store *store)
{
    struct stat found;
    int fd = rs_segment_open(store, false, &found);

    if (fd >= 0)
        close(fd);
    return fd < 0;
}

/* Says what is wrong with group number I; false: nothing, or *GONE. */
static bool is_damaged(struct rs_store *store, unsigned i, size_t *whole, size_t *lacking,
                       bool *gone)
{
    struct rs_artifact_view view = {0};
    char part[RS_PART_NAME_MAX], key[STORE_KEY_MAX];
    enum rs_artifact_state state = rs_artifact_check(store, i, part);

    if (state == RS_ARTIFACT_WHOLE || state == RS_ARTIFACT_GONE || state == RS_ARTIFACT_LACKS) {
        *whole += state == RS_ARTIFACT_WHOLE;
        *lacking += state == RS_ARTIFACT_LACKS;
        return false;
    }
    *gone = is_removed(store);
    if (*gone)
        return false;
    (void)rs_artifact_view(store, i, &view);
    tool_progress_over();
    printf("WRONG  %s %s: %s%s\n", rs_kind_name(view.key.kind), store_key(key, &view.key.key),
           state == RS_ARTIFACT_PART ? "these are not the bytes that were put: "
                                     : "its list of files is not what was put",
           part);
    return true;
}

static unsigned check_index(struct rs_store *store)
{
    unsigned faults[RS_FAULTS], wrong = 0;

    if (!rs_index_check(store, faults)) {
        puts("note   the index was not checked: no permission to write, or it is in use all the "
             "time");
        return 0;
    }
    for (int i = 0; i < RS_FAULTS; i++) {
        if (faults[i] > 0)
            printf("WRONG  %s (%u)\n", rs_index_fault_text((enum rs_index_fault)i), faults[i]);
        wrong += faults[i] > 0;
    }
    return wrong;
}

static int verify(struct rs_store *store)
{
    char count[FORMAT_MAX];
    size_t whole = 0, lacking = 0, damaged = 0;
    unsigned top = rs_artifact_top(store), wrong;
    bool gone = false;

    if (rs_store_check(store) != RS_STORE_OK) {
        printf("WRONG  %s\n", rs_store_status_text(RS_STORE_CONTENT));
        return TOOL_WRONG;
    }
    for (unsigned i = 0; i < top && !gone; i++) {
        damaged += is_damaged(store, i, &whole, &lacking, &gone);
        tool_progress(i + 1, top);
    }
    if (gone || is_removed(store)) {
        tool_progress_over();
        puts("the segment was removed while it was read");
        return TOOL_UNREADABLE;
    }
    wrong = check_index(store);
    printf("%s artifact%s whole", format_count(count, whole), whole == 1 ? "" : "s");
    if (lacking > 0)
        printf(", %s whose kernels have been evicted", format_count(count, lacking));
    printf(", %s damaged\n", format_count(count, damaged));
    return damaged > 0 || wrong > 0 ? TOOL_WRONG : TOOL_OK;
}

int verb_verify(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"segment", 's', "NAME", 0, "another segment (RANKSHARE_SEGMENT)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Reads all artifacts in the segment, compares them with their check sums, and says "
               "whether the index agrees with itself. Changes nothing; ranks may go on.\vExit "
               "status: 0, 1 wrong usage, 2 no segment, or unreadable, 4 something is damaged.",
    };
    struct store_arguments arguments = {0};
    struct rs_store store;
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &arguments, &status) ||
        !store_open(&arguments, true, &store, &status))
        return status;
    status = verify(&store);
    rs_store_close(&store);
    return tool_flush() ? status : TOOL_UNREADABLE;
}
