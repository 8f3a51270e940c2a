/* SPDX-License-Identifier: Apache-2.0 */
#include "store/inspect.h"

#include "store/evict.h"
#include "store/index.h"
#include "store/payload.h"
#include "store/pin.h"
#include "store/process.h"
#include "store/store_sys.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define GET(field) atomic_load_explicit(&(field), memory_order_acquire)

unsigned rs_artifact_top(struct rs_store *store)
{
    struct rs_index index;
    int saved = errno;
    unsigned top = rs_index_open(store, &index) ? rs_groups_top(&index) : 0;
    errno = saved;
    return top;
}

static uint64_t stored_by(const struct rs_index *index, const struct rs_group *group)
{
    uint64_t bytes = 0;
    for (int part = 0; part < RS_GROUP_OBJECTS; part++) {
        uint32_t at = GET(group->objects[part]);
        const struct rs_object *object = at ? rs_object_at(index, at - 1) : NULL;
        bytes += object ? GET(object->stored) : 0;
    }
    return bytes;
}

bool rs_artifact_view(struct rs_store *store, unsigned i, struct rs_artifact_view *view)
{
    struct rs_index index;
    int saved = errno;
    bool open = rs_index_open(store, &index);
    errno = saved;
    struct rs_group *group = open ? rs_group_at(&index, i) : NULL;
    if (!group || i >= rs_groups_top(&index)) {
        return false;
    }
    uint64_t word = GET(group->word);
    if (rs_word_state(word) != RS_ENTRY_READY) {
        return false;
    }
    uint64_t now = rs_now_ms(), stamp = GET(rs_stamps(&index)[i]);
    uint32_t count = GET(group->count);
    *view = (struct rs_artifact_view){
        .key = rs_group_key(group),
        .origin = rs_group_origin(group),
        .parts = count > 0 && count <= RS_GROUP_OBJECTS ? count - 1 : 0,
        .raw = GET(group->raw),
        .stored = stored_by(&index, group),
        .put_ns = GET(group->put_ns),
        .unused_ms = now > stamp ? now - stamp : 0,
        .pid = GET(group->pid),
        .rank = GET(group->rank),
        .warm = GET(group->flags) & RS_GROUP_WARM,
        .pinned = rs_pinned(&index, i, word),
    };
    return atomic_load_explicit(&group->word, memory_order_relaxed) == word;
}

void rs_artifact_sums(struct rs_store *store, struct rs_artifact_sums *sums)
{
    struct rs_index index;
    int saved = errno;
    *sums = (struct rs_artifact_sums){0};
    if (!rs_index_open(store, &index)) {
        errno = saved;
        return;
    }
    struct rs_segment *segment = store->segment;
    sums->place = (enum rs_store_place)GET(segment->store_place);
    sums->size = GET(segment->arena_size);
    sums->reserved = GET(segment->arena_room);
    sums->used = GET(segment->arena_used);
    sums->objects = GET(segment->objects_used);
    uint32_t top = rs_groups_top(&index);
    for (uint32_t i = 0; i < top; i++) {
        const struct rs_group *group = rs_group_at(&index, i);
        if (group && rs_word_state(GET(group->word)) == RS_ENTRY_READY) {
            sums->groups++;
            /* What a bundle holds is a stretch of its entry. */
            sums->raw += GET(group->kind) == RS_KIND_bundle ? 0 : GET(group->raw);
        }
    }
    errno = saved;
}

static enum rs_artifact_state read_parts(struct rs_artifact *artifact, char name[RS_PART_NAME_MAX])
{
    struct rs_arena memory;
    enum rs_artifact_state state = RS_ARTIFACT_WHOLE;
    for (unsigned i = 0; state == RS_ARTIFACT_WHOLE && i < artifact->count; i++) {
        rs_arena_init(&memory, 2 * RS_PART_SIZE_MAX);
        void *buffer = rs_arena_alloc(&memory, artifact->parts[i].size);
        enum rs_reading reading =
            buffer ? rs_artifact_read_part(artifact, i, buffer) : RS_READING_LACKS;
        if (reading != RS_READING_WHOLE) {
            memcpy(name, artifact->parts[i].name, strlen(artifact->parts[i].name) + 1);
            state = reading == RS_READING_LACKS ? RS_ARTIFACT_LACKS : RS_ARTIFACT_PART;
        }
        rs_arena_free(&memory);
    }
    return state;
}

enum rs_artifact_state rs_artifact_check(struct rs_store *store, unsigned i,
                                         char part[RS_PART_NAME_MAX])
{
    struct rs_index index;
    struct rs_artifact artifact;
    int saved = errno;
    enum rs_artifact_state state = RS_ARTIFACT_GONE;
    part[0] = '\0';
    const struct rs_group *group = rs_index_open(store, &index) ? rs_group_at(&index, i) : NULL;
    uint64_t word = group ? GET(group->word) : 0;
    if (rs_word_state(word) == RS_ENTRY_READY) {
        state = RS_ARTIFACT_MANIFEST;
        if (rs_artifact_open(store, i, &artifact)) {
            state = read_parts(&artifact, part);
            rs_artifact_release(&artifact);
        } else if (artifact.unable) {
            state = RS_ARTIFACT_LACKS;
        } else if (artifact.word != word) {
            state = RS_ARTIFACT_GONE; /* for a moment: its evictor may see a pin and let it be */
        }
        /* Only what is still there is damaged. */
        state = state == RS_ARTIFACT_WHOLE || GET(group->word) == word ? state : RS_ARTIFACT_GONE;
    }
    errno = saved;
    return state;
}

struct evict_to {
    const struct rs_segment *segment;
    uint64_t bytes;
};

static bool small_enough(void *context)
{
    struct evict_to *to = context;
    return GET(to->segment->arena_used) <= to->bytes;
}

/* Whole pages of free blocks go back to the system. What is put there later may find no memory: an
 * error code of pwrite(2). */
static void release(struct rs_store *store, const struct rs_index *index)
{
    struct rs_blocks blocks = rs_index_blocks(index);
    uint64_t base;
    uint32_t size, at = 0;
    int fd = rs_payload_open(store, true, &base);
    if (fd < 0) {
        return;
    }
    while ((at = rs_blocks_free(&blocks, at, &size)) != RS_NO_BLOCK) {
        rs_payload_release(fd, base, (uint64_t)at * RS_GRANULE, (uint64_t)size * RS_GRANULE);
        at += size;
    }
    rs_sys_close(fd);
}

int rs_artifact_evict_to(struct rs_store *store, uint64_t bytes)
{
    struct rs_index index;
    struct evict_to to = {store->segment, bytes};
    int saved = errno, gone = 0;
    struct rs_process self = rs_process_self();
    uint64_t tag = rs_process_tag(&self);
    if (store->writable && rs_index_open(store, &index)) {
        if (rs_index_lock(&index, tag)) {
            rs_sweep(&index);
            gone = (int)rs_evict_until(&index, small_enough, &to);
            release(store, &index);
            rs_index_unlock(&index, tag);
        } else {
            gone = -1;
        }
    }
    errno = saved;
    return gone;
}
