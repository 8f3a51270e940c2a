/* SPDX-License-Identifier: Apache-2.0 */
#include "store/put.h"

#include "store/evict.h"
#include "store/kill_point.h"
#include "store/pack.h"
#include "store/payload.h"
#include "store/room.h"
#include "store/store_sys.h"

#include <stdatomic.h>

enum { TRIES = 300, PROMISE_MS = 600 * 1000 }; /* 4 GiB are 256 steps */

#define GET(field)        atomic_load_explicit(&(field), memory_order_relaxed)
#define SET(field, value) atomic_store_explicit(&(field), (value), memory_order_release)

/* ---- finding room ---------------------------------------------------------------------------- */

/* One try to do something under the lock. SHORT says what there was too little of, NOW how much. */
struct attempt {
    struct rs_put *put;
    bool (*once)(struct attempt *attempt);
    enum rs_room short_of;
    uint64_t now;
    bool lost; /* the group is no longer this process's: trying is over */
    unsigned n;
    const struct rs_put_bytes *bytes;
    const void *packed; /* NULL: as they are */
    size_t stored;
    uint32_t object;
    bool found;
    /* Of the object, as it was under the lock: nobody else's number is believed afterwards. */
    uint64_t offset, check;
    uint32_t raw;
};

static bool once(void *context)
{
    struct attempt *attempt = context;
    return attempt->once(attempt);
}

static enum rs_put_result try_with_room(struct attempt *attempt)
{
    struct rs_put *put = attempt->put;
    bool done = false, last = false;
    for (int i = 0; !done && i < TRIES; i++) {
        if (!rs_index_lock(&put->index, put->tag)) {
            return RS_PUT_BUSY;
        }
        if (last) {
            rs_sweep(&put->index);
            unsigned gone =
                attempt->short_of == RS_ROOM_ARENA
                    ? rs_evict_for(&put->index, rs_granules(attempt->stored), once, attempt)
                    : rs_evict_until(&put->index, once, attempt);
            rs_slot_count(put->slot, RS_C_artifact_evicted, gone);
            done = true;
        } else {
            done = attempt->once(attempt);
        }
        uint64_t now = attempt->now;
        rs_index_unlock(&put->index, put->tag);
        last = !done && !rs_room_more(put->store, &put->index, attempt->short_of, now);
    }
    if (attempt->lost) {
        return RS_PUT_BUSY;
    }
    return attempt->object != RS_NO_ENTRY ? RS_PUT_STORED : RS_PUT_NO_ROOM;
}

static bool too_few(struct attempt *attempt, enum rs_room what)
{
    attempt->short_of = what;
    attempt->now = rs_room_of(attempt->put->index.segment, what);
    return false;
}

static void add(_Atomic uint32_t *sum)
{
    SET(*sum, GET(*sum) + 1);
}

/* ---- the group --------------------------------------------------------------------------------
 */

static bool claim_group(struct attempt *attempt)
{
    struct rs_put *put = attempt->put;
    const struct rs_artifact_key *key = &put->manifest.key;
    const struct rs_origin *origin = &put->manifest.origin;
    uint32_t i = rs_group_vacant(&put->index);
    if (i == RS_NO_ENTRY) {
        return too_few(attempt, RS_ROOM_GROUPS);
    }
    struct rs_group *group = rs_group_at(&put->index, i);
    uint64_t generation = rs_word_generation(GET(group->word));
    SET(group->owner, put->tag);
    for (int part = 0; part < RS_GROUP_OBJECTS; part++) {
        SET(group->objects[part], 0);
    }
    SET(rs_stamps(&put->index)[i], rs_now_ms());
    put->group = i;
    put->word = rs_word(RS_ENTRY_WRITING, generation);
    RS_KILL_POINT(group_claimed);
    atomic_store(&group->word, put->word);
    add(&put->index.segment->groups_used);
    RS_KILL_POINT(group_writing);
    for (int part = 0; part < 4; part++) {
        uint64_t word;
        __builtin_memcpy(&word, key->key.bytes + part * 8, 8);
        SET(group->key[part], word);
    }
    SET(group->kind, (uint32_t)key->kind);
    SET(group->class_id, key->class_id);
    SET(group->dev, origin->dev);
    SET(group->ino, origin->ino);
    SET(group->job, origin->job);
    SET(group->run, origin->run);
    SET(group->flags, put->flags & RS_PUT_WARM ? (uint32_t)RS_GROUP_WARM : 0);
    SET(group->pid, GET(put->slot->pid));
    SET(group->rank, GET(put->slot->rank));
    attempt->object = i;
    return true;
}

