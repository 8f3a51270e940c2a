/* SPDX-License-Identifier: Apache-2.0 */
#include "image/jit.h"

#include <string.h>

enum kind { REFUSED, NONE, NUMBER };

static enum kind kind_of(unsigned option)
{
    switch (option) {
#define RS_JIT(number, name, kind)                                                                 \
    case number:                                                                                   \
        return kind;
#include "image/jit.def"
#undef RS_JIT
    default:
        return REFUSED;
    }
}

bool rs_jit_read(struct rs_reader *reader, unsigned count, const unsigned *options,
                 void *const *values, struct rs_jit *jit)
{
    *jit = (struct rs_jit){.count = count};
    if (count == 0)
        return true;
    if (count > RS_JIT_MAX || !options || !values ||
        !rs_reader_has(reader, options, count * sizeof(*options)) ||
        !rs_reader_has(reader, values, count * sizeof(*values)))
        return false;
    for (unsigned i = 0; i < count; i++) {
        memcpy(&jit->option[i], (const char *)options + i * sizeof(*options), sizeof(*options));
        enum kind kind = kind_of(jit->option[i]);
        /* A number is in the pointer's low half, whatever the other one holds. */
        if (kind == NUMBER)
            memcpy(&jit->value[i], (const char *)values + i * sizeof(*values),
                   sizeof(jit->value[i]));
        if (kind == REFUSED)
            return false;
    }
    return true;
}
