/* SPDX-License-Identifier: Apache-2.0 */
#include "route/disk.h"

#include <stddef.h>

struct disk {
    uint32_t type;
    bool local;
    const char *name;
};

static const struct disk disks[] = {
#define RS_DISK(name, type, local) {type, local, #name},
#include "route/disk.def"
#undef RS_DISK
};

static const struct disk *disk_of(uint32_t type)
{
    for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
        if (disks[i].type == type) {
            return &disks[i];
        }
    }
    return NULL;
}

bool rs_disk_local(uint32_t type)
{
    const struct disk *disk = disk_of(type);
    return disk && disk->local;
}

const char *rs_disk_name(uint32_t type)
{
    const struct disk *disk = disk_of(type);
    return disk ? disk->name : NULL;
}
