/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that the artifact store lies in. They are opened by name for each use and compared with
 * what they must be: a descriptor kept open may be closed by the program, and its number may become
 * one of the program's own files. Raw system calls; thread and fork safe; errno is not kept.
 */
#ifndef RS_STORE_PAYLOAD_H
#define RS_STORE_PAYLOAD_H

#include "store/store.h"

#include <sys/stat.h>

/* The segment's file, if it still has its name; -1 otherwise. */
int rs_segment_open(const struct rs_store *store, bool writable, struct stat *found);

/* The file that holds the arena, *BASE where it begins; -1 when there is none. */
int rs_payload_open(const struct rs_store *store, bool writable, uint64_t *base);

/* When FD's file was made, in nanoseconds; 0 where the file system keeps no such time. A removed
 * file's inode number is soon another's; this tells them apart. */
uint64_t rs_file_born(int fd);

/* All SIZE bytes at OFFSET of the arena, or false. Reading sets errno to 0 where the file ends, or
 * the offset is none. Writing never raises SIGXFSZ. */
bool rs_payload_read(int fd, uint64_t base, uint64_t offset, void *out, size_t size);
bool rs_payload_write(int fd, uint64_t base, uint64_t offset, const void *data, size_t size);

/* Gives the memory of a part of the arena that nobody uses back; writing there later may fail. */
void rs_payload_release(int fd, uint64_t base, uint64_t offset, uint64_t size);

/* Where DIR, the value of RANKSHARE_DIR, is; empty or NULL: the default. */
enum { RS_DIR_MAX = 1100 };
void rs_dir_path(const char *dir, char path[RS_DIR_MAX]);

/* RANKSHARE_DIR of STORE, made when absent and MAKE (0700), open; -1: it can't be had, or others
 * may write there. */
int rs_dir_open(const struct rs_store *store, bool make);
/* Name of the arena's file there. */
void rs_payload_name(const struct rs_store *store, char name[RS_SEGMENT_NAME_MAX + 8]);

/* Removes the arena's file of the segment NAME from DIR (NULL: the default). True when there was
 * one. */
bool rs_payload_remove(const char *name, const char *dir);

#endif
