/* SPDX-License-Identifier: Apache-2.0 */
#include "base/config.h"

#include <criterion/criterion.h>
#include <string.h>

static struct rs_config read_one(const char *setting)
{
    char *envp[] = {"PATH=/bin", (char *)setting, NULL};
    struct rs_config config;
    rs_config_read(&config, envp);
    return config;
}

Test(config, defaults)
{
    struct rs_config config = read_one("X=1");
    cr_assert(!config.on);
    cr_assert_eq(config.wait_s, 300);
    cr_assert_str_eq(config.roots, "");
}

Test(config, only_one_switches_on)
{
    static const char *const off[] = {"RANKSHARE=0",  "RANKSHARE=",     "RANKSHARE=yes",
                                      "RANKSHARE=11", "RANKSHARE=true", "RANKSHAREX=1",
                                      "XRANKSHARE=1"};
    cr_assert(read_one("RANKSHARE=1").on);
    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
        cr_assert(!read_one(off[i]).on, "%s", off[i]);
    }
}

Test(config, numbers_and_nonsense)
{
    cr_assert_eq(read_one("RANKSHARE_WAIT=7").wait_s, 7);
    cr_assert_eq(read_one("RANKSHARE_WAIT=0").wait_s, 0);
    cr_assert_eq(read_one("RANKSHARE_WAIT=-1").wait_s, 300);
    cr_assert_eq(read_one("RANKSHARE_WAIT=7s").wait_s, 300);
    cr_assert_eq(read_one("RANKSHARE_WAIT=99999999999999999999").wait_s, 300);
}

Test(config, sizes)
{
    static const struct {
        const char *setting;
        uint64_t size;
    } rows[] = {
        {"X=1", RS_SIZE_UNSET},
        {"RANKSHARE_SIZE=", RS_SIZE_UNSET},
        {"RANKSHARE_SIZE=0", 0},
        {"RANKSHARE_SIZE=4097", 4097},
        {"RANKSHARE_SIZE=8K", 8192},
        {"RANKSHARE_SIZE=8k", 8192},
        {"RANKSHARE_SIZE=64M", UINT64_C(64) << 20},
        {"RANKSHARE_SIZE=2g", UINT64_C(2) << 30},
        {"RANKSHARE_SIZE=2GB", RS_SIZE_UNSET},
        {"RANKSHARE_SIZE=2 G", RS_SIZE_UNSET},
        {"RANKSHARE_SIZE=G", RS_SIZE_UNSET},
        {"RANKSHARE_SIZE=-1", RS_SIZE_UNSET},
        {"RANKSHARE_SIZE=18446744073709551615", RS_SIZE_UNSET},
        {"RANKSHARE_SIZE=17179869184G", RS_SIZE_UNSET},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cr_assert_eq(read_one(rows[i].setting).size, rows[i].size, "%s", rows[i].setting);
    }
}

Test(config, reads)
{
    char *envp[] = {"RANKSHARE_READS=network", NULL};
    const char *value, *fallback;
    cr_assert_eq(read_one("X=1").reads, RS_READS_AUTO);
    cr_assert_eq(read_one("RANKSHARE_READS=").reads, RS_READS_AUTO);
    cr_assert_eq(read_one("RANKSHARE_READS=auto").reads, RS_READS_AUTO);
    cr_assert_eq(read_one("RANKSHARE_READS=memory").reads, RS_READS_MEMORY);
    cr_assert_eq(read_one("RANKSHARE_READS=files").reads, RS_READS_FILES);
    cr_assert_eq(read_one("RANKSHARE_READS=Files").reads, RS_READS_AUTO);
    cr_assert_str_eq(rs_config_problem(envp, 0, &value, &fallback), "RANKSHARE_READS");
    cr_assert_str_eq(fallback, "auto");
}

Test(config, paths_end_in_zero_bytes)
{
    struct rs_config config = read_one("RANKSHARE_ROOTS=:/a b::/c:");
    cr_assert_arr_eq(config.roots, "/a b\0/c\0", sizeof("/a b\0/c\0"));
    char setting[RS_TEXT_MAX + 64] = "RANKSHARE_ROOTS=";
    memset(setting + strlen(setting), 'x', RS_TEXT_MAX - 1);
    config = read_one(setting);
    cr_assert_eq(strlen(config.roots), RS_TEXT_MAX - 1);
    cr_assert_eq(config.roots[RS_TEXT_MAX], '\0');
}

Test(config, text_that_is_too_long_counts_as_absent)
{
    char setting[RS_TEXT_MAX + 64] = "RANKSHARE_LOG=";
    memset(setting + strlen(setting), 'x', RS_TEXT_MAX);
    cr_assert_str_eq(read_one(setting).log, "");
}

Test(config, problems_are_named)
{
    char *envp[] = {"RANKSHARE_WAIT=soon", "RANKSHARE=maybe", NULL};
    const char *value, *fallback;
    cr_assert_str_eq(rs_config_problem(envp, 0, &value, &fallback), "RANKSHARE");
    cr_assert_str_eq(value, "maybe");
    cr_assert_str_eq(rs_config_problem(envp, 1, &value, &fallback), "RANKSHARE_WAIT");
    cr_assert_str_eq(value, "soon");
    cr_assert_str_eq(fallback, "300");
    cr_assert(rs_config_problem(envp, 2, &value, &fallback) == NULL);
}
