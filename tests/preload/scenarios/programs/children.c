/* SPDX-License-Identifier: Apache-2.0
 *
 * children ENTRY: every way to start another program, each with files opened on the way.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void said(const char *what, int status)
{
    printf("%s: %d\n", what, status);
    fflush(stdout);
}

static int wait_for(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static void spawn(void)
{
    char *words[] = {"cksum", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/etc/passwd", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    int started = posix_spawnp(&child, "cksum", &actions, NULL, words, environ);
    int ended = wait_for(child);
    said("posix_spawnp", started);
    said("its end", ended);
    posix_spawn_file_actions_destroy(&actions);
}

int main(int count, char **arguments)
{
    char line[4200], read_line[256] = "";
    if (count != 2) {
        return 2;
    }
    const char *entry = arguments[1];
    pid_t child = vfork();
    if (child == 0) {
        execlp("sh", "sh", "-c", "cat /dev/null; echo vforked; exit 4", (char *)NULL);
        _exit(127);
    }
    said("vfork", wait_for(child));
    child = vfork();
    if (child == 0) {
        /* What shells and Python do between vfork and exec: descriptors are opened and moved. */
        struct stat st;
        int fd = open("/dev/null", O_RDONLY);
        _exit(stat(entry, &st) == 0 && dup2(fd, 0) == 0 ? 5 : 6);
    }
    said("vfork without exec", wait_for(child));
    spawn();
    said("system", system("test -r /dev/null && echo from system; exit 3"));
    snprintf(line, sizeof(line), "test -s '%s' && echo popened", entry);
    FILE *pipe = popen(line, "r");
    said(pipe && fgets(read_line, sizeof(read_line), pipe) ? read_line : "nothing read", 0);
    said("pclose", pipe ? pclose(pipe) : -1);
    child = fork();
    if (child == 0) {
        execl("/nowhere/at/all", "x", (char *)NULL);
        _exit(9);
    }
    said("exec of nothing", wait_for(child));
    child = fork();
    if (child == 0) {
        char *none[] = {NULL};
        execve("/bin/true", (char *[]){"true", NULL}, none);
        _exit(9);
    }
    said("an empty environment", wait_for(child));
    return 3;
}
