/* SPDX-License-Identifier: Apache-2.0
 *
 * Which directory the leases of a job are about where its ranks have several: that of the process
 * which asked first in this run. Lock-free; a process that dies while it writes its own down leaves
 * the rest of the run without an answer. Thread and fork safe.
 */
#ifndef RS_STORE_JOB_ROOT_H
#define RS_STORE_JOB_ROOT_H

#include "store/store.h"

/* The directory of SLOT's job and kind of ROOT. The caller's, *DEV and *INO, becomes it where there
 * is none yet; else they get it. False: it is not known, and they are left as they were. */
bool rs_job_root(struct rs_store *store, const struct rs_slot *slot, enum rs_root root,
                 uint64_t *dev, uint64_t *ino);

/* Whether processes of this run have asked with different directories. */
bool rs_job_several(const struct rs_store *store, const struct rs_slot *slot, enum rs_root root);

#endif
