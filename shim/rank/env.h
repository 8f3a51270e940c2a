/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment variables that decide where caches lie and who reads them. Programs change them
 * while they run (torch writes TORCHINDUCTOR_CACHE_DIR at first use, vLLM moves it later), and
 * walking `environ` in a hook would race with them, so setenv and its kin tell us and we keep
 * copies. Equal values are one pointer.
 *
 * Thread safe and lock-free for readers; values live for ever (a job has few different ones).
 */
#ifndef RS_RANK_ENV_H
#define RS_RANK_ENV_H

#include <stdbool.h>

enum rs_env {
#define RS_ENV(name) RS_ENV_##name,
#include "rank/env.def"
#undef RS_ENV
    RS_ENV_COUNT
};

/* Takes the values of an environment block: the constructor, once. */
void rs_env_init(char *const *envp);

/* The program has set NAME to VALUE, or removed it (NULL). False: the name is none of ours. */
bool rs_env_changed(const char *name, const char *value);

/* The same from "NAME=VALUE", or "NAME" alone (putenv removes then). */
bool rs_env_put(const char *string);

/* All variables are gone. */
void rs_env_cleared(void);

/* The current value, or NULL when it is not set or empty. */
const char *rs_env_get(enum rs_env variable);

/* Like rs_env_get, for switches: set and neither empty nor "0" nor "false". */
bool rs_env_switch(enum rs_env variable);

/* In a fork child: lets go of a lock that another thread of the parent may have held. */
void rs_env_forked(void);

#endif
