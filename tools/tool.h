/* SPDX-License-Identifier: Apache-2.0
 *
 * What the verbs of the `rankshare` program share: exit codes, the verb table, messages and files.
 * The program is single-threaded and uses malloc freely; nothing in here is linked into the
 * library.
 */
#ifndef RS_TOOLS_TOOL_H
#define RS_TOOLS_TOOL_H

#include "ordinal/ordinal.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tool_exit {
    TOOL_OK = 0,
    TOOL_USAGE = 1,      /* wrong arguments */
    TOOL_UNREADABLE = 2, /* a file, a segment or a library is unreadable or not there */
    TOOL_REFUSED = 3,    /* ordinals, rewrite, key: the artifact can't be shared */
    TOOL_WRONG = 4,      /* doctor, verify: something will not work, or is damaged */
};

/* A verb gets its arguments with argv[0] = "rankshare VERB" and returns the program's exit status.
 */
int verb_run(int argc, char **argv);
int verb_stats(int argc, char **argv);
int verb_key(int argc, char **argv);
int verb_ordinals(int argc, char **argv);
int verb_inspect(int argc, char **argv);
int verb_rewrite(int argc, char **argv);
int verb_ls(int argc, char **argv);
int verb_verify(int argc, char **argv);
int verb_evict(int argc, char **argv);
int verb_clear(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_warm(int argc, char **argv);

/* Parses a verb's arguments; FLAGS are argp's. False: *STATUS is the program's exit status (argp
 * itself exits after
 * --help and after a wrong option). */
bool tool_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input,
                int *status);

/* "rankshare: SUBJECT: text" on standard error; SUBJECT may be NULL. */
__attribute__((format(printf, 2, 3))) void tool_error(const char *subject, const char *format, ...);

/* A printable name for a file argument: "-" is standard input. */
const char *tool_file_name(const char *path);

/* Reads a whole file, or standard input for "-". On failure says why and returns false. The caller
 * frees *MEMORY. */
bool tool_read(const char *path, struct rs_bytes *bytes, void **memory);

/* Writes PIECES to a file, or to standard output for "-". A regular file appears complete or not at
 * all. On failure says why and returns false. */
bool tool_write(const char *path, const struct rs_pieces *pieces);

/* Flushes standard output; false, with a message, when it could not take what was written. */
bool tool_flush(void);

/* A bar on standard error, if that is a terminal, rewritten in place: DONE of ALL. It ends when
 * both are the same, or with tool_progress_over(), which takes it away for other output. */
void tool_progress(size_t done, size_t all);
void tool_progress_over(void);

/* Reads an argument that must be a whole number from MIN to MAX. */
bool tool_number(const char *text, long min, long max, long *number);

/* Memory for as long as the program runs; ends the program when there is none. */
void *tool_alloc(size_t size);
__attribute__((format(printf, 1, 2))) char *tool_format(const char *format, ...);

#endif
