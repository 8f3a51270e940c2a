/* SPDX-License-Identifier: Apache-2.0
 *
 * rankshare run -- CMD: starts CMD with the library, ends as CMD ends, and says what was saved.
 */
#include "foreign.h"
#include "library.h"
#include "stats.h"
#include "tool.h"
#include "view.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct arguments {
    const char *library, *segment, *job, *log, *wait;
    bool quiet, verbose;
    char **command;
};

static pid_t child;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    long seconds;

    switch (key) {
    case 'l':
        arguments->library = arg;
        return 0;
    case 's':
        arguments->segment = arg;
        return 0;
    case 'j':
        arguments->job = arg;
        return 0;
    case 'L':
        arguments->log = arg;
        return 0;
    case 'w':
        if (!tool_number(arg, 0, 1000000, &seconds))
            argp_error(state, "--wait takes whole seconds");
        arguments->wait = arg;
        return 0;
    case 'q':
        arguments->quiet = true;
        return 0;
    case 'v':
        arguments->verbose = true;
        return 0;
    case ARGP_KEY_ARG:
        return ARGP_ERR_UNKNOWN; /* all of them at once, below */
    case ARGP_KEY_ARGS:
        arguments->command = state->argv + state->next;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "which command?");
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void set_environment(const struct arguments *arguments, const char *library)
{
    library_enable(library);
    if (arguments->segment)
        setenv("RANKSHARE_SEGMENT", arguments->segment, 1);
    if (arguments->log)
        setenv("RANKSHARE_LOG", arguments->log, 1);
    if (arguments->wait)
        setenv("RANKSHARE_WAIT", arguments->wait, 1);
    if (arguments->job) {
        setenv("RANKSHARE_JOB", arguments->job, 1);
    } else if (!getenv("RANKSHARE_JOB") || !*getenv("RANKSHARE_JOB")) {
        /* The pid alone comes again some day, and the segment outlives jobs. */
        char *job = tool_format("run-%lld-%ld", (long long)time(NULL), (long)getpid());
        setenv("RANKSHARE_JOB", job, 1);
        free(job);
    }
}

static void forward(int sig)
{
    kill(child, sig);
}

/* What the terminal sends goes to CMD as well, so it is only survived here; what a job manager
 * sends to this process alone is passed on. */
static const struct {
    int signal;
    bool passed_on;
} signals[] = {{SIGINT, false}, {SIGQUIT, false}, {SIGTERM, true}, {SIGHUP, true}};
enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

static void catch_signals(struct sigaction before[SIGNALS])
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction action = {.sa_handler = signals[i].passed_on ? forward : SIG_IGN};
        sigaction(signals[i].signal, &action, &before[i]);
    }
}

static void exec_command(char **command, const struct sigaction before[SIGNALS],
                         const sigset_t *mask)
{
    for (size_t i = 0; i < SIGNALS; i++)
        sigaction(signals[i].signal, &before[i], NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(command[0], command);
    int error = errno;
    tool_error(command[0], "%s", strerror(error));
    _exit(error == ENOENT ? 127 : 126);
}

/* Starts CMD and waits for it. Returns the exit status that a shell would give: CMD's own, or 128 +
 * its signal. */
static int run_command(char **command)
{
    struct sigaction before[SIGNALS];
    sigset_t all, mask;
    int status;

    /* No signal until CHILD is known. */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask);
    catch_signals(before);
    child = fork();
    if (child == 0)
        exec_command(command, before, &mask);
    if (child < 0) {
        tool_error(command[0], "%s", strerror(errno));
        return 126;
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 126;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Settings that explain why no process looked anything up. */
static void explain_silence(void)
{
    struct foreign found;

    for (size_t i = 0; foreign_setting(i, &found); i++)
        tool_error(NULL, "%s=%s: %s", found.variable, found.value, found.sentence);
}

/* NOT_STARTED: there is nothing to be said of a job then. */
static void summarize(const struct arguments *arguments, const char *segment, bool not_started)
{
    struct view view;
    enum rs_store_status status = view_read(segment, &view);
    const struct view_job *job = view_find(&view, getenv("RANKSHARE_JOB"));

    if (status != RS_STORE_OK && status != RS_STORE_ABSENT)
        tool_error(segment, "%s", rs_store_status_text(status));
    else if (!job && not_started)
        return view_free(&view);
    else if (!stats_summary(job, stderr))
        explain_silence();
    if (job && arguments->verbose)
        stats_job(job, stderr);
    view_free(&view);
}

static const struct argp_option options[] = {
    {"wait", 'w', "SECONDS", 0, "how long a rank waits for producers (RANKSHARE_WAIT)", 0},
    {"log", 'L', "PATH", 0, "log file, or a directory for one file per process (RANKSHARE_LOG)", 0},
    {"job", 'j', "NAME", 0, "name of the job in the statistics (RANKSHARE_JOB)", 0},
    {"segment", 's', "NAME", 0, "another segment (RANKSHARE_SEGMENT)", 0},
    {"library", 'l', "PATH", 0, "librankshare.so, when it is not beside this program", 0},
    {"quiet", 'q', NULL, 0, "no summary at the end", 0},
    {"verbose", 'v', NULL, 0, "say how CMD is started, and print the job's table at the end", 0},
    {0},
};

int verb_run(int argc, char **argv)
{
    static const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "[--] CMD [ARGUMENTS]",
        .doc =
            "Starts CMD with librankshare.so before everything in LD_PRELOAD and RANKSHARE=1, and "
            "prints one line at the end: who compiled, who loaded, what was refused.\v"
            "Exit status: CMD's own, 128 plus the signal that ended it, 126 or 127 when it could "
            "not be started, 1 wrong usage, 2 no library.",
    };
    struct arguments arguments = {0};
    char segment[RS_SEGMENT_NAME_MAX];
    int status;

    if (!tool_parse(&argp, argc, argv, ARGP_IN_ORDER, &arguments, &status))
        return status;
    if (!view_segment_name(arguments.segment, segment))
        return TOOL_USAGE;
    char *library = library_find(arguments.library);
    const char *flaw = library ? library_flaw(library) : NULL;
    if (flaw)
        tool_error(library, "%s", flaw);
    if (!library || flaw) {
        free(library);
        return TOOL_UNREADABLE;
    }
    set_environment(&arguments, library);
    if (arguments.verbose)
        tool_error(NULL, "library %s, job %s, segment %s", library, getenv("RANKSHARE_JOB"),
                   segment);
    free(library);
    status = run_command(arguments.command);
    if (!arguments.quiet)
        summarize(&arguments, segment, status == 126 || status == 127);
    return status;
}
