/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of modules: what this node has loaded onto its GPUs, by content. Statistics, and which
 * modules the artifact store is to keep. No lock: an entry is taken by one compare-and-swap, filled
 * and then shown. A process that dies in between leaves an entry that can be taken again ten
 * seconds later.
 *
 * No function allocates, blocks or touches errno. All are thread safe.
 */
#ifndef RS_STORE_MODULES_H
#define RS_STORE_MODULES_H

#include "base/hash128.h"
#include "store/store.h"

/* What is known of a module when it is first loaded. */
struct rs_module_facts {
    enum rs_kind kind;
    uint64_t size;      /* bytes; 0: unknown */
    unsigned sm;        /* 90 for sm_90a; 0: unknown, or code for several */
    char suffix;        /* 'a', 'f' or 0 */
    bool mapped;        /* lies in a loaded library: known by that and its place, not by content */
    unsigned kernels;   /* 0: unknown */
    const char *kernel; /* name of the first one, or "" */
};

/* The entry of NAME; NULL: there is none. */
struct rs_module *rs_module_find(const struct rs_store *store, const struct rs_hash128 *name);

/* The same, made from FACTS where there is none. A full window gives up the entry that has not been
 * used for longest, if that is a minute. NULL: no room. */
struct rs_module *rs_module_add(struct rs_store *store, const struct rs_hash128 *name,
                                const struct rs_module_facts *facts);

/* Counts one load by the process of SLOT. GOOD: the driver took it, in NS nanoseconds. REFUSED_BY:
 * compute capability (90 for 9.0) of a device that can't run it; 0: it is not known to be so. */
void rs_module_count(struct rs_module *module, const struct rs_slot *slot, bool good, uint64_t ns,
                     unsigned refused_by);

/* Whether a process other than that of SLOT was the first to load it. */
bool rs_module_shared(const struct rs_module *module, const struct rs_slot *slot);

/* True for the one caller on this node that is to put the module into the artifact store, until
 * somebody says that it could not. */
bool rs_module_keep(struct rs_module *module);
void rs_module_not_kept(struct rs_module *module);

/* Names the first kernel of the module that TICKET was given for, if it has no name yet and is
 * still that one. */
enum { RS_TICKET_BITS = 20 };
uint32_t rs_module_ticket(const struct rs_store *store, const struct rs_module *module);
void rs_module_name(struct rs_store *store, uint32_t ticket, const char *kernel);

/* A module as the tool shows it. */
struct rs_module_view {
    struct rs_hash128 name;
    struct rs_module_facts facts; /* its kernel is KERNEL */
    uint64_t loads, failed, ns;
    uint64_t ranks[2]; /* a bit for each rank modulo 128 that has loaded it; who has no rank
                          counts by its process slot */
    unsigned refused_by;
    char kernel[RS_KERNEL_MAX];
};

/* Copies entry INDEX (below RS_MODULES). False: nothing there. Two entries may have one name; their
 * counts belong together. Works on read-only mappings. */
bool rs_module_read(const struct rs_store *store, unsigned index, struct rs_module_view *view);

#endif
