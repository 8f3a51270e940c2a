/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies at an address, by the program headers of the loaded objects. The digest hook asks
 * before it follows a pointer out of a structure whose layout it only believes in, and before every
 * write: memory that isn't plain writable data is never written to, and mprotect is never called.
 */
#ifndef RS_HOOK_PYTHON_IMAGE_H
#define RS_HOOK_PYTHON_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rs_region {
    uintptr_t start;
    uintptr_t end;
    bool writable; /* and not made read-only after relocation */
    bool executable;
};

/* The stretch of a loaded object's segment around ADDRESS with the same protection. False when the
 * address lies in no loaded object (heap, stack, anonymous memory). */
bool rs_region_of(const void *address, struct rs_region *region);

/* Whether SIZE bytes at ADDRESS lie in one loaded object; writable: as data that may be written. */
bool rs_image_readable(const void *address, size_t size);
bool rs_image_writable(const void *address, size_t size);
bool rs_image_executable(const void *address);

/* Whether a NUL-terminated TEXT lies at ADDRESS in a loaded object. */
bool rs_image_text_is(const char *address, const char *text);

#endif
