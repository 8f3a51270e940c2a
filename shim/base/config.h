/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of config.def, read from an environment block. The library reads them once, in its
 * constructor; the tool reads them to say what is wrong with them.
 */
#ifndef RS_BASE_CONFIG_H
#define RS_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RS_TEXT_MAX = 1024, RS_NAME_MAX = 96 };
#define RS_SIZE_UNSET UINT64_MAX

typedef bool rs_config_FLAG;
typedef uint64_t rs_config_SECONDS;
typedef uint64_t rs_config_SIZE; /* RS_SIZE_UNSET: not given */
typedef char rs_config_TEXT[RS_TEXT_MAX];
typedef char rs_config_NAME[RS_NAME_MAX]; /* of a file, without a slash */
typedef enum { RS_READS_AUTO, RS_READS_MEMORY, RS_READS_FILES } rs_config_READS;
typedef char
    rs_config_PATHS[RS_TEXT_MAX + 1]; /* each ends in a zero byte, an empty one ends them */

struct rs_config {
#define RS_OPTION(variable, field, kind, fallback, help) rs_config_##kind field;
#include <rankshare/config.def>
#undef RS_OPTION
};

/* Fills CONFIG from ENVP (NULL-terminated "NAME=value" strings). A value that can't be understood
 * counts as absent: the default stands. Pure; thread safe. */
void rs_config_read(struct rs_config *config, char *const *envp);

/* The INDEXth option whose value in ENVP is nonsense: its variable's name, *VALUE (points into
 * ENVP) and *FALLBACK. NULL when there are no more. */
const char *rs_config_problem(char *const *envp, size_t index, const char **value,
                              const char **fallback);

/* Reads a SIZE, as RANKSHARE_SIZE has it: a number of bytes, perhaps with K, M or G. */
bool rs_config_size(const char *text, uint64_t *bytes);

/* Value of NAME in ENVP, or NULL. Points into ENVP. */
const char *rs_env_find(char *const *envp, const char *name);

#endif
