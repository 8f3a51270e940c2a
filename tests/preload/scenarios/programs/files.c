/* SPDX-License-Identifier: Apache-2.0
 *
 * files ENTRY: the calls that we stand in front of, with all that is odd about them, and those that
 * pass us by. Prints one line per call; the same with and without us, for ENTRY (a file in a cache
 * directory) as for other files. Leaves what it made in the working directory.
 *
 * Also built as a library, to be called inside a Python, where the library looks closer.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *what, long result)
{
    int error = errno;
    printf("%s: %ld%s%s\n", what, result < 0 ? -1 : result, result < 0 ? " " : "",
           result < 0 ? strerror(error) : "");
    errno = 0;
}

/* What a descriptor is: its access mode and flags, and the first bytes that it gives. */
static void say_open(const char *what, int fd)
{
    char bytes[8] = {0};
    struct stat st;
    if (fd < 0) {
        say(what, fd);
        return;
    }
    int flags = fcntl(fd, F_GETFL), closes = fcntl(fd, F_GETFD);
    long got = read(fd, bytes, sizeof(bytes));
    int error = got < 0 ? errno : 0;
    fstat(fd, &st);
    printf("%s: descriptor %d flags %o %o size %lld mode %o read %ld %d", what, fd, flags, closes,
           (long long)st.st_size, st.st_mode, got, error);
    for (long i = 0; i < got; i++) {
        printf(" %02x", (unsigned char)bytes[i]);
    }
    puts("");
    close(fd);
    errno = 0;
}

static void opens(const char *entry)
{
    static const int flags[] = {
        O_RDONLY,
        O_RDONLY | O_CLOEXEC,
        O_RDONLY | O_NOFOLLOW,
        O_RDONLY | O_NONBLOCK | O_NOATIME,
        O_RDONLY | O_DIRECTORY,
        O_PATH,
        O_PATH | O_NOFOLLOW | O_CLOEXEC,
        O_WRONLY,
        O_RDWR,
        O_WRONLY | O_APPEND,
        O_RDWR | O_APPEND | O_CREAT,
        O_WRONLY | O_CREAT | O_EXCL,
        O_RDONLY | O_CREAT,
        O_WRONLY | O_RDWR,
        O_RDONLY | O_SYNC | O_DIRECT,
    };
    char label[64];
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        snprintf(label, sizeof(label), "open %o", flags[i]);
        say_open(label, open(entry, flags[i], 0640));
    }
    char *copy = strdup(entry), *name = strdup(entry);
    int directory = open(dirname(copy), O_PATH | O_DIRECTORY);
    say_open("openat", openat(directory, basename(name), O_RDONLY));
    say_open("openat of an absolute path", openat(-1, entry, O_RDONLY));
    say_open("openat below a file", openat(0, "x", O_RDONLY));
    say_open("openat of a bad directory", openat(-7, "x", O_RDONLY));
    say_open("O_TMPFILE", openat(AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0604));
    say_open("open64 O_TMPFILE", open(".", O_TMPFILE | O_WRONLY, 0600));
    say_open("creat", creat("made", 0604));
    say_open("an empty path", open("", O_RDONLY));
    close(directory);
    free(copy);
    free(name);
}

static void odd_paths(const char *entry)
{
    struct stat st;
    char longer[PATH_MAX + 200];
    const char *volatile none = NULL;
    snprintf(longer, sizeof(longer), "%s/", entry);
    say("a slash behind a file", stat(longer, &st));
    say_open("a slash behind a file", open(longer, O_RDONLY));
    snprintf(longer, sizeof(longer), "%.*s//./%s", (int)(strrchr(entry, '/') - entry), entry,
             strrchr(entry, '/') + 1);
    say("// and . inside", stat(longer, &st) ? -1 : (long)st.st_size);
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    say("a long name", stat(longer, &st));
    say_open("a long name", open(longer, O_RDONLY));
    for (size_t i = 0; i < PATH_MAX + 100; i += 2) {
        memcpy(longer + i, "./", 2);
    }
    memcpy(longer + PATH_MAX + 100, "__grp__x.json", 14);
    say("a long path", stat(longer, &st));
    say("a long path renamed", rename(longer, "x"));
    say("a long directory", mkdir(longer, 0700));
    say("no path", stat(none, &st));
    say_open("no path", open(none, O_RDONLY));
    say("no path", access(none, R_OK));
    say("no path", mkdir(none, 0700));
    say("no path", rmdir(none));
    say("no path", rename(none, "x"));
    say("no path", rename("nothing", none));
    say("no path", link("nothing", none));
    say("no path", fopen(none, "r") ? 1 : -1);
}

