/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU architectures, and which device runs code that was built for which. Pure; thread and fork
 * safe. The rules are NVIDIA's documented ones (docs/images.md has them with their sources).
 */
#ifndef RS_IMAGE_ARCH_H
#define RS_IMAGE_ARCH_H

#include <stddef.h>

/* sm_90: {90, 0}; sm_90a: {90, 'a'}; sm_100f: {100, 'f'}. sm 0: not known. */
struct rs_arch {
    unsigned sm;
    char suffix;
};

/* What can be said of code and a device. Nothing is refused for it: it names the reason when the
 * driver has refused, so "never" is said only where no driver would succeed. */
enum rs_fit {
    RS_FIT_UNKNOWN, /* not told by the documented rules */
    RS_FIT_RUNS,
    RS_FIT_NEVER,
};

/* Whether a device of compute capability MAJOR.MINOR runs GPU code for ARCH. */
enum rs_fit rs_arch_runs(struct rs_arch arch, unsigned major, unsigned minor);

/* Whether the driver can compile PTX for ARCH for such a device (its PTX version aside). */
enum rs_fit rs_arch_compiles(struct rs_arch arch, unsigned major, unsigned minor);

/* "sm_90a", or "unknown". Returns OUT. */
enum { RS_ARCH_TEXT = 16 };
const char *rs_arch_text(struct rs_arch arch, char out[RS_ARCH_TEXT]);

#endif
