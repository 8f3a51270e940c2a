/* SPDX-License-Identifier: Apache-2.0
 *
 * What the environment says to the library, and to torch and Triton about their caches.
 */
#include "base/config.h"
#include "doctor.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables that leave nothing to share, or bring in another door for the bytes. VALUE NULL: any
 * value but "" and "0". */
static const struct {
    const char *variable, *value, *sentence;
    enum finding finding;
} foreign[] = {
    {"TORCHINDUCTOR_FORCE_DISABLE_CACHES", NULL, "torch's caches are switched off", FINDING_WRONG},
    {"TORCHINDUCTOR_FX_GRAPH_CACHE", "0", "the FX graph cache is switched off", FINDING_WRONG},
    {"TORCHINDUCTOR_AUTOGRAD_CACHE", "0", "the AOTAutograd cache is switched off", FINDING_NOTE},
    {"TORCHINDUCTOR_CPP_WRAPPER", NULL, "C++ wrappers hold the ordinal in machine code: not shared",
     FINDING_WRONG},
    {"TORCHINDUCTOR_FREEZING", NULL, "frozen graphs are not cached", FINDING_WRONG},
    {"TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", NULL, "with a remote cache, keys stay native",
     FINDING_WRONG},
    {"TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE", NULL, "with a remote cache, keys stay native",
     FINDING_WRONG},
    {"TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE", NULL, "with a remote cache, keys stay native",
     FINDING_WRONG},
    {"TRITON_CACHE_MANAGER", NULL, "Triton keeps its cache elsewhere: its kernels are not shared",
     FINDING_NOTE},
};

static bool matches(const char *wanted, const char *value)
{
    if (!value)
        return false;
    if (wanted)
        return strcmp(value, wanted) == 0;
    return *value && strcmp(value, "0") != 0;
}

static void check_foreign(struct doctor *doctor)
{
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        const char *value = getenv(foreign[i].variable);

        if (matches(foreign[i].value, value))
            doctor_say(doctor, foreign[i].finding, "%s=%s: %s", foreign[i].variable, value,
                       foreign[i].sentence);
    }
}

static bool is_option(const char *name, size_t length)
{
    static const char *const options[] = {
#define RS_OPTION(variable, field, kind, fallback, help) #variable,
#include <rankshare/config.def>
#undef RS_OPTION
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strlen(options[i]) == length && memcmp(options[i], name, length) == 0)
            return true;
    return false;
}

static void check_unknown(struct doctor *doctor)
{
    for (char **entry = environ; *entry; entry++) {
        size_t length = strcspn(*entry, "=");

        if (strncmp(*entry, "RANKSHARE_", 10) == 0 && !is_option(*entry, length))
            doctor_say(doctor, FINDING_NOTE, "%.*s is no option of this version", (int)length,
                       *entry);
    }
}

static void check_options(struct doctor *doctor)
{
    const char *name, *value, *fallback;
    size_t count = 0;

    for (; (name = rs_config_problem(environ, count, &value, &fallback)); count++)
        doctor_say(doctor, FINDING_WRONG, "%s=%s makes no sense; %s is used", name, value,
                   *fallback ? fallback : "the default");
    if (count == 0)
        doctor_say(doctor, FINDING_OK, "options: every RANKSHARE_ variable is understood");
}

void doctor_environment(struct doctor *doctor)
{
    struct rs_config config;

    rs_config_read(&config, environ);
    if (!config.on)
        doctor_say(doctor, FINDING_NOTE,
                   "RANKSHARE is not 1 in this shell: off (`rankshare run' sets it)");
    check_options(doctor);
    check_unknown(doctor);
    check_foreign(doctor);
}
