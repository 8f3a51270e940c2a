/* SPDX-License-Identifier: Apache-2.0
 *
 * slowfs SOURCE MOUNTPOINT DELAY_US LOG: a file system that shows SOURCE as it is, takes its time
 * for each read and notes it in LOG: "<bytes> <offset> <path>". The kernel keeps no file's pages.
 */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int source = -1, notes = -1;
static unsigned delay_us;

/* Paths begin with a slash. */
static const char *below(const char *path)
{
    return path[1] ? path + 1 : ".";
}

static int result(int value)
{
    return value < 0 ? -errno : 0;
}

static void take_time(void)
{
    if (delay_us)
        usleep(delay_us);
}

static void *start(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)connection;
    config->use_ino = 1; /* the source's: a file keeps its number */
    config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
    return NULL;
}

static int slow_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
    (void)info;
    return result(fstatat(source, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int slow_readlink(const char *path, char *out, size_t size)
{
    ssize_t got = readlinkat(source, below(path), out, size - 1);
    if (got < 0)
        return -errno;
    out[got] = '\0';
    return 0;
}

static int slow_mkdir(const char *path, mode_t mode)
{
    return result(mkdirat(source, below(path), mode));
}

static int slow_unlink(const char *path)
{
    return result(unlinkat(source, below(path), 0));
}

static int slow_rmdir(const char *path)
{
    return result(unlinkat(source, below(path), AT_REMOVEDIR));
}

static int slow_symlink(const char *target, const char *path)
{
    return result(symlinkat(target, source, below(path)));
}

static int slow_rename(const char *from, const char *to, unsigned flags)
{
    return result(renameat2(source, below(from), source, below(to), flags));
}

static int slow_link(const char *from, const char *to)
{
    return result(linkat(source, below(from), source, below(to), 0));
}

static int slow_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    (void)info;
    return result(fchmodat(source, below(path), mode, 0));
}

static int slow_chown(const char *path, uid_t user, gid_t group, struct fuse_file_info *info)
{
    (void)info;
    return result(fchownat(source, below(path), user, group, AT_SYMLINK_NOFOLLOW));
}

static int slow_truncate(const char *path, off_t size, struct fuse_file_info *info)
{
    int fd = info ? (int)info->fh : openat(source, below(path), O_WRONLY | O_CLOEXEC);
    int value = fd < 0 ? -errno : result(ftruncate(fd, size));
    if (!info && fd >= 0)
        close(fd);
    return value;
}

static int slow_utimens(const char *path, const struct timespec times[2],
                        struct fuse_file_info *info)
{
    (void)info;
    return result(utimensat(source, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int opened(int fd, struct fuse_file_info *info)
{
    if (fd < 0)
        return -errno;
    info->fh = (uint64_t)fd;
    info->direct_io = 1; /* each read comes here, and none that nobody asked for */
    return 0;
}

static int slow_open(const char *path, struct fuse_file_info *info)
{
    return opened(openat(source, below(path), (info->flags & ~O_NOFOLLOW) | O_CLOEXEC), info);
}

static int slow_create(const char *path, mode_t mode, struct fuse_file_info *info)
{
    return opened(openat(source, below(path), info->flags | O_CREAT | O_CLOEXEC, mode), info);
}

static int slow_read(const char *path, char *out, size_t size, off_t at,
                     struct fuse_file_info *info)
{
    char line[4200];
    take_time();
    ssize_t got = pread((int)info->fh, out, size, at);
    int length = snprintf(line, sizeof(line), "%zd %lld %s\n", got, (long long)at, path);
    if (got > 0 && write(notes, line, (size_t)length) != length)
        return -EIO;
    return got < 0 ? -errno : (int)got;
}

static int slow_write(const char *path, const char *data, size_t size, off_t at,
                      struct fuse_file_info *info)
{
    (void)path;
    ssize_t got = pwrite((int)info->fh, data, size, at);
    return got < 0 ? -errno : (int)got;
}

static int slow_release(const char *path, struct fuse_file_info *info)
{
    (void)path;
    return result(close((int)info->fh));
}

static int slow_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t at,
                        struct fuse_file_info *info, enum fuse_readdir_flags flags)
{
    (void)at;
    (void)info;
    (void)flags;
    int fd = openat(source, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream)
        return -errno;
    for (struct dirent *entry; (entry = readdir(stream));) {
        struct stat st = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};
        fill(buffer, entry->d_name, &st, 0, 0);
    }
    closedir(stream);
    return 0;
}

static int slow_statfs(const char *path, struct statvfs *out)
{
    (void)path;
    return result(fstatvfs(source, out));
}

static const struct fuse_operations operations = {
    .init = start,
    .getattr = slow_getattr,
    .readlink = slow_readlink,
    .mkdir = slow_mkdir,
    .unlink = slow_unlink,
    .rmdir = slow_rmdir,
    .symlink = slow_symlink,
    .rename = slow_rename,
    .link = slow_link,
    .chmod = slow_chmod,
    .chown = slow_chown,
    .truncate = slow_truncate,
    .utimens = slow_utimens,
    .open = slow_open,
    .create = slow_create,
    .read = slow_read,
    .write = slow_write,
    .release = slow_release,
    .readdir = slow_readdir,
    .statfs = slow_statfs,
};

int main(int argc, char **argv)
{
    if (argc != 5)
        return 1;
    delay_us = (unsigned)strtoul(argv[3], NULL, 10);
    source = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    notes = open(argv[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (source < 0 || notes < 0) {
        perror("slowfs");
        return 1;
    }
    umask(0); /* modes come as the program's own umask has left them */
    char *words[] = {argv[0], "-f", argv[2], NULL};
    return fuse_main(3, words, &operations, NULL);
}
