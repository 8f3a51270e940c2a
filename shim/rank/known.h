/* SPDX-License-Identifier: Apache-2.0
 *
 * What this process has hashed: digest -> (kind, ordinal, treatment), and its primary ordinal.
 * Lock-free; a fork child starts with an empty memory and inherits the primary ordinal as a hint
 * that its own first details replace (ranks may be fork siblings).
 */
#ifndef RS_RANK_KNOWN_H
#define RS_RANK_KNOWN_H

#include "route/key.h"
#include <rankshare/names.h>

#include <stdbool.h>
#include <stdint.h>

enum rs_treatment {
    RS_TREAT_UNKNOWN,   /* not hashed here */
    RS_TREAT_FORGOTTEN, /* may have been NATIVE or PRIVATE: something like that was forgotten */
    RS_TREAT_CANONICAL, /* shared: hashed in canonical form, or holds no ordinal */
    RS_TREAT_NATIVE,    /* refused: the key is the one torch computed */
    RS_TREAT_PRIVATE,   /* salted: a second ordinal of this process, or an AOT key of its own */
};

struct rs_known {
    enum rs_treatment treatment;
    enum rs_kind kind;
    int ordinal;    /* -1: the details hold none */
    unsigned flags; /* enum rs_flags of ordinal/flags.h */
};

/* Remembers KEY for the process, and as the calling thread's last recognised hash. */
void rs_known_add(const struct rs_key *key, const struct rs_known *what);

/* A native or private key was hashed and is not known: from now on every key that is not known may
 * be it. */
void rs_known_lost(void);

/* What is known of KEY; treatment RS_TREAT_UNKNOWN (or RS_TREAT_FORGOTTEN) when nothing is. */
struct rs_known rs_known_find(const struct rs_key *key);

/* Whether this process has hashed details of a device other than cuda:0 in canonical form: their
 * key leads a process without the library to cuda:0's code. */
bool rs_known_moved(void);

/* Whether KEY is the calling thread's last recognised hash and this is the thread's first look at
 * its place; from then on the answer is no. */
bool rs_known_first_look(const struct rs_key *key, struct rs_known *what);

/* Whether the calling thread comes to FX keys through an AOT entry of a native key: it hashed
 * native AOT details and no others since. *ORDINAL is the device that is meant: theirs, the primary
 * one where they name none, RS_ORDINAL_UNSURE where they name several or there is no primary one.
 */
bool rs_known_behind_native(int *ordinal);

/* The flags of all details that this process has hashed, together: what may hold for an FX entry
 * that it opens without having hashed its key, since an AOT entry names it. */
unsigned rs_known_flags(void);

/* Offers ORDINAL (>= 0) as the primary ordinal; returns the one in force. */
int rs_primary_offer(int ordinal);

/* The primary ordinal, or the inherited hint; -1 when no details with an ordinal were hashed. A
 * hint means nothing once CUDA_VISIBLE_DEVICES is another than when the parent hashed: then 0 where
 * one device is left, else RS_ORDINAL_UNSURE. */
enum { RS_ORDINAL_UNSURE = -2 };
int rs_primary(void);

/* torch_key(), from the details; false when none have been seen. */
void rs_torch_key_set(const uint8_t key[32]);
bool rs_torch_key(uint8_t key[32]);

/* The N of torch 2.N whose details were hashed; 0: none yet, or a version that is not known. */
void rs_torch_minor_set(int minor);
int rs_torch_minor(void);

/* In a fork child, before anything else. */
void rs_known_forked(void);

#endif