enum rs_put_result rs_put_begin(struct rs_put *put)
{
    struct attempt attempt = {.put = put, .once = claim_group, .object = RS_NO_ENTRY};
    put->fd = rs_payload_open(put->store, true, &put->base);
    if (put->fd < 0) {
        return RS_PUT_NO_ROOM;
    }
    enum rs_put_result result = try_with_room(&attempt);
    if (result != RS_PUT_STORED) {
        rs_sys_close(put->fd);
    }
    return result;
}

/* Under the lock. */
static struct rs_group *mine(const struct rs_put *put)
{
    struct rs_group *group = rs_group_at(&put->index, put->group);
    return group && atomic_load(&group->word) == put->word && GET(group->owner) == put->tag ? group
                                                                                            : NULL;
}

void rs_put_cancel(struct rs_put *put)
{
    if (rs_index_lock(&put->index, put->tag)) {
        if (mine(put)) {
            rs_group_free(&put->index, put->group);
        }
        rs_index_unlock(&put->index, put->tag);
    }
    rs_sys_close(put->fd);
}

/* ---- objects ----------------------------------------------------------------------------------
 */

static uint32_t find_object(const struct rs_put *put, const struct rs_put_bytes *bytes)
{
    return rs_object_find(&put->index, bytes->hash, !bytes->any, bytes->check,
                          (uint32_t)bytes->size);
}

static bool adopt(struct attempt *attempt, struct rs_group *group)
{
    uint32_t i = find_object(attempt->put, attempt->bytes);
    if (i == RS_NO_ENTRY) {
        return false;
    }
    struct rs_object *object = rs_object_at(&attempt->put->index, i);
    SET(object->refs, GET(object->refs) + 1);
    RS_KILL_POINT(object_referred);
    SET(group->objects[attempt->n], i + 1);
    attempt->object = i;
    attempt->check = GET(object->check);
    attempt->raw = GET(object->raw);
    attempt->found = true;
    return true;
}

static bool adopt_only(struct attempt *attempt)
{
    struct rs_group *group = mine(attempt->put);
    attempt->lost = !group;
    return !group || adopt(attempt, group) || true;
}

static bool claim_object(struct attempt *attempt)
{
    struct rs_put *put = attempt->put;
    struct rs_group *group = mine(put);
    attempt->lost = !group;
    if (!group || adopt(attempt, group)) {
        return true;
    }
    struct rs_blocks blocks = rs_index_blocks(&put->index);
    uint32_t size = rs_granules(attempt->stored);
    uint32_t at = rs_blocks_take(&blocks, size);
    if (at == RS_NO_BLOCK) {
        return too_few(attempt, RS_ROOM_ARENA);
    }
    uint32_t i = rs_object_vacant(&put->index);
    if (i == RS_NO_ENTRY) {
        rs_blocks_give(&blocks, at, size);
        return too_few(attempt, RS_ROOM_OBJECTS);
    }
    struct rs_object *object = rs_object_at(&put->index, i);
    uint64_t generation = rs_word_generation(GET(object->word));
    SET(object->low, attempt->bytes->hash.low);
    SET(object->high, attempt->bytes->hash.high);
    SET(object->check, attempt->bytes->check);
    SET(object->offset, (uint64_t)at * RS_GRANULE);
    SET(object->stored, (uint32_t)attempt->stored);
    SET(object->raw, (uint32_t)attempt->bytes->size);
    SET(object->refs, 1);
    RS_KILL_POINT(object_claimed);
    atomic_store(&object->word, rs_word(RS_ENTRY_WRITING, generation));
    RS_KILL_POINT(object_writing);
    SET(group->objects[attempt->n], i + 1);
    add(&put->index.segment->objects_used);
    SET(put->index.segment->arena_used,
        GET(put->index.segment->arena_used) + (uint64_t)size * RS_GRANULE);
    attempt->object = i;
    attempt->offset = (uint64_t)at * RS_GRANULE;
    attempt->check = attempt->bytes->check;
    attempt->raw = (uint32_t)attempt->bytes->size;
    return true;
}

