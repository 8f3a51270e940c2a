/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/redirect.h"

#include "base/config.h"
#include "base/fd.h"
#include "base/state.h"
#include "base/sys.h"
#include "rank/count.h"
#include "route/private.h"
#include "store/payload.h"

#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

/* What the job's variables say of its caches' places. Other directories (RANKSHARE_ROOTS, those
 * that a program sets by itself) it has by other ways, which nobody could bend. */
static const char *const variables[] = {"TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"};
enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

/* A string of the environment, which the program goes on using, and the directory that it named
 * before. */
static struct {
    char text[RS_TEXT_MAX + 128];
    char from[RS_TEXT_MAX];
} memory[VARIABLES];

static struct rs_redirect redirects[VARIABLES];
_Atomic(int) rs_redirects;

enum { SOURCE_MAX = RS_TEXT_MAX + sizeof(RS_PRIVATE_SOURCE) + 1 };

static void link_of(const char *path, char link[SOURCE_MAX])
{
    snprintf(link, SOURCE_MAX, "%s/%s", path, RS_PRIVATE_SOURCE);
}

/* The directory PATH stands in for, if it is a private one; its length, else 0. */
static size_t source_of(const char *path, char *from, size_t size)
{
    char link[SOURCE_MAX];
    struct stat st;
    link_of(path, link);
    ssize_t length = rs_sys_readlinkat(AT_FDCWD, link, from, size - 1);
    bool ours = length > 0 && from[0] == '/' && (size_t)length < size - 1 &&
                rs_sys_fstatat(AT_FDCWD, path, &st, 0) == 0 && st.st_uid == rs_sys_geteuid();
    from[ours ? length : 0] = '\0';
    return ours ? (size_t)length : 0;
}

static bool allows(const char *path, int mode)
{
    return syscall(SYS_faccessat, AT_FDCWD, path, mode) == 0;
}

/* Whether PATH is a directory that can be read, and takes no file. One call where all is well. */
static bool is_closed(const char *path)
{
    struct stat st;
    return !allows(path, W_OK) && (errno == EACCES || errno == EROFS) &&
           rs_sys_fstatat(AT_FDCWD, path, &st, 0) == 0 && S_ISDIR(st.st_mode) &&
           allows(path, R_OK | X_OK);
}

/* Where libraries can't be loaded from (a /var/tmp mounted with noexec is common), torch's code for
 * the CPU and Triton's launchers would be of no use. */
static bool takes_libraries(int fd)
{
    struct statfs found;
    return syscall(SYS_fstatfs, fd, &found) == 0 && !(found.f_flags & ST_NOEXEC);
}

/* Makes the private directory for FROM and puts its path into PATH. */
static bool make(const char *from, char *path, size_t size)
{
    struct rs_store place = {.dir = rs_config.dir};
    char name[RS_PRIVATE_NAME];
    char base[RS_TEXT_MAX];
    bool made = false;
    int dir = rs_dir_open(&place, true);
    ssize_t length =
        dir >= 0 && takes_libraries(dir) ? rs_fd_path(dir, base, sizeof(base) - 1) : -1;
    if (length > 0) {
        base[length] = '\0';
        rs_private_name(from, name);
        int written = snprintf(path, size, "%s/%s", base, name);
        made = written > 0 && (size_t)written < size && written < RS_TEXT_MAX &&
               (rs_sys_mkdirat(dir, name, 0700) == 0 || errno == EEXIST);
    }
    if (dir >= 0) {
        rs_sys_close(dir);
    }
    return made;
}

/* The link says whose it is: it is there before the first process uses the directory. Two paths of
 * one name (a hash) are told apart by it. */
static bool claim(const char *from, const char *path)
{
    char link[SOURCE_MAX], was[RS_TEXT_MAX];
    link_of(path, link);
    (void)rs_sys_symlinkat(from, AT_FDCWD, link);
    return source_of(path, was, sizeof(was)) && strcmp(was, from) == 0 &&
           allows(path, R_OK | W_OK | X_OK);
}

static void add(const char *to, const char *from)
{
    int i = atomic_load_explicit(&rs_redirects, memory_order_relaxed);
    redirects[i] = (struct rs_redirect){to, from, strlen(to), strlen(from)};
    atomic_store_explicit(&rs_redirects, i + 1, memory_order_release);
    rs_count(RS_C_roots_redirected, 1);
}

/* *ENTRY is "NAME=directory". */
static void look(char **entry, size_t name, int i)
{
    char *text = memory[i].text, *from = memory[i].from;
    const char *value = *entry + name + 1;
    size_t length = strlen(value);
    while (length > 1 && value[length - 1] == '/') {
        length--;
    }
    if (value[0] != '/' || length < 2 || length >= RS_TEXT_MAX) {
        return;
    }
    memcpy(from, value, length);
    from[length] = '\0';
    if (is_closed(from)) {
        memcpy(text, *entry, name + 1);
        if (make(from, text + name + 1, sizeof(memory[i].text) - name - 1) &&
            claim(from, text + name + 1)) {
            *entry = text;
            add(text + name + 1, from);
        }
        return;
    }
    /* A child of a redirected process: its variable is right already. */
    memcpy(text, from, length + 1);
    if (rs_private_is_name(strrchr(text, '/') + 1) &&
        source_of(text, from, sizeof(memory[i].from))) {
        add(text, from);
    }
}

void rs_redirect_init(char **envp)
{
    bool seen[VARIABLES] = {false};
    for (; rs_config.redirect && *envp; envp++) {
        for (int i = 0; i < VARIABLES; i++) {
            size_t length = strlen(variables[i]);
            /* The first of two is the one that getenv finds. */
            if (!seen[i] && strncmp(*envp, variables[i], length) == 0 && (*envp)[length] == '=') {
                seen[i] = true;
                look(envp, length, i);
            }
        }
    }
}

const struct rs_redirect *rs_redirect_at(int i)
{
    return i < atomic_load_explicit(&rs_redirects, memory_order_acquire) ? &redirects[i] : NULL;
}

const struct rs_redirect *rs_redirect_find(const char *path)
{
    const struct rs_redirect *r;
    for (int i = 0; (r = rs_redirect_at(i)) != NULL; i++) {
        if (strncmp(path, r->to, r->to_size) == 0 && path[r->to_size] == '/') {
            return r;
        }
    }
    return NULL;
}
