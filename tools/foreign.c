/* SPDX-License-Identifier: Apache-2.0 */
#include "foreign.h"

#include <stdlib.h>
#include <string.h>

/* VALUE NULL: any value but "" and "0". */
static const struct {
    const char *variable, *value, *sentence;
    bool wrong;
} settings[] = {
    {"TORCHINDUCTOR_FORCE_DISABLE_CACHES", NULL, "torch's caches are switched off", true},
    {"TORCH_COMPILE_FORCE_DISABLE_CACHES", NULL, "torch's caches are switched off", true},
    {"TORCHINDUCTOR_FX_GRAPH_CACHE", "0", "the FX graph cache is switched off", true},
    {"TORCHINDUCTOR_AUTOGRAD_CACHE", "0", "the AOTAutograd cache is switched off", false},
    {"TORCHINDUCTOR_CPP_WRAPPER", NULL, "C++ wrappers hold the ordinal in machine code: not shared",
     true},
    {"TORCHINDUCTOR_FREEZING", NULL, "frozen graphs are not cached", true},
    {"TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", NULL, "with a remote cache, keys stay native", true},
    {"TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE", NULL, "with a remote cache, keys stay native", true},
    {"TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE", NULL, "with a remote cache, keys stay native",
     true},
    {"TORCH_CACHING_PRECOMPILE", NULL,
     "AOTAutograd entries hold whole graphs: their keys stay native", true},
    {"TRITON_ALWAYS_COMPILE", NULL, "Triton looks for no kernel: each process compiles all", false},
    {"TRITON_CACHE_MANAGER", NULL, "Triton keeps its cache elsewhere: its kernels are not shared",
     false},
};

static bool matches(const char *wanted, const char *value)
{
    if (!value)
        return false;
    if (wanted)
        return strcmp(value, wanted) == 0;
    return *value && strcmp(value, "0") != 0;
}

bool foreign_setting(size_t index, struct foreign *found)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        const char *value = getenv(settings[i].variable);

        if (matches(settings[i].value, value) && index-- == 0) {
            *found = (struct foreign){settings[i].variable, value, settings[i].sentence,
                                      settings[i].wrong};
            return true;
        }
    }
    return false;
}
