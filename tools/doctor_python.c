/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts a Python plainly and with the library, and lets both hash the same canaries: what torch
 * would hash for a graph on cuda:1. With the library that must give the digest of the canonical
 * form, on each road by which Python takes its input; everything else must give what it gives
 * plainly.
 */
#include "digest.h"
#include "doctor.h"
#include "library.h"
#include "tool.h"
#include "view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { CANARY_MAX = 256, PATIENCE_S = 60 };

/* The roads whose input must become canonical, and those that must stay as they are. */
static const char *const roads[] = {"constructor", "update", "new"};
static const char *const untouched[] = {"control", "blake2b"};
enum { ROADS = sizeof(roads) / sizeof(roads[0]), UNTOUCHED = 2 };

static const char script[] =
    "import hashlib, sys\n"
    "d = [bytes.fromhex(a) for a in sys.argv[1:]]\n"
    "print('version', sys.version.split()[0])\n"
    "print('module', hashlib.sha256.__module__)\n"
    "print('constructor', hashlib.sha256(d[0]).hexdigest())\n"
    "h = hashlib.sha256()\n"
    "h.update(d[1])\n"
    "print('update', h.hexdigest())\n"
    "print('new', hashlib.new('sha256', d[2]).hexdigest())\n"
    "print('control', hashlib.sha256(b'rankshare').hexdigest())\n"
    "print('blake2b', hashlib.blake2b(b'rankshare cuda:1', digest_size=32).hexdigest())\n";

struct answer {
    char text[4096]; /* "name value" lines */
    bool complete;
};

/* Fast-mode details of protocol 4 with one input on cuda:1 and NAME, which tells canaries apart. */
static struct rs_bytes make_canary(uint8_t canary[CANARY_MAX], const char *name)
{
    static const char head[] = "\x8c\x19torch._inductor.codecache\x8c\x12"
                               "FxGraphHashDetails\x93)\x81}(";
    static const char device[] = "\x8c\x0e"
                                 "example_inputs](\x8c\x05torch\x8c\x06"
                                 "device\x93\x8c\x04"
                                 "cudaK\x01\x86Re";
    uint8_t *body = canary + 11;
    size_t size = 0;

    memcpy(body, head, sizeof(head) - 1);
    size += sizeof(head) - 1;
    memcpy(body + size, device, sizeof(device) - 1);
    size += sizeof(device) - 1;
    size += (size_t)sprintf((char *)body + size,
                            "\x8c\x06"
                            "canary\x8c%c%sub.",
                            (int)strlen(name), name);
    memcpy(canary, "\x80\x04\x95\0\0\0\0\0\0\0", 11);
    canary[3] = (uint8_t)size;
    return (struct rs_bytes){canary, size + 11};
}

static char *to_hex(const uint8_t *data, size_t size)
{
    char *text = tool_alloc(2 * size + 1);

    for (size_t i = 0; i < size; i++)
        sprintf(text + 2 * i, "%02x", data[i]);
    return text;
}

/* What the library must make of a canary, by this program's own copy of the engine. */
static char *canonical_digest(struct rs_bytes canary)
{
    uint8_t digest[RS_DIGEST_SIZE];
    struct rs_pieces pieces;
    struct rs_report report;
    struct rs_arena arena;

    rs_arena_init(&arena, (size_t)64 << 20);
    enum rs_reason reason =
        rs_ordinal_rewrite(&arena, canary, RS_KIND_fx_details, NULL, 0, &pieces, &report);
    if (reason == RS_OK)
        tool_digest(&pieces, digest);
    rs_arena_free(&arena);
    return reason == RS_OK ? to_hex(digest, sizeof(digest)) : NULL;
}

static void exec_python(const char *python, const char *library, const char *segment, char **hex,
                        int output)
{
    char *arguments[] = {(char *)(uintptr_t)python,
                         "-I",
                         "-S",
                         "-c",
                         (char *)(uintptr_t)script,
                         hex[0],
                         hex[1],
                         hex[2],
                         NULL};

    if (library) {
        library_enable(library);
        setenv("RANKSHARE_SEGMENT", segment, 1);
        setenv("RANKSHARE_JOB", "doctor", 1);
    } else {
        unsetenv("RANKSHARE");
    }
    alarm(PATIENCE_S);
    dup2(output, STDOUT_FILENO);
    execvp(python, arguments);
    tool_error(python, "%s", strerror(errno));
    _exit(127);
}

/* Runs the script, with the library unless LIBRARY is NULL. */
static void ask(const char *python, const char *library, const char *segment, char **hex,
                struct answer *answer)
{
    size_t used = 0;
    int ends[2], status = -1;
    ssize_t got;

