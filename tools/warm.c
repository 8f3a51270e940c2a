/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare warm: reads a cache directory into the segment.
 */
#include "base/config.h"
#include "base/state.h"
#include "base/sys.h"
#include "format.h"
#include "rank/parcel.h"
#include "rank/view.h"
#include "route/shape.h"
#include "tool.h"
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

struct arguments {
    const char *segment;
    const char *directory;
};

/* What the walk has found: keys' directories, group files, results. */
static struct list {
    char **paths;
    size_t count, room;
} found;

struct warming {
    struct rs_store store;
    struct rs_slot *slot;
    uint64_t bytes;
    size_t put, there, refused, no_room;
};

/* Directories that the walk could not read. */
static size_t unreadable;

static bool wanted(enum rs_shape shape)
{
    return shape == RS_SHAPE_FX_DIR || shape == RS_SHAPE_AOT_DIR ||
           shape == RS_SHAPE_TRITON_GROUP || shape == RS_SHAPE_CONFIG ||
           shape == RS_SHAPE_TRITON_TUNED;
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    struct rs_parts parts;

    (void)st;
    (void)walk;
    if (type == FTW_DNR) {
        tool_error(path, "%s", strerror(EACCES));
        unreadable++;
    }
    rs_shape_split(path, &parts);
    bool directory = parts.shape == RS_SHAPE_FX_DIR || parts.shape == RS_SHAPE_AOT_DIR;
    if (!wanted(parts.shape) || type != (directory ? FTW_D : FTW_F))
        return 0;
    if (found.count == found.room) {
        found.room = found.room ? 2 * found.room : 256;
        char **more = realloc(found.paths, found.room * sizeof(*more));
        if (!more)
            return ENOMEM;
        found.paths = more;
    }
    found.paths[found.count++] = tool_format("%s", path);
    return 0;
}

/* Entries that every rank may have: canonical ones. */
static bool canonical(const struct rs_parcel *parcel, enum rs_kind kind)
{
    struct rs_arena arena;
    bool good = true;

    rs_rewrite_arena(&arena);
    for (unsigned i = 0; good && i + 1 < parcel->count; i++) { /* the last part is the root */
        struct rs_report report;
        struct rs_bytes bytes = {parcel->parts[i].data, parcel->parts[i].size};
        good = rs_ordinal_scan(&arena, bytes, kind, &report) == RS_OK &&
               rs_report_ordinal(&report) <= 0 && report.private_ordinal < 0;
        rs_arena_free(&arena);
    }
    return good;
}

/* Reads what lies at PATH. The parcel must be freed in any case. */
static bool pack(const char *path, const struct rs_parts *parts, struct rs_parcel *parcel,
                 struct rs_artifact_key *key)
{
    bool file = parts->shape == RS_SHAPE_TRITON_GROUP;
    bool result = parts->shape == RS_SHAPE_CONFIG || parts->shape == RS_SHAPE_TRITON_TUNED;
    size_t length = result ? parts->root : file ? (size_t)(parts->name - path) - 1 : strlen(path);
    char *directory = tool_format("%.*s", (int)length, path);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = false;

    *key = (struct rs_artifact_key){.key = parts->key};
    *parcel = (struct rs_parcel){.count = 0};
    if (fd >= 0 && file) {
        key->kind = RS_KIND_triton_group;
        good = rs_parcel_kernel(parcel, fd, strrchr(directory, '/') + 1, parts->name, path,
                                parts->root);
    } else if (fd >= 0 && result) {
        key->kind = RS_KIND_best_config;
        good = rs_parcel_result(parcel, fd, path + parts->root + 1, path, parts->root);
    } else if (fd >= 0) {
        key->kind = parts->shape == RS_SHAPE_FX_DIR ? RS_KIND_fx_entry : RS_KIND_aot_entry;
        good =
            rs_parcel_entries(parcel, fd, path, parts->root, NULL) && canonical(parcel, key->kind);
        if (good && key->kind == RS_KIND_fx_entry)
            rs_parcel_cut(parcel);
    }
    if (fd >= 0)
        close(fd);
    free(directory);
    return good;
}

static bool origin_of(const char *path, size_t root, struct rs_origin *origin)
{
    char *name = tool_format("%.*s", (int)root, path);
    struct stat st;
    bool good = stat(name, &st) == 0;

    /* Of no run: what was read in before is then the same, and not put once more. */
    if (good)
        *origin = (struct rs_origin){.dev = st.st_dev, .ino = st.st_ino, .job = RS_NO_JOB};
    free(name);
    return good;
}

