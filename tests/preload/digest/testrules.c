/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in for everything behind the hook: a rule that can be seen from outside instead of the
 * ordinal engine. A bytes object that begins with RSCANARY is hashed as "canary:" and its rest; one
 * that begins with RSNATIVE is recognised and hashed as it is. Linked with shim/hook into a library
 * of its own that exports, besides the hook, what the canary asks afterwards.
 */
#include "base/state.h"
#include "hook/cuda.h"
#include "hook/digest.h"
#include "hook/python.h"
#include "rank/count.h"

#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

unsigned long rs_test_counter(const char *name);
unsigned long rs_test_done(unsigned char digest[32]);
const char *rs_test_facts(void);
int rs_test_seen(void);

_Atomic(int) rs_phase = RS_EARLY;

static _Atomic(uint64_t) counters[RS_COUNTER_COUNT];
static _Atomic(unsigned long) done;
static unsigned char last_digest[32];
static char last_facts[160];

void rs_count(enum rs_counter counter, uint64_t add)
{
    counters[counter] += add;
}

/* No driver here. */
bool rs_cuda_named(const char *name)
{
    (void)name;
    return false;
}

void *rs_cuda_swap(void *handle, const char *name, void *found)
{
    (void)handle;
    (void)name;
    return found;
}

static bool begins(const uint8_t *data, size_t size, const char *with)
{
    return size >= 8 && memcmp(data, with, 8) == 0;
}

static bool replaced(struct rs_arena *arena, struct rs_bytes in, struct rs_bytes *out)
{
    if (!begins(in.data, in.size, "RSCANARY"))
        return false;
    uint8_t *text = rs_arena_alloc(arena, in.size);
    if (text == NULL)
        return false;
    memcpy(text, "canary:", 7);
    memcpy(text + 7, in.data + 8, in.size - 8);
    *out = (struct rs_bytes){text, in.size - 1};
    return true;
}

enum rs_kind rs_hashed_kind(const uint8_t *data, size_t size)
{
    if (begins(data, size, "RSCANARY"))
        return RS_KIND_fx_details;
    return begins(data, size, "RSNATIVE") ? RS_KIND_aot_details : RS_KIND_other;
}

void rs_hash_plan(struct rs_hash_plan *plan, enum rs_kind kind, const uint8_t *data, size_t size,
                  const struct rs_python_facts *facts)
{
    memset(plan, 0, sizeof *plan);
    rs_arena_init(&plan->arena, (size_t)256 << 20);
    plan->kind = kind;
    plan->replace = replaced(&plan->arena, (struct rs_bytes){data, size}, &plan->bytes);
    snprintf(last_facts, sizeof last_facts, "torch=%s triton=%s redis=%d vllm=%d",
             facts->torch_version, facts->triton_version, facts->redis, facts->vllm);
}

void rs_hash_done(struct rs_hash_plan *plan, enum rs_hashed hashed, const uint8_t *digest)
{
    if (hashed == RS_HASHED_PLANNED && digest != NULL) {
        memcpy(last_digest, digest, sizeof last_digest);
        done++;
    }
    rs_arena_free(&plan->arena);
}

void rs_node_beat(void)
{
}

EXPORT unsigned long rs_test_counter(const char *name)
{
    static const char *const names[] = {
#define RS_COUNTER(name, text) #name,
#include <rankshare/counters.def>
#undef RS_COUNTER
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return counters[i];
    return (unsigned long)-1;
}

/* How often a digest was recorded, and the last one. */
EXPORT unsigned long rs_test_done(unsigned char digest[32])
{
    memcpy(digest, last_digest, sizeof last_digest);
    return done;
}

EXPORT const char *rs_test_facts(void)
{
    return last_facts;
}

EXPORT int rs_test_seen(void)
{
    return rs_python_seen();
}

/* Being the first of all constructors (-z initfirst), it runs before libc has set up getenv. */
__attribute__((constructor)) static void start(int argc, char **argv, char **envp)
{
    (void)argc;
    (void)argv;
    bool active = false;
    for (; *envp != NULL; envp++)
        active |= strcmp(*envp, "RANKSHARE=1") == 0;
    if (active)
        rs_python_init();
    rs_phase = active ? RS_ON : RS_OFF;
}