static enum rs_put_result write_object(struct rs_put *put, const struct attempt *attempt)
{
    const void *data = attempt->packed ? attempt->packed : attempt->bytes->data;
    RS_KILL_POINT(payload_before);
    if (!rs_payload_write(put->fd, put->base, attempt->offset, data, attempt->stored)) {
        return RS_PUT_NO_ROOM;
    }
    RS_KILL_POINT(payload_written);
    rs_slot_count(put->slot, RS_C_artifact_put_bytes, attempt->stored);
    return RS_PUT_STORED;
}

/* Unpacking takes several times as long as reading, so bytes are packed only when the arena gets
 * full. */
static bool is_short(const struct rs_segment *segment, size_t size)
{
    return GET(segment->arena_used) + size > GET(segment->arena_size) / 2;
}

enum rs_put_result rs_put_object(struct rs_put *put, unsigned n, const struct rs_put_bytes *bytes,
                                 uint64_t *check, uint32_t *raw)
{
    struct rs_arena work;
    struct attempt attempt = {.put = put, .n = n, .bytes = bytes, .object = RS_NO_ENTRY};
    enum rs_put_result result = RS_PUT_STORED;
    rs_arena_init(&work, 2 * RS_PART_SIZE_MAX);
    if (find_object(put, bytes) != RS_NO_ENTRY) {
        attempt.once = adopt_only;
        result = try_with_room(&attempt);
    }
    if (attempt.object == RS_NO_ENTRY && !attempt.lost && result != RS_PUT_BUSY) {
        attempt.once = claim_object;
        attempt.stored = bytes->size;
        if (is_short(put->index.segment, bytes->size)) {
            attempt.packed = rs_pack(&work, bytes->data, bytes->size, &attempt.stored);
        }
        result = try_with_room(&attempt);
        if (result == RS_PUT_STORED && !attempt.found) {
            result = write_object(put, &attempt);
        }
    }
    *check = attempt.check;
    *raw = attempt.raw;
    rs_arena_free(&work);
    return result;
}

/* ---- publishing -------------------------------------------------------------------------------
 */

/* Under the lock. The objects that this process has written become everybody's, unless another has
 * put the same bytes meanwhile. */
static void publish_objects(struct rs_put *put, struct rs_group *group)
{
    for (unsigned n = 0; n < RS_GROUP_OBJECTS; n++) {
        uint32_t own = GET(group->objects[n]);
        struct rs_object *object = own ? rs_object_at(&put->index, own - 1) : NULL;
        uint64_t word = object ? GET(object->word) : 0;
        if (rs_word_state(word) != RS_ENTRY_WRITING) {
            continue;
        }
        struct rs_hash128 hash = {GET(object->low), GET(object->high)};
        uint32_t other =
            rs_object_find(&put->index, hash, true, GET(object->check), GET(object->raw));
        if (other != RS_NO_ENTRY) {
            struct rs_object *there = rs_object_at(&put->index, other);
            SET(there->refs, GET(there->refs) + 1);
            SET(group->objects[n], other + 1);
            rs_object_drop(&put->index, own);
            continue;
        }
        RS_KILL_POINT(object_publishing);
        atomic_store(&object->word, rs_word(RS_ENTRY_READY, rs_word_generation(word)));
        rs_chain_add(rs_object_head(&put->index, hash.low), &object->next, own - 1);
    }
}

static bool run_is_over(const struct rs_segment *segment, uint32_t job, uint32_t run)
{
    return job >= RS_JOBS || GET(rs_jobs(segment)[job].run) != run || !rs_job_alive(segment, job);
}

/* Whether group I stands where the new one of PUT will: same key, same root, same run or one that
 * is over. */
