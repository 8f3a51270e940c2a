/* SPDX-License-Identifier: Apache-2.0
 *
 * Ordinals in text: generated Python, graph text, debugging lines. Pure; thread and fork safe.
 */
#ifndef RS_ORDINAL_TEXT_H
#define RS_ORDINAL_TEXT_H

#include "ordinal/ordinal.h"
#include "ordinal/vec.h"

enum { RS_TEXT_MIN = 5 /* characters of the shortest form: `xpu:0` */ };

struct rs_text_site {
    uint32_t at; /* first digit */
    uint8_t digits;
    uint8_t ordinal;
    bool bare_stream; /* `streamN`: the device's up to torch 2.11, the user's own from 2.12 on */
    uint32_t name_at; /* a name that holds the ordinal (`<name>_cudaN`) begins here; else 0 */
};

typedef RS_VEC(struct rs_text_site) rs_text_sites;

/* Appends the sites of DATA[BEGIN, END) to SITES, in order. FROM is BEGIN, or a place in front of
 * which digits.h has found nothing. RS_OK; unknown_site with *WHERE for a device in a form that is
 * not known or not rewritable; limit. */
enum rs_reason rs_text_scan(struct rs_arena *arena, const uint8_t *data, uint32_t begin,
                            uint32_t from, uint32_t end, rs_text_sites *sites, uint32_t *where);

/* True for what may stand in a Python name. */
bool rs_text_is_word(uint8_t c);

/* What the graph code in TEXT (a WRAPPER's, or that of a traced graph) does with other ranks. */
enum rs_comms {
    RS_COMMS_COLLECTIVES = 1,
    RS_COMMS_SYMM_MEM = 2, /* memory that ranks share: buffers with an id made up in compilation */
};
unsigned rs_text_comms(struct rs_bytes text, bool wrapper);

#endif
