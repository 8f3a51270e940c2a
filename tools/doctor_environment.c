/* SPDX-License-Identifier: Apache-2.0
 *
 * What the environment says to the library, and to torch and Triton about their caches.
 */
#include "base/config.h"
#include "doctor.h"
#include "foreign.h"
#include "route/disk.h"
#include "route/private.h"
#include "store/payload.h"
#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void check_foreign(struct doctor *doctor)
{
    struct foreign found;

    for (size_t i = 0; foreign_setting(i, &found); i++)
        doctor_say(doctor, found.wrong ? FINDING_WRONG : FINDING_NOTE, "%s=%s: %s", found.variable,
                   found.value, found.sentence);
}

static bool is_option(const char *name, size_t length)
{
    static const char *const options[] = {
#define RS_OPTION(variable, field, kind, fallback, help) #variable,
#include <rankshare/config.def>
#undef RS_OPTION
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strlen(options[i]) == length && memcmp(options[i], name, length) == 0)
            return true;
    return false;
}

static void check_unknown(struct doctor *doctor)
{
    for (char **entry = environ; *entry; entry++) {
        size_t length = strcspn(*entry, "=");

        if (strncmp(*entry, "RANKSHARE_", 10) == 0 && !is_option(*entry, length))
            doctor_say(doctor, FINDING_NOTE, "%.*s is no option of this version", (int)length,
                       *entry);
    }
}

/* Why no private directory below PLACE can stand in for another one; NULL: it can. */
static const char *place_trouble(const struct rs_config *config, const char *place)
{
    struct statvfs found;
    const char *trouble = config->redirect ? doctor_dir_trouble(place) : "RANKSHARE_REDIRECT=0";

    if (!trouble && statvfs(place, &found) == 0 && found.f_flag & ST_NOEXEC)
        trouble = "no libraries can be loaded from RANKSHARE_DIR: it is mounted with noexec";
    return trouble;
}

/* Nothing can be written in the directory PATH, for the reason TROUBLE. What the library does then
 * is in shim/rank/redirect.h. */
static void say_closed(struct doctor *doctor, const char *variable, const char *path,
                       const char *trouble)
{
    struct rs_config config;
    char place[RS_DIR_MAX], name[RS_PRIVATE_NAME];

    rs_config_read(&config, environ);
    rs_dir_path(config.dir, place);
    const char *why = place_trouble(&config, place);
    if (why || *path != '/') {
        doctor_say(doctor, FINDING_NOTE,
                   "%s=%s: nothing can be written there (%s), and PyTorch fails when it has to "
                   "compile; no private directory stands in for it (%s)",
                   variable, path, trouble, why ? why : "its path is no absolute one");
        return;
    }
    char *root = tool_format("%s", path);
    for (size_t size = strlen(root); size > 1 && root[size - 1] == '/'; size--)
        root[size - 1] = '\0';
    rs_private_name(root, name);
    doctor_say(doctor, FINDING_OK,
               "%s=%s: nothing can be written there (%s); Python programs work in %s/%s, which "
               "shows them what lies there",
               variable, path, trouble, place, name);
    free(root);
}

/* What nobody knows is named by its number, as statfs(2) has it. */
static void check_disk(struct doctor *doctor, const char *variable)
{
    const char *path = getenv(variable);
    struct statfs found;

    if (!path || !*path || statfs(path, &found) != 0)
        return;
    uint32_t type = (uint32_t)found.f_type;
    char *name = rs_disk_name(type) ? tool_format("%s", rs_disk_name(type))
                                    : tool_format("a file system of type 0x%x", (unsigned)type);
    doctor_say(doctor, FINDING_OK, "%s is on %s: %s", variable, name,
               rs_disk_local(type)
                   ? "each rank reads the files"
                   : "each artifact is read once for all ranks of the node, then from memory");
    free(name);
    if (access(path, W_OK) != 0)
        say_closed(doctor, variable, path, strerror(errno));
}

void doctor_environment(struct doctor *doctor)
{
    const char *on = getenv("RANKSHARE");

    if (!on || !*on || strcmp(on, "0") == 0)
        doctor_say(doctor, FINDING_NOTE,
                   "RANKSHARE is not 1 in this shell: off (`rankshare run' sets it)");
    doctor_options(doctor);
    check_unknown(doctor);
    check_foreign(doctor);
    check_disk(doctor, "TORCHINDUCTOR_CACHE_DIR");
    check_disk(doctor, "TRITON_CACHE_DIR");
}
