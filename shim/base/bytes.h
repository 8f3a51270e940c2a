/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RS_BASE_BYTES_H
#define RS_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Somebody else's bytes: never freed through this. */
struct rs_bytes {
    const uint8_t *data;
    size_t size;
};

#endif
