/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare ordinals FILE...: kind, ordinals, number of sites, and whether it can be shared.
 */
#include "artifact.h"
#include "format.h"
#include "json.h"

#include <errno.h>

struct arguments {
    bool json;
    const char *torch;
    char **files;
    int count;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'J':
        arguments->json = true;
        return 0;
    case 'T':
        arguments->torch = arg;
        return 0;
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN; /* all of them at once, below */
    case ARGP_KEY_ARGS:
        arguments->files = state->argv + state->next;
        arguments->count = state->argc - state->next;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which files?");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *verdict(const struct artifact *artifact, enum rs_reason reason)
{
    if (reason != RS_OK)
        return "refused";
    return artifact->report.sites == 0 ? "none" : "shareable";
}

static json_t *to_json(const struct artifact *artifact, enum rs_reason reason)
{
    json_t *ordinals = artifact_ordinals(artifact);

    return json_pack("{s:o, s:s, s:o, s:I, s:s, s:s?}", "path", json_text(artifact->path), "kind",
                     rs_kind_name(artifact->kind), "ordinals", ordinals, "sites",
                     (json_int_t)artifact->report.sites, "verdict", verdict(artifact, reason),
                     "reason", reason == RS_OK ? NULL : rs_reason_name(reason));
}

/* "0", "0 3", or "-". */
static void ordinals_text(const struct artifact *artifact, char *text, size_t size)
{
    size_t used = 0;

    snprintf(text, size, "-");
    for (int i = 0; i <= RS_ORDINAL_MAX && used < size; i++)
        if (artifact_has_ordinal(artifact, i))
            used += (size_t)snprintf(text + used, size - used, used ? " %d" : "%d", i);
}

static void to_table(struct table *table, const struct artifact *artifact, enum rs_reason reason)
{
    char ordinals[4 * (RS_ORDINAL_MAX + 1)];

    ordinals_text(artifact, ordinals, sizeof(ordinals));
    table_add(table, rs_kind_name(artifact->kind));
    table_add(table, ordinals);
    table_add_count(table, artifact->report.sites);
    table_add(table, verdict(artifact, reason));
    table_add(table, reason == RS_OK ? "" : rs_reason_name(reason));
    table_add(table, artifact->path);
}

int verb_ordinals(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"json", 'J', NULL, 0, "print JSON (schema 1)", 0},
        ARTIFACT_TORCH,
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE...",
        .doc = "Says for each file what it is, which CUDA device ordinals it holds, in how many "
               "places, and whether ranks can share it.\v"
               "FILE may be - for standard input. Exit status: 0, 1 wrong usage, 2 a file is "
               "unreadable, else 3 when one is refused.",
    };
    static const char *const heads[] = {"KIND", "ORDINALS", "SITES", "VERDICT", "REASON", "FILE"};
    struct arguments arguments = {.torch = ""};
    bool unreadable = false, refused = false;
    struct table table;
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &arguments, &status))
        return status;
    json_t *files = json_array();
    table_init(&table, 6, "llrlll");
    for (size_t i = 0; i < 6; i++)
        table_add(&table, heads[i]);
    for (int i = 0; i < arguments.count; i++) {
        struct artifact artifact;

        if (!artifact_open(&artifact, arguments.files[i])) {
            unreadable = true;
            continue;
        }
        enum rs_reason reason = artifact_reason(&artifact, arguments.torch);
        refused = refused || reason != RS_OK;
        if (arguments.json)
            json_array_append_new(files, to_json(&artifact, reason));
        else
            to_table(&table, &artifact, reason);
        artifact_free(&artifact);
    }
    if (arguments.json)
        json_print(json_pack("{s:i, s:O}", "schema", 1, "files", files));
    else if (table.count > table.columns)
        table_print(&table, stdout);
    table_free(&table);
    json_decref(files);
    if (!tool_flush() || unreadable)
        return TOOL_UNREADABLE;
    return refused ? TOOL_REFUSED : TOOL_OK;
}
