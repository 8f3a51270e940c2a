/* SPDX-License-Identifier: Apache-2.0 */
#include "route/disk.h"

#include <criterion/criterion.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statfs.h>

/* The kernel's own numbers, where its headers have them. */
Test(disk, local_ones)
{
    static const uint32_t local[] = {EXT4_SUPER_MAGIC,  XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
                                     TMPFS_MAGIC,       OVERLAYFS_SUPER_MAGIC, RAMFS_MAGIC,
                                     F2FS_SUPER_MAGIC,  SQUASHFS_MAGIC,        EROFS_SUPER_MAGIC_V1,
                                     NILFS_SUPER_MAGIC, MSDOS_SUPER_MAGIC,     EXFAT_SUPER_MAGIC};
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        cr_assert(rs_disk_local(local[i]), "%x", local[i]);
    }
}

Test(disk, others_are_not)
{
    static const uint32_t others[] = {NFS_SUPER_MAGIC,  SMB_SUPER_MAGIC,  SMB2_SUPER_MAGIC,
                                      CIFS_SUPER_MAGIC, CEPH_SUPER_MAGIC, FUSE_SUPER_MAGIC,
                                      V9FS_MAGIC,       AFS_FS_MAGIC,     OCFS2_SUPER_MAGIC,
                                      0x0BD00BD0,       0x47504653,       0,
                                      UINT32_MAX,       PROC_SUPER_MAGIC, 0x12345678};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        cr_assert(!rs_disk_local(others[i]), "%x", others[i]);
    }
}

Test(disk, names)
{
    cr_assert_str_eq(rs_disk_name(EXT4_SUPER_MAGIC), "ext4");
    cr_assert_str_eq(rs_disk_name(V9FS_MAGIC), "9p");
    cr_assert_str_eq(rs_disk_name(0x0BD00BD0), "lustre");
    cr_assert(rs_disk_name(0x12345678) == NULL);
}

/* What statfs(2) says, not what the headers do. */
Test(disk, shared_memory_is_local)
{
    struct statfs found;
    cr_assert_eq(statfs("/dev/shm", &found), 0);
    cr_assert(rs_disk_local((uint32_t)found.f_type));
}

/* A type that stands in the table twice would mean what its first row says. */
Test(disk, no_type_twice)
{
    static const uint32_t types[] = {
#define RS_DISK(name, type, local) type,
#include "route/disk.def"
#undef RS_DISK
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        for (size_t j = 0; j < i; j++) {
            cr_assert_neq(types[i], types[j]);
        }
    }
}
