/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare ls: the artifacts in the segment.
 */
#include "format.h"
#include "json.h"
#include "store.h"
#include "tool.h"

#include <errno.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct store_arguments *arguments = state->input;

    switch (key) {
    case 'J':
        arguments->json = true;
        return 0;
    case 's':
        arguments->segment = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "ls takes no argument");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void add_heads(struct table *table)
{
    static const char *const heads[] = {"KIND",   "KEY",  "FILES",    "SIZE",
                                        "STORED", "USED", "PRODUCER", ""};

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        table_add(table, heads[i]);
}

/* Twelve digits tell keys apart, and fit on a line. */
static void add_row(struct table *table, const struct rs_artifact_view *view)
{
    enum { SHOWN = 12 };
    char key[STORE_KEY_MAX], text[FORMAT_MAX + 16];

    table_add(table, rs_kind_name(view->key.kind));
    store_key(key, &view->key.key);
    key[SHOWN] = '\0';
    table_add(table, key);
    table_add_count(table, view->parts);
    table_add(table, format_bytes(text, view->raw));
    table_add(table, format_bytes(text, view->stored));
    table_add(table, format_duration(text, view->unused_ms * UINT64_C(1000000)));
    if (view->rank >= 0)
        snprintf(text, sizeof(text), "rank %d", view->rank);
    else
        snprintf(text, sizeof(text), "pid %d", view->pid);
    table_add(table, text);
    table_add(table, view->warm && view->pinned ? "warm, read"
                     : view->warm               ? "warm"
                     : view->pinned             ? "read"
                                                : "");
}

static void print_text(struct rs_store *store, const struct rs_artifact_sums *sums)
{
    struct rs_artifact_view view;
    struct table table;
    unsigned top = rs_artifact_top(store);

    if (sums->groups == 0) {
        puts("the segment holds no artifacts");
        return;
    }
    table_init(&table, 8, "llrrrrll");
    add_heads(&table);
    for (unsigned i = 0; i < top; i++)
        if (rs_artifact_view(store, i, &view))
            add_row(&table, &view);
    table_print(&table, stdout);
    table_free(&table);
    store_print_sums(sums);
}

static json_t *artifact_json(const struct rs_artifact_view *view)
{
    char key[STORE_KEY_MAX];
    json_t *producer =
        json_pack("{s:o, s:i}", "rank", view->rank >= 0 ? json_integer(view->rank) : json_null(),
                  "pid", view->pid);

    return json_pack("{s:s, s:s, s:I, s:i, s:I, s:I, s:I, s:I, s:o, s:b, s:b}", "kind",
                     rs_kind_name(view->key.kind), "key", store_key(key, &view->key.key), "class",
                     (json_int_t)view->key.class_id, "files", (int)view->parts, "bytes",
                     (json_int_t)view->raw, "stored", (json_int_t)view->stored, "put_ns",
                     (json_int_t)view->put_ns, "unused_ms", (json_int_t)view->unused_ms, "producer",
                     producer, "warm", view->warm, "read", view->pinned);
}

static void print_json(struct rs_store *store)
{
    struct rs_artifact_view view;
    unsigned top = rs_artifact_top(store);
    json_t *artifacts = json_array();

    for (unsigned i = 0; i < top; i++)
        if (rs_artifact_view(store, i, &view))
            json_array_append_new(artifacts, artifact_json(&view));
    json_print(json_pack("{s:i, s:o}", "schema", 1, "artifacts", artifacts));
}

int verb_ls(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"json", 'J', NULL, 0, "print JSON (schema 1)", 0},
        {"segment", 's', "NAME", 0, "another segment (RANKSHARE_SEGMENT)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc = "Lists the artifacts in the segment: kind, beginning of the key, number and size of "
               "their files, bytes stored for them (which they may share), time since their last "
               "use, and who put them there.\vExit status: 0, 1 wrong usage, 2 no segment, or "
               "unreadable.",
    };
    struct store_arguments arguments = {0};
    struct rs_artifact_sums sums;
    struct rs_store store;
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &arguments, &status) ||
        !store_open(&arguments, false, &store, &status))
        return status;
    rs_artifact_sums(&store, &sums);
    if (arguments.json)
        print_json(&store);
    else
        print_text(&store, &sums);
    rs_store_close(&store);
    return tool_flush() ? TOOL_OK : TOOL_UNREADABLE;
}
