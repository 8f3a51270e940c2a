/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/reads.h"

#include "base/state.h"
#include "base/sys.h"
#include "route/disk.h"

#include <stdatomic.h>
#include <sys/statfs.h>

/* A rank that reads an artifact for all has so long; the others then read it themselves. */
enum { PATIENCE_S = 10 };

/* What is known of file systems: their number and, in the lowest bit, whether they are local. */
enum { DISKS = 64 };
static _Atomic uint64_t disks[DISKS];

static bool ask_disk(int fd)
{
    struct statfs found;
    return syscall(SYS_fstatfs, fd, &found) == 0 && rs_disk_local((uint32_t)found.f_type);
}

/* Asks the kernel once for each file system. */
static bool is_local(int fd, uint64_t dev)
{
    uint64_t name = (dev + 1) << 1;
    for (size_t i = 0; i < DISKS; i++) {
        uint64_t known = atomic_load_explicit(&disks[i], memory_order_relaxed);
        if (known == 0) {
            bool local = ask_disk(fd);
            /* Another thread may take the place first; the next read then tries the one behind. */
            (void)atomic_compare_exchange_strong(&disks[i], &known, name | local);
            return local;
        }
        if ((known & ~UINT64_C(1)) == name) {
            return known & 1;
        }
    }
    return ask_disk(fd);
}

bool rs_reads_from_memory(int fd, uint64_t dev)
{
    return rs_config.reads == RS_READS_AUTO ? !is_local(fd, dev)
                                            : rs_config.reads == RS_READS_MEMORY;
}

bool rs_reads_take_turn(struct rs_node *node, const struct rs_artifact_key *key,
                        const struct rs_origin *origin, struct rs_turn *turn)
{
    /* This process has waited in vain for another one's read, and waits no more. */
    static _Atomic bool impatient;
    uint64_t patience = rs_config.wait_s < PATIENCE_S ? rs_config.wait_s : PATIENCE_S;
    if (atomic_load_explicit(&impatient, memory_order_relaxed)) {
        patience = 0;
    }
    bool taken = rs_turn_take(&node->store, node->slot, key, origin, patience * RS_NS_PER_S, turn);
    if (!taken && patience) {
        atomic_store(&impatient, true);
    }
    return taken;
}
