/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare doctor: says why sharing is not active or will not work here.
 */
#include "doctor.h"

#include "library.h"
#include "tool.h"
#include "view.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    const char *library, *python, *segment;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'p':
        arguments->python = arg;
        return 0;
    case 'l':
        arguments->library = arg;
        return 0;
    case 's':
        arguments->segment = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "doctor takes no file");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Reads the part of an ELF header that is the same in both classes. */
static bool read_header(const char *path, Elf64_Ehdr *header)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, header, sizeof(*header));

    if (fd >= 0)
        close(fd);
    return got == (ssize_t)sizeof(*header) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0;
}

static void check_library(struct doctor *doctor, const char *library)
{
    const char *preload = getenv("LD_PRELOAD");
    Elf64_Ehdr ours, theirs;

    if (!read_header(library, &theirs))
        doctor_say(doctor, FINDING_WRONG, "library: %s is no shared object", library);
    else if (!read_header("/proc/self/exe", &ours) ||
             ours.e_ident[EI_CLASS] != theirs.e_ident[EI_CLASS] ||
             ours.e_machine != theirs.e_machine)
        doctor_say(doctor, FINDING_WRONG, "library: %s is made for another architecture", library);
    else
        doctor_say(doctor, FINDING_OK, "library: %s, for this architecture", library);
    if (!preload || !strstr(preload, "librankshare.so"))
        doctor_say(doctor, FINDING_NOTE,
                   "LD_PRELOAD does not name the library in this shell (`rankshare run' does it)");
    doctor_say(
        doctor, FINDING_NOTE,
        "programs with the set-user-ID bit or file capabilities ignore LD_PRELOAD, and so do "
        "static ones");
}

static void verdict(const struct doctor *doctor, const char *python)
{
    if (doctor->wrong > 0)
        printf("\n%u thing%s against sharing here.\n", doctor->wrong,
               doctor->wrong == 1 ? " stands" : "s stand");
    else if (python)
        printf("\nSharing can work with %s.\n", python);
    else
        puts("\nNothing stands against sharing here; --python PYTHON tries it with a Python.");
}

int verb_doctor(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"python", 'p', "PYTHON", 0, "start this Python with the library and try it", 0},
        {"library", 'l', "PATH", 0, "librankshare.so, when it is not beside this program", 0},
        {"segment", 's', "NAME", 0, "another segment (RANKSHARE_SEGMENT)", 0},
        {0},
    };
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .doc =
            "Says why sharing is not active or will not work here.\v"
            "With --python it starts that Python with the library, lets it hash one canary of each "
            "kind, and compares. Exit status: 0, 1 wrong usage, 4 something stands against "
            "sharing.",
    };
    struct arguments arguments = {0};
    struct doctor doctor = {0};
    char segment[RS_SEGMENT_NAME_MAX];
    int status;

    if (!tool_parse(&argp, argc, argv, 0, &arguments, &status))
        return status;
    if (!view_segment_name(arguments.segment, segment))
        return TOOL_USAGE;
    char *library = library_find(arguments.library);
    if (library)
        check_library(&doctor, library);
    else
        doctor_say(&doctor, FINDING_WRONG, "library: none");
    doctor_machine(&doctor, segment);
    doctor_environment(&doctor);
    if (library && arguments.python)
        doctor_python(&doctor, library, arguments.python);
    free(library);
    verdict(&doctor, arguments.python);
    if (!tool_flush())
        return TOOL_UNREADABLE;
    return doctor.wrong ? TOOL_WRONG : TOOL_OK;
}
