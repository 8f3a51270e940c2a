/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own variables: what the library makes of each, in one sentence where that is not what was
 * probably meant.
 */
#include "base/config.h"
#include "doctor.h"
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <rankshare/segment.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHOWN = 60, SHOWN_MAX = 4 * SHOWN + 64 };

/* VALUE as it may go to a terminal: bytes that are no plain text in hexadecimal, long ones cut. */
static const char *shown(const char *value, char out[SHOWN_MAX])
{
    size_t at = 0, length = strlen(value);

    out[0] = '\0';
    for (size_t i = 0; i < length && i < SHOWN; i++) {
        unsigned char byte = (unsigned char)value[i];

        at += (size_t)snprintf(out + at, SHOWN_MAX - at,
                               isascii(byte) && isprint(byte) ? "%c" : "\\x%02x", byte);
    }
    if (length > SHOWN)
        snprintf(out + at, SHOWN_MAX - at, "... (%zu bytes)", length);
    return out;
}

/* Options that the library can't make sense of. Returns how many. */
static size_t check_nonsense(struct doctor *doctor)
{
    const char *name, *value, *fallback;
    char text[SHOWN_MAX];
    size_t count = 0;

    for (; (name = rs_config_problem(environ, count, &value, &fallback)); count++)
        doctor_say(doctor, FINDING_WRONG, "%s=%s makes no sense; %s is used", name,
                   shown(value, text), *fallback ? fallback : "the default");
    return count;
}

/* Roots that are no directories, or other ones in another working directory. */
static size_t check_roots(struct doctor *doctor, const char *roots)
{
    char text[SHOWN_MAX];
    struct stat st;
    size_t odd = 0;

    for (const char *root = roots; *root; root += strlen(root) + 1) {
        bool relative = *root != '/';

        if (!relative && stat(root, &st) == 0 && S_ISDIR(st.st_mode))
            continue;
        if (odd++ == 0)
            doctor_say(doctor, FINDING_NOTE, "RANKSHARE_ROOTS: %s %s", shown(root, text),
                       relative ? "is relative, so it means another directory wherever a rank works"
                                : "is no directory here (yet)");
    }
    return odd;
}

/* Why nothing can be made beside PATH; NULL: it can. */
static const char *parent_trouble(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *parent = slash ? tool_format("%.*s", (int)(slash - path) + 1, path) : tool_format(".");
    const char *trouble = access(parent, W_OK | X_OK) == 0 ? NULL : strerror(errno);
    free(parent);
    return trouble;
}

/* Why no line can be written to LOG; NULL: it can. */
static const char *log_trouble(const char *log)
{
    struct stat st;

    if (stat(log, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return access(log, W_OK | X_OK) == 0 ? NULL : strerror(errno);
        if (!S_ISREG(st.st_mode))
            return "it is neither a file nor a directory";
        return access(log, W_OK) == 0 ? NULL : strerror(errno);
    }
    return errno == ENOENT ? parent_trouble(log) : strerror(errno);
}

static size_t check_log(struct doctor *doctor, const char *log)
{
    const char *trouble = *log ? log_trouble(log) : NULL;
    char text[SHOWN_MAX];

    if (trouble)
        doctor_say(doctor, FINDING_NOTE, "RANKSHARE_LOG=%s: nothing will be logged: %s",
                   shown(log, text), trouble);
    return trouble != NULL;
}

static size_t check_job(struct doctor *doctor, const char *job)
{
    bool cut = strlen(job) >= RS_JOB_NAME_MAX;

    if (cut)
        doctor_say(doctor, FINDING_NOTE,
                   "RANKSHARE_JOB: the statistics keep the first %d of %zu bytes",
                   RS_JOB_NAME_MAX - 1, strlen(job));
    return cut;
}

static size_t check_size(struct doctor *doctor, uint64_t size)
{
    if (size == 0)
        doctor_say(doctor, FINDING_NOTE, "RANKSHARE_SIZE=0: no artifacts are kept for other ranks");
    else if (size != RS_SIZE_UNSET && size > RS_ARENA_MAX)
        doctor_say(doctor, FINDING_NOTE, "RANKSHARE_SIZE: no more than 4G are used");
    else if (size != RS_SIZE_UNSET && size < RS_ARENA_STEP)
        doctor_say(doctor, FINDING_NOTE,
                   "RANKSHARE_SIZE: in less than 16M few artifacts have room");
    else
        return 0;
    return 1;
}

const char *doctor_dir_trouble(const char *dir)
{
    struct stat st;

    if (lstat(dir, &st) != 0)
        return errno == ENOENT ? parent_trouble(dir) : strerror(errno);
    if (!S_ISDIR(st.st_mode))
        return "it is no directory (a link to one is not followed)";
    if (st.st_uid != geteuid())
        return "it belongs to another user";
    if (st.st_mode & 022)
        return "others may write there";
    return access(dir, W_OK | X_OK) == 0 ? NULL : strerror(errno);
}

static size_t check_dir(struct doctor *doctor, const char *dir)
{
    const char *trouble = *dir ? doctor_dir_trouble(dir) : NULL;
    char text[SHOWN_MAX];

    if (trouble)
        doctor_say(doctor, FINDING_NOTE, "RANKSHARE_DIR=%s: nothing will be kept there: %s",
                   shown(dir, text), trouble);
    return trouble != NULL;
}

void doctor_options(struct doctor *doctor)
{
    struct rs_config config;
    size_t odd = check_nonsense(doctor);

    rs_config_read(&config, environ);
    odd += check_roots(doctor, config.roots);
    odd += check_log(doctor, config.log);
    odd += check_job(doctor, config.job);
    odd += check_size(doctor, config.size);
    odd += check_dir(doctor, config.dir);
    if (odd == 0)
        doctor_say(doctor, FINDING_OK, "options: every RANKSHARE_ variable is understood");
}
