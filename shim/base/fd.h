/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be done with an open file by its descriptor alone, through /proc. Raw system calls;
 * thread and fork safe. -1 means an error, errno says which; it is not preserved otherwise.
 */
#ifndef RS_BASE_FD_H
#define RS_BASE_FD_H

#include <stddef.h>
#include <sys/types.h>

/* Opens the file of FD once more, with FLAGS and O_CLOEXEC. */
int rs_fd_reopen(int fd, int flags);

/* Gives the file of FD, which may have no name (O_TMPFILE), the new name PATH below DIRFD.
 * EOPNOTSUPP: /proc shows no descriptors here. */
int rs_fd_link(int fd, int dirfd, const char *path);

/* Puts the path of FD's file into PATH, without a zero byte; its length. */
ssize_t rs_fd_path(int fd, char *path, size_t size);

#endif