static bool stands_for(const struct rs_put *put, const struct rs_group *group)
{
    const struct rs_origin *origin = &put->manifest.origin;
    struct rs_origin there = rs_group_origin(group);
    if (rs_word_state(GET(group->word)) != RS_ENTRY_READY ||
        !rs_group_has_key(group, &put->manifest.key) || there.dev != origin->dev ||
        there.ino != origin->ino) {
        return false;
    }
    return (there.job == origin->job && there.run == origin->run) ||
           run_is_over(put->index.segment, there.job, there.run);
}

/* The next group along the chain behind *AT that stands for PUT's; RS_NO_ENTRY: none. */
static uint32_t next_former(const struct rs_put *put, uint32_t *at)
{
    for (int step = 0; *at != 0 && step < RS_STEPS; step++) {
        uint32_t i = *at - 1;
        const struct rs_group *group = rs_group_at(&put->index, i);
        if (!group) {
            break;
        }
        *at = GET(group->next);
        if (i != put->group && stands_for(put, group)) {
            return i;
        }
    }
    *at = 0;
    return RS_NO_ENTRY;
}

static uint64_t promise(const struct rs_put *put)
{
    return put->flags & RS_PUT_PROMISED ? rs_now_ms() + PROMISE_MS : 0;
}

/* Under the lock. */
static bool same_there(struct rs_put *put, struct rs_hash128 seal)
{
    const struct rs_origin *origin = &put->manifest.origin;
    uint32_t at = GET(*rs_group_head(&put->index, &put->manifest.key)), i;
    while ((i = next_former(put, &at)) != RS_NO_ENTRY) {
        struct rs_group *group = rs_group_at(&put->index, i);
        bool warm = GET(group->flags) & RS_GROUP_WARM;
        bool same = GET(group->seal[0]) == seal.low && GET(group->seal[1]) == seal.high &&
                    GET(group->job) == origin->job && GET(group->run) == origin->run &&
                    (warm || !(put->flags & RS_PUT_WARM));
        if (same || (put->flags & RS_PUT_FIRST)) {
            SET(rs_stamps(&put->index)[i], rs_now_ms());
            if (put->flags & RS_PUT_PROMISED) {
                SET(group->keep_ms, promise(put));
            }
            return true;
        }
    }
    return false;
}

bool rs_put_there(struct rs_put *put, struct rs_hash128 seal)
{
    put->group = RS_NO_ENTRY;
    if (!rs_index_lock(&put->index, put->tag)) {
        return false;
    }
    bool there = same_there(put, seal);
    rs_index_unlock(&put->index, put->tag);
    return there;
}

static void free_former(struct rs_put *put)
{
    uint32_t at = GET(*rs_group_head(&put->index, &put->manifest.key)), i;
    while ((i = next_former(put, &at)) != RS_NO_ENTRY) {
        rs_group_free(&put->index, i);
    }
}

enum rs_put_result rs_put_publish(struct rs_put *put, struct rs_hash128 seal, uint64_t raw)
{
    enum rs_put_result result = RS_PUT_BUSY;
    if (!rs_index_lock(&put->index, put->tag)) {
        rs_put_cancel(put);
        return result;
    }
    RS_KILL_POINT(publish_locked);
    struct rs_group *group = mine(put);
    if (group && same_there(put, seal)) {
        rs_group_free(&put->index, put->group);
        result = RS_PUT_THERE;
    } else if (group) {
        publish_objects(put, group);
        SET(group->seal[0], seal.low);
        SET(group->seal[1], seal.high);
        SET(group->count, put->manifest.count + 1);
        SET(group->raw, raw);
        SET(group->put_ns, rs_sys_clock_ns(CLOCK_REALTIME));
        SET(group->keep_ms, promise(put));
        SET(rs_stamps(&put->index)[put->group], rs_now_ms());
        RS_KILL_POINT(group_publishing);
        uint64_t generation = rs_word_generation(put->word);
        atomic_store(&group->word, rs_word(RS_ENTRY_READY, generation));
        rs_chain_add(rs_group_head(&put->index, &put->manifest.key), &group->next, put->group);
        RS_KILL_POINT(group_published);
        free_former(put);
        result = RS_PUT_STORED;
    }
    rs_index_unlock(&put->index, put->tag);
    rs_sys_close(put->fd);
    return result;
}
