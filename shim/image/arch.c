/* SPDX-License-Identifier: Apache-2.0 */
#include "image/arch.h"

#include <stdbool.h>
#include <stdio.h>

/* Systems on a chip: binary compatibility between minor versions is promised for other devices
 * alone, neither from them, nor to them. */
static bool is_embedded(unsigned sm)
{
    static const unsigned char embedded[] = {32, 53, 62, 72, 87, 101, 110};
    for (unsigned i = 0; i < sizeof(embedded); i++) {
        if (embedded[i] == sm) {
            return true;
        }
    }
    return false;
}

/* 10.1 became 11.0 with CUDA 13, code and device alike. */
static bool is_renamed(unsigned sm, unsigned device)
{
    return (sm == 101 && device == 110) || (sm == 110 && device == 101);
}

/* GPU code runs on later minor versions of its major one, and on no other: an H200 (9.0) refuses
 * that for 8.7 and for 11.0 as it does all others. */
static enum rs_fit by_major(unsigned sm, unsigned device)
{
    if (sm == device) {
        return RS_FIT_RUNS;
    }
    if (is_renamed(sm, device)) {
        return RS_FIT_UNKNOWN;
    }
    if (sm / 10 != device / 10) {
        return RS_FIT_NEVER;
    }
    if (is_embedded(sm) || is_embedded(device)) {
        return RS_FIT_UNKNOWN;
    }
    return sm < device ? RS_FIT_RUNS : RS_FIT_NEVER;
}

/* Later devices of its family, which so far is its major version without systems on a chip. */
static enum rs_fit by_family(unsigned sm, unsigned device)
{
    if (device > sm && (is_embedded(sm) || is_embedded(device))) {
        return RS_FIT_UNKNOWN;
    }
    return by_major(sm, device);
}

/* Code with a suffix, GPU code and PTX alike: "a" is for one compute capability, "f" for a family.
 */
static enum rs_fit suffixed(struct rs_arch arch, unsigned device)
{
    if (arch.sm == device) {
        return RS_FIT_RUNS;
    }
    if (arch.suffix == 'a') {
        return is_renamed(arch.sm, device) ? RS_FIT_UNKNOWN : RS_FIT_NEVER;
    }
    return arch.suffix == 'f' ? by_family(arch.sm, device) : RS_FIT_UNKNOWN;
}

enum rs_fit rs_arch_runs(struct rs_arch arch, unsigned major, unsigned minor)
{
    unsigned device = major * 10 + minor;
    if (arch.sm == 0 || minor > 9) {
        return RS_FIT_UNKNOWN;
    }
    return arch.suffix ? suffixed(arch, device) : by_major(arch.sm, device);
}

enum rs_fit rs_arch_compiles(struct rs_arch arch, unsigned major, unsigned minor)
{
    unsigned device = major * 10 + minor;
    if (arch.sm == 0 || minor > 9) {
        return RS_FIT_UNKNOWN;
    }
    if (arch.suffix) {
        return suffixed(arch, device);
    }
    return arch.sm <= device ? RS_FIT_RUNS : RS_FIT_NEVER;
}

const char *rs_arch_text(struct rs_arch arch, char out[RS_ARCH_TEXT])
{
    if (arch.sm == 0) {
        snprintf(out, RS_ARCH_TEXT, "unknown");
    } else {
        snprintf(out, RS_ARCH_TEXT, arch.suffix ? "sm_%u%c" : "sm_%u", arch.sm, arch.suffix);
    }
    return out;
}
