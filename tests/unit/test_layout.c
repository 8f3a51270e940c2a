/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of the shared segment, to the byte. Whoever changes a number here raises
 * RANKSHARE_LAYOUT.
 */
#include "store/layout.h"

#include <criterion/criterion.h>
#include <stddef.h>

#define AT(type, field, offset, size)                                                              \
    cr_expect(offsetof(struct type, field) == (offset) &&                                          \
                  sizeof(((struct type *)0)->field) == (size),                                     \
              #type "." #field " is at %zu, %zu bytes", offsetof(struct type, field),              \
              sizeof(((struct type *)0)->field))

Test(layout, number)
{
    cr_assert_eq(RANKSHARE_LAYOUT, 11);
}

/* A build refuses a segment with another number of counters, and a left-over one stays until the
 * next boot: an upgrade without a new layout number would go on without leases. */
Test(layout, counters)
{
    cr_assert_eq(RS_COUNTER_COUNT, 116);
}

Test(layout, header)
{
    AT(rs_segment, magic, 0, 8);
    AT(rs_segment, layout, 8, 4);
    AT(rs_segment, header_size, 12, 4);
    AT(rs_segment, total_size, 16, 8);
    AT(rs_segment, page_size, 24, 4);
    AT(rs_segment, uid, 28, 4);
    AT(rs_segment, created_ns, 32, 8);
    AT(rs_segment, creator_start, 40, 8);
    AT(rs_segment, creator_space, 48, 8);
    AT(rs_segment, creator_pid, 56, 4);
    AT(rs_segment, counter_count, 60, 4);
    AT(rs_segment, boot_id, 64, 40);
    AT(rs_segment, modules, 104, 16);
    AT(rs_segment, reserved0, 120, 8);
    AT(rs_segment, jobs, 128, 16);
    AT(rs_segment, slots, 144, 16);
    AT(rs_segment, leases, 160, 16);
    AT(rs_segment, events, 176, 16);
    AT(rs_segment, groups, 192, 16);
    AT(rs_segment, objects, 208, 16);
    AT(rs_segment, pins, 224, 16);
    AT(rs_segment, index_offset, 240, 8);
    AT(rs_segment, arena_offset, 248, 8);
    AT(rs_segment, registry, 256, 8);
    AT(rs_segment, slots_used, 264, 4);
    AT(rs_segment, slot_hand, 268, 4);
    AT(rs_segment, runs, 272, 4);
    AT(rs_segment, events_next, 320, 8);
    AT(rs_segment, store_lock, 384, 8);
    AT(rs_segment, store_place, 448, 4);
    AT(rs_segment, groups_room, 452, 4);
    AT(rs_segment, objects_room, 456, 4);
    AT(rs_segment, reserved1, 460, 4);
    AT(rs_segment, arena_size, 464, 8);
    AT(rs_segment, arena_room, 472, 8);
    AT(rs_segment, file_dev, 480, 8);
    AT(rs_segment, file_ino, 488, 8);
    AT(rs_segment, file_born, 504, 8);
    AT(rs_segment, retry_ms, 496, 8);
    AT(rs_segment, groups_top, 512, 4);
    AT(rs_segment, objects_top, 516, 4);
    AT(rs_segment, groups_free, 520, 4);
    AT(rs_segment, objects_free, 524, 4);
    AT(rs_segment, groups_used, 528, 4);
    AT(rs_segment, objects_used, 532, 4);
    AT(rs_segment, arena_hand, 536, 4);
    AT(rs_segment, reserved2, 540, 4);
    AT(rs_segment, arena_used, 544, 8);
    AT(rs_segment, turns, 576, 2048);
    AT(rs_segment, reserved3, 2624, 1472);
    cr_assert_eq(sizeof(struct rs_segment), 4096);
    AT(rs_table, offset, 0, 8);
    AT(rs_table, count, 8, 4);
    AT(rs_table, stride, 12, 4);
}

Test(layout, job)
{
    AT(rs_job, word, 0, 8);
    AT(rs_job, first_ns, 8, 8);
    AT(rs_job, last_ns, 16, 8);
    AT(rs_job, run, 24, 4);
    AT(rs_job, world, 28, 4);
    AT(rs_job, versions, 32, 4);
    AT(rs_job, reserved, 36, 28);
    AT(rs_job, name, 64, 96);
    AT(rs_job, torch, 160, 64);
    AT(rs_job, triton, 224, 64);
    AT(rs_job, device, 288, 96);
    AT(rs_job, counters, 384, 1024);
    AT(rs_job, roots, 1408, 48);
    AT(rs_job_root, dev, 8, 8);
    AT(rs_job_root, ino, 16, 8);
    cr_assert_eq(sizeof(struct rs_job), 1472);
}

Test(layout, slot)
{
    AT(rs_slot, word, 0, 8);
    AT(rs_slot, start, 8, 8);
    AT(rs_slot, space, 16, 8);
    AT(rs_slot, claimed_ns, 24, 8);
    AT(rs_slot, pid, 32, 4);
    AT(rs_slot, rank, 36, 4);
    AT(rs_slot, world, 40, 4);
    AT(rs_slot, job, 44, 4);
    AT(rs_slot, ordinal, 48, 4);
    AT(rs_slot, group, 52, 4);
    AT(rs_slot, beat_s, 56, 4);
    AT(rs_slot, image, 60, 4);
    AT(rs_slot, counters, 64, 1024);
    cr_assert_eq(sizeof(struct rs_slot), 1088);
    cr_assert_eq(_Alignof(struct rs_slot), 64, "counters share a line with another process");
}

