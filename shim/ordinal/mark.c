/* SPDX-License-Identifier: Apache-2.0
 *
 * Private marks behind a pickle's STOP, and the salt of private keys.
 */
#include "ordinal/engine.h"

#include <stdio.h>

static const char mark_begin[] = "\nrankshare:private:";

size_t rs_mark_write(int ordinal, char mark[RS_MARK_MAX])
{
    int size = snprintf(mark, RS_MARK_MAX, "%s%d\n", mark_begin, ordinal);
    return size > 0 && size < RS_MARK_MAX ? (size_t)size : 0;
}

size_t rs_mark_read(struct rs_bytes in, int *ordinal)
{
    size_t head = sizeof(mark_begin) - 1;
    size_t longest = head + RS_DIGITS_MAX + 1;
    size_t from = in.size > longest ? in.size - longest : 0;
    const uint8_t *found = memmem(in.data + from, in.size - from, mark_begin, head);
    if (!found) {
        return 0;
    }
    const uint8_t *end = in.data + in.size;
    int number = 0;
    const uint8_t *at = found + head;
    while (at < end && *at >= '0' && *at <= '9') {
        number = number * 10 + (*at++ - '0');
    }
    bool whole = at > found + head && at + 1 == end && *at == '\n';
    char again[RS_MARK_MAX];
    if (!whole || number > RS_ORDINAL_MAX || found == in.data || found[-1] != '.' ||
        rs_mark_write(number, again) != (size_t)(end - found) ||
        memcmp(again, found, (size_t)(end - found)) != 0) {
        return 0;
    }
    *ordinal = number;
    return (size_t)(end - found);
}

size_t rs_salt_write(int ordinal, char salt[RS_SALT_MAX])
{
    int size = snprintf(salt, RS_SALT_MAX, "rankshare:ordinal:%d", ordinal);
    return size > 0 && size < RS_SALT_MAX ? (size_t)size + 1 : 0;
}
