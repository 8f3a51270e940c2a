/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/env.h"

#include "base/config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char *const names[RS_ENV_COUNT] = {
#define RS_ENV(name) #name,
#include "rank/env.def"
#undef RS_ENV
};

static _Atomic(const char *) values[RS_ENV_COUNT];

/* Every value ever seen, once: readers may still hold an old one, and programs that flip between
 * two directories must not fill memory. A value that finds no room counts as not set. */
enum { POOL_SIZE = 256 * 1024 };
static char pool[POOL_SIZE];
static size_t pool_used;
static atomic_flag pool_lock = ATOMIC_FLAG_INIT;

static const char *find_in_pool(const char *value, size_t size)
{
    for (size_t at = 0; at < pool_used; at += strlen(pool + at) + 1) {
        if (strcmp(pool + at, value) == 0) {
            return pool + at;
        }
    }
    if (size > POOL_SIZE - pool_used) {
        return NULL;
    }
    char *copy = memcpy(pool + pool_used, value, size);
    pool_used += size;
    return copy;
}

static const char *intern(const char *value)
{
    enum { TRIES = 1 << 20 }; /* the lock is held for microseconds; give up rather than hang */
    for (int i = 0; i < TRIES; i++) {
        if (!atomic_flag_test_and_set_explicit(&pool_lock, memory_order_acquire)) {
            const char *copy = find_in_pool(value, strlen(value) + 1);
            atomic_flag_clear_explicit(&pool_lock, memory_order_release);
            return copy;
        }
    }
    return NULL;
}

static void set(enum rs_env variable, const char *value)
{
    const char *copy = value && *value ? intern(value) : NULL;
    atomic_store_explicit(&values[variable], copy, memory_order_release);
}

static int find_name(const char *name, size_t length)
{
    for (int i = 0; i < RS_ENV_COUNT; i++) {
        if (strncmp(names[i], name, length) == 0 && names[i][length] == '\0') {
            return i;
        }
    }
    return -1;
}

void rs_env_init(char *const *envp)
{
    for (int i = 0; i < RS_ENV_COUNT; i++) {
        set((enum rs_env)i, rs_env_find(envp, names[i]));
    }
}

bool rs_env_changed(const char *name, const char *value)
{
    int variable = find_name(name, strlen(name));
    if (variable >= 0) {
        set((enum rs_env)variable, value);
    }
    return variable >= 0;
}

bool rs_env_put(const char *string)
{
    const char *equals = strchr(string, '=');
    size_t length = equals ? (size_t)(equals - string) : strlen(string);
    int variable = find_name(string, length);
    if (variable >= 0) {
        set((enum rs_env)variable, equals ? equals + 1 : NULL);
    }
    return variable >= 0;
}

void rs_env_cleared(void)
{
    for (int i = 0; i < RS_ENV_COUNT; i++) {
        set((enum rs_env)i, NULL);
    }
}

const char *rs_env_get(enum rs_env variable)
{
    return atomic_load_explicit(&values[variable], memory_order_acquire);
}

bool rs_env_switch(enum rs_env variable)
{
    const char *value = rs_env_get(variable);
    return value && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0;
}

void rs_env_forked(void)
{
    /* What another thread was copying at the fork lies behind pool_used and is simply overwritten.
     */
    atomic_flag_clear(&pool_lock);
}
