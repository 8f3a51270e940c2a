/* SPDX-License-Identifier: Apache-2.0
 *
 * The fat binary's headers, as the toolkits from 11 to 13.1 write them (docs/images.md).
 */
#ifndef RS_IMAGE_FATBIN_H
#define RS_IMAGE_FATBIN_H

#include "image/reader.h"

#define RS_FATBIN_MAGIC         UINT32_C(0xba55ed50)
#define RS_FATBIN_WRAPPER_MAGIC UINT32_C(0x466243b1)

/* Where the fatbin is that AT leads to: AT itself, or what the wrapper there points to. NULL:
 * neither. */
const uint8_t *rs_fatbin_unwrap(struct rs_reader *reader, const uint8_t *at);

/* Size of the fatbin at AT, headers included; 0: none, or beyond LIMIT. */
size_t rs_fatbin_size(struct rs_reader *reader, const uint8_t *at, size_t limit);

#endif
