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

/* What LD_PRELOAD calls so; ld.so only complains of a file that isn't there, and starts the program
 * without it. */
static void check_preload(struct doctor *doctor, const char *library)
{
    const char *preload = getenv("LD_PRELOAD");
    char *words = tool_format("%s", preload ? preload : ""), *rest = NULL;
    bool named = false;

    for (char *word = strtok_r(words, " :", &rest); word; word = strtok_r(NULL, " :", &rest)) {
        if (!strstr(word, "librankshare.so"))
            continue;
        const char *flaw = strchr(word, '/') ? library_flaw(word) : NULL;
        char *path = realpath(word, NULL);
        named = true;
        if (flaw)
            doctor_say(doctor, FINDING_WRONG, "LD_PRELOAD: %s %s", word, flaw);
        else if (path && library && strcmp(path, library) != 0)
            doctor_say(doctor, FINDING_NOTE, "LD_PRELOAD: %s is another file than %s", word,
                       library);
        free(path);
    }
    if (!named)
        doctor_say(doctor, FINDING_NOTE,
                   "LD_PRELOAD does not name the library in this shell (`rankshare run' does it)");
    free(words);
}

static void check_library(struct doctor *doctor, const char *library)
{
    const char *flaw = library ? library_flaw(library) : NULL;

    if (!library)
        doctor_say(doctor, FINDING_WRONG, "library: none");
    else if (flaw)
        doctor_say(doctor, FINDING_WRONG, "library: %s %s", library, flaw);
    else
        doctor_say(doctor, FINDING_OK, "library: %s, for this architecture", library);
    check_preload(doctor, library);
    if (!library)
        return;
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
    if (!view_segment_name_of_library(arguments.segment, segment))
        return TOOL_USAGE;
    char *library = library_find(arguments.library);
    check_library(&doctor, library);
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