Test(layout, lease)
{
    AT(rs_lease, word, 0, 8);
    AT(rs_lease, turn, 8, 4);
    AT(rs_lease, kind, 12, 4);
    AT(rs_lease, key, 16, 32);
    AT(rs_lease, dev, 48, 8);
    AT(rs_lease, ino, 56, 8);
    AT(rs_lease, thread_start, 64, 8);
    AT(rs_lease, taken_ns, 72, 8);
    AT(rs_lease, tid, 80, 4);
    AT(rs_lease, job, 84, 4);
    AT(rs_lease, run, 88, 4);
    AT(rs_lease, reserved0, 92, 4);
    AT(rs_lease, storing, 96, 8);
    AT(rs_lease, reserved1, 104, 24);
    cr_assert_eq(sizeof(struct rs_lease), 128);
}

Test(layout, event)
{
    AT(rs_event, time_ns, 0, 8);
    AT(rs_event, value, 8, 8);
    AT(rs_event, pid, 16, 4);
    AT(rs_event, rank, 20, 4);
    AT(rs_event, job, 24, 4);
    AT(rs_event, type, 28, 1);
    AT(rs_event, kind, 29, 1);
    AT(rs_event, reserved, 30, 2);
    AT(rs_event, key, 32, 32);
    cr_assert_eq(sizeof(struct rs_event), 64);
    AT(rs_event_cell, word, 0, 8);
    AT(rs_event_cell, data, 8, 64);
    cr_assert_eq(sizeof(struct rs_event_cell), 72);
}

Test(layout, group)
{
    AT(rs_group, word, 0, 8);
    AT(rs_group, owner, 8, 8);
    AT(rs_group, key, 16, 32);
    AT(rs_group, class_id, 48, 8);
    AT(rs_group, dev, 56, 8);
    AT(rs_group, ino, 64, 8);
    AT(rs_group, seal, 72, 16);
    AT(rs_group, job, 88, 4);
    AT(rs_group, run, 92, 4);
    AT(rs_group, kind, 96, 4);
    AT(rs_group, next, 100, 4);
    AT(rs_group, count, 104, 4);
    AT(rs_group, flags, 108, 4);
    AT(rs_group, raw, 112, 8);
    AT(rs_group, put_ns, 120, 8);
    AT(rs_group, pid, 128, 4);
    AT(rs_group, rank, 132, 4);
    AT(rs_group, keep_ms, 136, 8);
    AT(rs_group, objects, 144, 112);
    cr_assert_eq(sizeof(struct rs_group), 256);
}

Test(layout, object)
{
    AT(rs_object, word, 0, 8);
    AT(rs_object, low, 8, 8);
    AT(rs_object, high, 16, 8);
    AT(rs_object, check, 24, 8);
    AT(rs_object, offset, 32, 8);
    AT(rs_object, stored, 40, 4);
    AT(rs_object, raw, 44, 4);
    AT(rs_object, refs, 48, 4);
    AT(rs_object, next, 52, 4);
    AT(rs_object, reserved, 56, 8);
    cr_assert_eq(sizeof(struct rs_object), 64);
}

Test(layout, pin)
{
    AT(rs_pin, tag, 0, 8);
    AT(rs_pin, group, 8, 8);
    AT(rs_pin, since_ms, 16, 8);
    AT(rs_pin, reserved, 24, 8);
    cr_assert_eq(sizeof(struct rs_pin), 32);
}

Test(layout, module)
{
    AT(rs_module, word, 0, 8);
    AT(rs_module, low, 8, 8);
    AT(rs_module, high, 16, 8);
    AT(rs_module, size, 24, 8);
    AT(rs_module, loads, 32, 8);
    AT(rs_module, ns, 40, 8);
    AT(rs_module, ranks, 48, 16);
    AT(rs_module, kind, 64, 4);
    AT(rs_module, arch, 68, 4);
    AT(rs_module, kernels, 72, 4);
    AT(rs_module, flags, 76, 4);
    AT(rs_module, failed, 80, 4);
    AT(rs_module, refused_by, 84, 4);
    AT(rs_module, used_s, 88, 4);
    AT(rs_module, first, 92, 4);
    AT(rs_module, kernel, 96, 96);
    cr_assert_eq(sizeof(struct rs_module), 192);
}

Test(layout, tables)
{
    cr_assert_eq(RS_AT_JOBS, 4096);
    cr_assert_eq(RS_AT_SLOTS, 380928);
    cr_assert_eq(RS_AT_LEASES, 4837376);
    cr_assert_eq(RS_AT_EVENTS, 5361664);
    cr_assert_eq(RS_AT_MODULES, 6541312);
    cr_assert_eq(RS_SEGMENT_SIZE, 7327744);
    cr_assert_eq(RS_AT_SLOTS % 64, 0);
    cr_assert_eq(RS_AT_LEASES % 64, 0);
    cr_assert_eq(RS_AT_INDEX, 7340032);
    cr_assert_eq(RS_IN_OBJECT_HEADS, 262144);
    cr_assert_eq(RS_IN_PINS, 524288);
    cr_assert_eq(RS_IN_WANTED, 589824);
    cr_assert_eq(RS_IN_BITMAP, 655360);
    cr_assert_eq(RS_IN_STAMPS, 2752512);
    cr_assert_eq(RS_IN_GROUPS, 3801088);
    cr_assert_eq(RS_IN_OBJECTS, 37355520);
    cr_assert_eq(RS_INDEX_SIZE, 54132736);
    cr_assert_eq(RS_AT_ARENA, 61472768);
    cr_assert_eq(RS_AT_ARENA % 4096, 0);
}
