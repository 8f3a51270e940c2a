/* SPDX-License-Identifier: Apache-2.0 */
#include "base/config.h"

#include <stddef.h>
#include <string.h>

const char *rs_env_find(char *const *envp, const char *name)
{
    size_t length = strlen(name);
    for (; envp && *envp; envp++) {
        if (strncmp(*envp, name, length) == 0 && (*envp)[length] == '=') {
            return *envp + length + 1;
        }
    }
    return NULL;
}

/* A decimal number; *END is what follows it. False when there is none or it does not fit. */
static bool parse_number(const char *text, uint64_t *value, const char **end)
{
    uint64_t number = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *value = number;
    *end = at;
    return at != text;
}

/* "" is "no value", as for a variable that is not set. */
static bool parse_FLAG(const char *text, rs_config_FLAG *out)
{
    *out = strcmp(text, "1") == 0;
    return *out || strcmp(text, "0") == 0 || !*text;
}

static bool parse_SECONDS(const char *text, rs_config_SECONDS *out)
{
    enum { A_YEAR = 366 * 24 * 3600 };
    const char *end;
    uint64_t value;
    if (!parse_number(text, &value, &end) || *end || value > A_YEAR) {
        return false;
    }
    *out = value;
    return true;
}

static bool parse_SIZE(const char *text, rs_config_SIZE *out)
{
    static const char units[] = "KkMmGg";
    const char *end;
    uint64_t value;
    if (!*text) {
        *out = RS_SIZE_UNSET;
        return true;
    }
    if (!parse_number(text, &value, &end)) {
        return false;
    }
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * ((unsigned)(unit - units) / 2 + 1) : 0;
    if ((*end && (!unit || end[1])) || value >= RS_SIZE_UNSET >> shift) {
        return false;
    }
    *out = value << shift;
    return true;
}

static bool parse_TEXT(const char *text, rs_config_TEXT *out)
{
    size_t length = strlen(text);
    if (length >= sizeof(*out)) {
        return false;
    }
    memcpy(*out, text, length + 1);
    return true;
}

static bool parse_NAME(const char *text, rs_config_NAME *out)
{
    size_t length = strlen(text);
    if (length >= sizeof(*out) || strchr(text, '/')) {
        return false;
    }
    memcpy(*out, text, length + 1);
    return true;
}

static bool parse_READS(const char *text, rs_config_READS *out)
{
    static const char *const words[] = {
        [RS_READS_AUTO] = "auto", [RS_READS_MEMORY] = "memory", [RS_READS_FILES] = "files"};
    *out = RS_READS_AUTO;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = (rs_config_READS)i;
            return true;
        }
    }
    return !*text;
}

/* Separated by colons, as in PATH; empty ones are passed over. */
static bool parse_PATHS(const char *text, rs_config_PATHS *out)
{
    char *to = *out;
    if (strlen(text) >= RS_TEXT_MAX) {
        return false;
    }
    while (*text) {
        size_t length = strcspn(text, ":");
        if (length) {
            memcpy(to, text, length);
            to[length] = '\0';
            to += length + 1;
        }
        text += length + (text[length] == ':');
    }
    *to = '\0';
    return true;
}

bool rs_config_size(const char *text, uint64_t *bytes)
{
    return parse_SIZE(text, bytes) && *bytes != RS_SIZE_UNSET;
}

void rs_config_read(struct rs_config *config, char *const *envp)
{
    memset(config, 0, sizeof(*config));
#define RS_OPTION(variable, field, kind, fallback, help)                                           \
    {                                                                                              \
        const char *value = rs_env_find(envp, #variable);                                          \
        if (!value || !parse_##kind(value, &config->field)) {                                      \
            (void)parse_##kind(fallback, &config->field);                                          \
        }                                                                                          \
    }
#include <rankshare/config.def>
#undef RS_OPTION
}

const char *rs_config_problem(char *const *envp, size_t index, const char **value,
                              const char **fallback)
{
    struct rs_config scratch;
    size_t seen = 0;
#define RS_OPTION(variable, field, kind, standard, help)                                           \
    {                                                                                              \
        const char *text = rs_env_find(envp, #variable);                                           \
        if (text && !parse_##kind(text, &scratch.field) && seen++ == index) {                      \
            *value = text;                                                                         \
            *fallback = standard;                                                                  \
            return #variable;                                                                      \
        }                                                                                          \
    }
#include <rankshare/config.def>
#undef RS_OPTION
    return NULL;
}