    memset(answer, 0, sizeof(*answer));
    fflush(stdout);
    if (pipe(ends) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        exec_python(python, library, segment, hex, ends[1]);
    close(ends[1]);
    while (pid > 0 && used < sizeof(answer->text) - 1 &&
           (got = read(ends[0], answer->text + used, sizeof(answer->text) - 1 - used)) != 0)
        if (got > 0)
            used += (size_t)got;
        else if (errno != EINTR)
            break;
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    answer->complete = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Whether ANSWER has the line "NAME VALUE"; copies VALUE. */
static bool value_of(const struct answer *answer, const char *name, char value[256])
{
    size_t length = strlen(name);

    for (const char *line = answer->text; *line;) {
        const char *end = strchrnul(line, '\n');

        if (strncmp(line, name, length) == 0 && line[length] == ' ') {
            snprintf(value, 256, "%.*s", (int)(end - line - (long)length - 1), line + length + 1);
            return true;
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

static bool same(const struct answer *a, const struct answer *b, const char *name)
{
    char left[256], right[256];

    return value_of(a, name, left) && value_of(b, name, right) && strcmp(left, right) == 0;
}

/* Compares each road's digest with the canonical one. Returns whether all were canonical. */
static bool check_roads(struct doctor *doctor, const struct answer *plain,
                        const struct answer *shared, char *const *expected)
{
    bool all = true;
    char value[256];

    for (size_t i = 0; i < ROADS; i++) {
        bool canonical =
            expected[i] && value_of(shared, roads[i], value) && strcmp(value, expected[i]) == 0;
        all = all && canonical;
        if (canonical)
            doctor_say(doctor, FINDING_OK, "%s: a key on cuda:1 is hashed in canonical form",
                       roads[i]);
        else if (same(plain, shared, roads[i]))
            doctor_say(doctor, FINDING_WRONG, "%s: a key on cuda:1 is hashed as it is", roads[i]);
        else
            doctor_say(doctor, FINDING_WRONG, "%s: a key on cuda:1 gets a digest that is neither",
                       roads[i]);
    }
    for (size_t i = 0; i < UNTOUCHED; i++)
        if (!same(plain, shared, untouched[i]))
            doctor_say(doctor, FINDING_WRONG, "%s: another digest than without the library",
                       untouched[i]);
    return all;
}

/* The counters that the library kept, and the reasons that it gave. */
static void explain(struct doctor *doctor, const char *segment, bool canonical)
{
    struct view view;
    enum rs_store_status status = view_read(segment, &view);
    const struct view_job *job = view_find(&view, "doctor");

    if (!job && !canonical)
        doctor_say(doctor, FINDING_NOTE,
                   "the library left no trace: it was not loaded, or never saw "
                   "Python's hash modules%s%s",
                   status == RS_STORE_ABSENT ? "" : "; segment: ",
                   status == RS_STORE_ABSENT ? "" : rs_store_status_text(status));
    for (int i = RS_C_digest_init; job && i <= RS_C_digest_refused; i++)
        doctor_say(doctor, FINDING_NOTE, "%s %llu: %s", rs_counter_name((enum rs_counter)i),
                   (unsigned long long)job->total[i], rs_counter_text((enum rs_counter)i));
    for (int i = RS_C_REFUSED; job && i < RS_COUNTER_COUNT; i++)
        if (job->total[i])
            doctor_say(doctor, FINDING_NOTE, "%s: %s", rs_counter_name((enum rs_counter)i),
                       rs_counter_text((enum rs_counter)i));
    view_free(&view);
}

static void check_setuid(struct doctor *doctor, const char *python)
{
    struct stat st;

    if (!strchr(python, '/') || stat(python, &st) != 0)
        return;
    if (st.st_mode & (S_ISUID | S_ISGID) || getxattr(python, "security.capability", NULL, 0) > 0)
        doctor_say(doctor, FINDING_WRONG,
                   "%s has the set-user-ID bit or file capabilities, so ld.so "
                   "ignores LD_PRELOAD",
                   python);
}

void doctor_python(struct doctor *doctor, const char *library, const char *python)
{
    uint8_t canary[CANARY_MAX];
    char *hex[ROADS], *expected[ROADS], version[256], module[256], name[RS_SEGMENT_NAME_MAX];
    char *segment = tool_format("doctor%ld", (long)getpid());
    struct answer plain, shared;

    for (size_t i = 0; i < ROADS; i++) {
        struct rs_bytes bytes = make_canary(canary, roads[i]);
        hex[i] = to_hex(bytes.data, bytes.size);
        expected[i] = canonical_digest(bytes);
    }
    check_setuid(doctor, python);
    ask(python, NULL, segment, hex, &plain);
    ask(python, library, segment, hex, &shared);
    if (!plain.complete || !value_of(&plain, "version", version)) {
        doctor_say(doctor, FINDING_WRONG, "%s does not run a Python script", python);
    } else if (!shared.complete) {
        doctor_say(doctor, FINDING_WRONG, "%s runs plainly, but not with the library", python);
    } else {
        if (value_of(&shared, "version", version) && value_of(&shared, "module", module))
            doctor_say(doctor, FINDING_OK, "%s is Python %s; sha256 comes from %s", python, version,
                       module);
        bool canonical = check_roads(doctor, &plain, &shared, expected);
        if (rs_store_name(name, getuid(), segment)) {
            explain(doctor, name, canonical);
            rs_store_remove(name);
        }
    }
    for (size_t i = 0; i < ROADS; i++) {
        free(hex[i]);
        free(expected[i]);
    }
    free(segment);
}
