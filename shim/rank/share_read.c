/* SPDX-License-Identifier: Apache-2.0
 *
 * A file's bytes out of the store, and into it where this rank is the first to open the file
 * (rank/reads.h says where that is done).
 */
#include "rank/share.h"

#include "base/state.h"
#include "base/sys.h"
#include "rank/count.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/parcel.h"
#include "rank/reads.h"

#include <stdatomic.h>
#include <string.h>

/* Who could not put what it read (there is no room) does not go on reading for others. */
enum { IN_VAIN_MAX = 8 };
static _Atomic int in_vain;

/* What is wanted, and by whom. */
struct read {
    struct rs_node *node;
    const struct rs_where *where;
    struct rs_artifact_key key;
    struct rs_origin origin;
    struct rs_file_id id;
    struct rs_arena *arena;
    struct rs_bytes *out;
};

/* What the wanted file is called among its artifact's parts. */
static const char *part_name(const struct read *read)
{
    return read->where->shape == RS_SHAPE_TRITON_GROUP ? RS_PARCEL_GROUP
                                                       : read->where->path + read->where->name;
}

static uint8_t *room(const struct read *read)
{
    return rs_arena_alloc(read->arena, (size_t)read->id.size + 1);
}

static bool serve(const struct read *read)
{
    struct rs_artifact artifact;
    if (!rs_artifact_find(&read->node->store, read->node->slot, &read->key, &read->origin, 0,
                          &artifact)) {
        return false;
    }
    unsigned i = rs_parcel_part(&artifact, part_name(read), &read->id);
    uint8_t *data = i < artifact.count ? room(read) : NULL;
    bool done = data && rs_artifact_read(&artifact, i, data);
    rs_artifact_release(&artifact);
    *read->out = (struct rs_bytes){data, (size_t)read->id.size};
    rs_count(RS_C_reads_served, done);
    return done;
}

/* The bytes of the file, if PARCEL holds the very file. */
static bool take(const struct read *read, const struct rs_parcel *parcel)
{
    for (unsigned i = 0; i < parcel->count; i++) {
        const struct rs_part_in *part = &parcel->parts[i];
        if (part->size == read->id.size && memcmp(&part->file, &read->id, sizeof(read->id)) == 0 &&
            strcmp(part->name, part_name(read)) == 0) {
            uint8_t *data = room(read);
            if (data) {
                memcpy(data, part->data, part->size);
            }
            *read->out = (struct rs_bytes){data, part->size};
            return data != NULL;
        }
    }
    return false;
}

/* Whether this rank may read the artifact for others: not what is one device's alone. What comes of
 * it is for this directory, in any job: nothing is known of who left it there. */
static bool may_fill(const struct read *read)
{
    enum rs_treatment treatment = rs_known_find(&read->where->key).treatment;
    return rs_config.size != 0 && treatment != RS_TREAT_NATIVE && treatment != RS_TREAT_PRIVATE &&
           atomic_load_explicit(&in_vain, memory_order_relaxed) < IN_VAIN_MAX;
}

static void put(const struct read *read, const struct rs_parcel *parcel)
{
    struct rs_origin origin = {.dev = read->origin.dev, .ino = read->origin.ino, .job = RS_NO_JOB};
    /* Files are shown as they are, so bytes that mean the same won't do. */
    enum rs_put_result result =
        rs_artifact_put(&read->node->store, read->node->slot, &read->key, &origin, RS_PUT_EXACT,
                        parcel->parts, parcel->count);
    rs_count(RS_C_reads_filled, result == RS_PUT_STORED);
    if (result == RS_PUT_NO_ROOM || result == RS_PUT_REFUSED) {
        atomic_fetch_add(&in_vain, 1);
    }
}

/* Reads the artifact for all ranks of the node. */
static bool fill(const struct read *read)
{
    struct rs_parcel parcel;
    bool done = false;
    if (rs_share_pack(read->where, read->node, &parcel)) {
        put(read, &parcel);
        done = take(read, &parcel);
    }
    rs_parcel_free(&parcel);
    return done;
}

static bool fill_in_turn(const struct read *read)
{
    struct rs_turn turn;
    if (!rs_reads_take_turn(read->node, &read->key, &read->origin, &turn)) {
        return false;
    }
    bool done = serve(read) || fill(read);
    rs_turn_end(&turn);
    return done;
}

static bool read_from_store(int fd, const struct rs_where *where, struct rs_arena *arena,
                            struct rs_bytes *out)
{
    struct read read = {.node = rs_node_if_tied(), .where = where, .arena = arena, .out = out};
    struct stat st;
    if (!read.node || !read.node->slot || !rs_share_key(where, &read.key) ||
        rs_sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        !rs_reads_from_memory(fd, st.st_dev)) {
        return false;
    }
    read.id = rs_file_id_of(&st);
    read.origin = rs_origin_of(&read.node->store, read.node->slot, where->dev, where->ino);
    return serve(&read) || (may_fill(&read) && fill_in_turn(&read));
}

bool rs_share_read(int fd, const struct rs_where *where, struct rs_arena *arena,
                   struct rs_bytes *out)
{
    int saved = errno;
    bool done = read_from_store(fd, where, arena, out);
    errno = saved;
    return done;
}
