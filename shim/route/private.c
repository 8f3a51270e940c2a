/* SPDX-License-Identifier: Apache-2.0 */
#include "route/private.h"

#include "base/hash128.h"

#include <stdio.h>
#include <string.h>

#define HEAD "cache-"

void rs_private_name(const char *root, char name[RS_PRIVATE_NAME])
{
    struct rs_hash128 hash = rs_hash128_of(root, strlen(root));
    snprintf(name, RS_PRIVATE_NAME, HEAD "%016llx", (unsigned long long)hash.low);
}

bool rs_private_is_name(const char *name)
{
    enum { LENGTH = sizeof(HEAD) - 1, DIGITS = 16 };
    return strncmp(name, HEAD, LENGTH) == 0 &&
           strspn(name + LENGTH, "0123456789abcdef") == DIGITS && !name[LENGTH + DIGITS];
}

static bool plain_name(const char *name, size_t length)
{
    static const char link[] = RS_PRIVATE_SOURCE;
    bool dots = length <= 2 && strncmp(name, "..", length) == 0; /* the empty one, too */
    return !dots && !(length == sizeof(link) - 1 && memcmp(name, link, length) == 0);
}

bool rs_private_suffix(const char *suffix)
{
    if (*suffix != '/') {
        return false;
    }
    while (*suffix == '/') {
        size_t length = strcspn(++suffix, "/");
        if (!plain_name(suffix, length)) {
            return false;
        }
        suffix += length;
    }
    return true;
}

const char *rs_private_kernel(const char *suffix)
{
    static const char head[] = "/triton/";
    if (strncmp(suffix, head, sizeof(head) - 1) != 0) {
        return NULL;
    }
    const char *ordinal = suffix + sizeof(head) - 1;
    size_t digits = strspn(ordinal, "0123456789");
    bool zero = digits == 1 && *ordinal == '0';
    return digits && !zero && ordinal[digits] == '/' ? ordinal + digits : NULL;
}