static void stats(const char *entry)
{
    struct stat st;
    int fd = open(entry, O_RDONLY);
    say("lstat", lstat(entry, &st) ? -1 : (long)st.st_size);
    say("blocks", (long)st.st_blocks);
    say("fstatat of a descriptor", fstatat(fd, "", &st, AT_EMPTY_PATH) ? -1 : (long)st.st_size);
    say("fstatat of an empty path", fstatat(fd, "", &st, 0));
    say("fstatat with bad flags", fstatat(AT_FDCWD, entry, &st, 0x40000000));
    say("access", access(entry, R_OK | W_OK));
    say("access of nothing", access("nothing", F_OK));
    say("faccessat", faccessat(AT_FDCWD, entry, X_OK, AT_EACCESS));
    say("faccessat with bad flags", faccessat(AT_FDCWD, entry, R_OK, 0x40000000));
#ifdef __GLIBC__
    static const unsigned masks[] = {0, STATX_BASIC_STATS, STATX_ALL, STATX_SIZE, 0x80000000u};
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        struct statx x = {0};
        say("statx", statx(AT_FDCWD, entry, AT_STATX_DONT_SYNC, masks[i], &x) ? -1 : x.stx_mask);
        say("statx size", (long)x.stx_size);
        say("statx mode", x.stx_mode);
    }
    struct statx x;
    say("statx of a descriptor", statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &x) ? -1 : x.stx_size);
#endif
    close(fd);
}

static void streams(const char *entry)
{
    static const char *const modes[] = {"r",
                                        "re",
                                        "rm",
                                        "rb+",
                                        "r+e",
                                        "a",
                                        "a+",
                                        "wx",
                                        "w+x",
                                        "w",
                                        "rc",
                                        "re,",
                                        "r+be",
                                        "q",
                                        "",
                                        "rw",
                                        "+",
                                        "r,ccs=UTF-8",
                                        "r,ccs=ISO-8859-1"};
    static const char *const files[] = {NULL, "made", "nothing/x"};
    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
        const char *path = files[f] ? files[f] : entry;
        for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
            char label[64];
            if (!files[f] && strchr("w", modes[i][0]) && modes[i][0]) {
                continue; /* the entry stays as it is */
            }
            snprintf(label, sizeof(label), "fopen %zu \"%s\"", f, modes[i]);
            FILE *stream = fopen(path, modes[i]);
            if (!stream) {
                say(label, -1);
                continue;
            }
            say_open(label, dup(fileno(stream)));
            fclose(stream);
        }
    }
    FILE *stream = fopen("made", "w");
    fputs("text", stream);
    stream = freopen(entry, "r", stream);
    say_open("freopen", stream ? dup(fileno(stream)) : -1);
    stream = stream ? freopen(NULL, "r", stream) : NULL;
    say_open("freopen of no path", stream ? dup(fileno(stream)) : -1);
    stream = stream ? freopen("nothing/x", "r", stream) : NULL;
    say("freopen of nothing", stream ? 1 : -1);
}

static long walked;
static int count_walked(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)path;
    walked = walked * 31 + st->st_size + type + where->level;
    walked &= 0xffffffff;
    return 0;
}

static void walks(const char *entry)
{
    char directory[PATH_MAX];
    struct dirent **list;
    glob_t found;
    snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(entry, '/') - entry), entry);
    say("scandir", scandir(directory, &list, NULL, alphasort));
    say("scandir of nothing", scandir("nothing", &list, NULL, alphasort));
    walked = 0;
    say("nftw", nftw(directory, count_walked, 4, FTW_PHYS));
    say("nftw saw", walked);
    strncat(directory, "/*", sizeof(directory) - strlen(directory) - 1);
    say("glob", glob(directory, GLOB_NOSORT, NULL, &found) ? -1 : (long)found.gl_pathc);
    say("opendir of a file", opendir(entry) ? 1 : -1);
}

static void names(void)
{
    say("mkdir", mkdir("triton", 0751));
    say("mkdir 3", mkdir("triton/3", 0700));
    say("mkdir again", mkdir("triton/3", 0700));
    say("mkdirat", mkdirat(AT_FDCWD, "triton/None", 0700));
    say("rename onto a filled directory", rename("made", "triton"));
    say("rename", rename("made", "triton/3/made"));
    say("renameat", renameat(AT_FDCWD, "triton/3/made", AT_FDCWD, "other"));
    say("link", link("other", "third"));
    say("linkat", linkat(AT_FDCWD, "other", AT_FDCWD, "third", 0));
#ifdef __GLIBC__
    say("renameat2 no replace", renameat2(AT_FDCWD, "other", AT_FDCWD, "third", RENAME_NOREPLACE));
    say("renameat2 exchange", renameat2(AT_FDCWD, "other", AT_FDCWD, "third", RENAME_EXCHANGE));
#endif
    say("unlinkat", unlinkat(AT_FDCWD, "third", 0));
    say("unlinkat of a directory", unlinkat(AT_FDCWD, "triton/None", AT_REMOVEDIR));
    say("rmdir of a filled one", rmdir("triton"));
    say("rmdir", rmdir("triton/3"));
    say("setenv", setenv("RANKSHARE_TEST", "1", 1));
    say("setenv of a bad name", setenv("A=B", "1", 1));
    say("setenv of an empty name", setenv("", "1", 1));
    say("putenv", putenv((char[]){"RANKSHARE_TEST=2"}));
    say("unsetenv", unsetenv("RANKSHARE_TEST"));
    say("it is gone", getenv("RANKSHARE_TEST") == NULL);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        return 2;
    }
    errno = 0;
    opens(arguments[1]);
    odd_paths(arguments[1]);
    stats(arguments[1]);
    streams(arguments[1]);
    walks(arguments[1]);
    names();
    fflush(stdout);
    return 3;
}