static void put(struct warming *w, const char *path)
{
    struct rs_parts parts;
    struct rs_parcel parcel;
    struct rs_artifact_key key;
    struct rs_origin origin;

    rs_shape_split(path, &parts);
    if (!pack(path, &parts, &parcel, &key) || !origin_of(path, parts.root, &origin)) {
        w->refused++;
    } else {
        switch (rs_artifact_put(&w->store, w->slot, &key, &origin, RS_PUT_WARM, parcel.parts,
                                parcel.count)) {
        case RS_PUT_STORED:
            w->put++;
            for (unsigned i = 0; i + 1 < parcel.count; i++)
                w->bytes += parcel.parts[i].size;
            break;
        case RS_PUT_THERE:
            w->there++;
            break;
        case RS_PUT_NO_ROOM:
            w->no_room++;
            break;
        default:
            w->refused++;
            break;
        }
    }
    rs_parcel_free(&parcel);
}

static void tell(const struct warming *w)
{
    char put_text[FORMAT_MAX], bytes[FORMAT_MAX], there[FORMAT_MAX], refused[FORMAT_MAX],
        no_room[FORMAT_MAX];

    printf("%s artifact%s read in (%s), %s there already, %s not for all ranks or not whole, "
           "%s without room\n",
           format_count(put_text, w->put), w->put == 1 ? "" : "s", format_bytes(bytes, w->bytes),
           format_count(there, w->there), format_count(refused, w->refused),
           format_count(no_room, w->no_room));
}

static bool open_store(const struct arguments *arguments, struct warming *w,
                       const struct rs_config *config)
{
    static const struct rs_identity identity = {.job = VIEW_OWN_JOB, .rank = -1};
    char segment[RS_SEGMENT_NAME_MAX];

    if (!view_segment_name(arguments->segment, segment))
        return false;
    enum rs_store_status opened = rs_store_open(segment, true, true, &w->store);
    if (opened != RS_STORE_OK) {
        tool_error(segment, "%s", rs_store_status_text(opened));
        return false;
    }
    w->store.artifact_bytes = config->size;
    w->store.dir = config->dir;
    w->slot = rs_slot_claim(&w->store, &identity);
    if (!w->slot)
        tool_error(segment, "no room for another process");
    return w->slot != NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 's':
        arguments->segment = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->directory)
            argp_error(state, "warm takes one directory");
        arguments->directory = arg;
        return 0;
    case ARGP_KEY_END:
        if (!arguments->directory)
            argp_error(state, "DIRECTORY is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* As the program spells it, without slashes behind: PyTorch writes that spelling into entries. */
static char *absolute(const char *path)
{
    size_t length = strlen(path);
    char *here = *path == '/' ? NULL : getcwd(NULL, 0);

    while (length > 1 && path[length - 1] == '/')
        length--;
    char *result = here ? tool_format("%s/%.*s", here, (int)length, path)
                        : tool_format("%.*s", (int)length, path);
    free(here);
    return result;
}

static bool readable(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && close(fd) == 0;
}

int verb_warm(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"segment", 's', "NAME", 0, "another segment (RANKSHARE_SEGMENT)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "DIRECTORY",
        .doc =
            "Reads a cache directory into the segment: graphs, kernels and autotuning results. "
            "Jobs "
            "that use this directory then read them from memory while the files stay as they are, "
            "and jobs with other directories find them. Name the directory as "
            "TORCHINDUCTOR_CACHE_DIR or TRITON_CACHE_DIR does. RANKSHARE_SIZE and RANKSHARE_DIR "
            "count.\vExit status: 0, 1 wrong usage, 2 no directory, one in it "
            "that can't be read, no segment, or no room for anything.",
    };
    struct arguments arguments = {0};
    struct warming w = {.put = 0};
    struct rs_config config;
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &arguments, &status))
        return status;
    rs_config_read(&config, environ);
    char *directory = absolute(arguments.directory);
    if (!readable(directory) || nftw(directory, visit, 16, 0) != 0) {
        tool_error(directory, "%s", strerror(errno));
        free(directory);
        return TOOL_UNREADABLE;
    }
    if (!open_store(&arguments, &w, &config))
        return TOOL_UNREADABLE;
    for (size_t i = 0; i < found.count; i++) {
        put(&w, found.paths[i]);
        tool_progress(i + 1, found.count);
        free(found.paths[i]);
    }
    tell(&w);
    free(found.paths);
    free(directory);
    rs_store_close(&w.store);
    bool nothing = w.put + w.there == 0 && w.no_room > 0;
    return tool_flush() && !unreadable && !nothing ? TOOL_OK : TOOL_UNREADABLE;
}
