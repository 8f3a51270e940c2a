/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare key FILE: the key torch would give these details, as they are and in canonical form.
 */
#include "route/key.h"
#include "artifact.h"
#include "digest.h"

#include <errno.h>
#include <stdio.h>

struct arguments {
    const char *file;
    const char *torch;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'T':
        arguments->torch = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->file)
            argp_error(state, "one file, please");
        arguments->file = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which file?");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_key(const char *label, enum rs_kind kind, const struct rs_pieces *pieces)
{
    uint8_t digest[RS_DIGEST_SIZE];
    char name[RS_NAME51 + 1];

    tool_digest(pieces, digest);
    rs_key_name51(digest, name);
    printf("%-9s %c%s\n", label, kind == RS_KIND_fx_details ? 'f' : 'a', name);
}

static int print_keys(struct artifact *details, const char *torch_version)
{
    struct iovec whole = {(void *)(uintptr_t)details->bytes.data, details->bytes.size};
    struct rs_pieces native = {&whole, 1, details->bytes.size};
    struct rs_pieces canonical;
    struct rs_report report;

    if (details->kind != RS_KIND_fx_details && details->kind != RS_KIND_aot_details) {
        tool_error(tool_file_name(details->path),
                   "not details that torch hashes for a key (kind %s)",
                   rs_kind_name(details->kind));
        return TOOL_UNREADABLE;
    }
    print_key("native", details->kind, &native);
    enum rs_reason reason = artifact_reason(details, torch_version);
    if (reason == RS_OK)
        reason = rs_ordinal_rewrite(&details->arena, details->bytes, details->kind, NULL, 0,
                                    &canonical, &report);
    if (reason != RS_OK) {
        artifact_refusal(details, reason);
        return TOOL_REFUSED;
    }
    print_key("canonical", details->kind, &canonical);
    return TOOL_OK;
}

int verb_key(int argc, char **argv)
{
    static const struct argp_option options[] = {ARTIFACT_TORCH, {0}};
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "FILE",
        .doc =
            "Prints the key that torch would give these details (FxGraphHashDetails or "
            "AOTAutogradCacheDetails), as they are and in canonical form.\v"
            "FILE may be - for standard input. Exit status: 0, 1 wrong usage, 2 unreadable or no "
            "details, 3 refused: then only the native key is printed.",
    };
    struct arguments arguments = {NULL, ""};
    struct artifact details;
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &arguments, &status))
        return status;
    if (!artifact_open(&details, arguments.file))
        return TOOL_UNREADABLE;
    status = print_keys(&details, arguments.torch);
    artifact_free(&details);
    return tool_flush() ? status : TOOL_UNREADABLE;
}
