/* SPDX-License-Identifier: Apache-2.0
 *
 * Who a process is, and whether it still lives. A pid alone comes again some day, so a process is
 * its pid, its start time and its pid namespace, and a thread its tid and its start time. exec(2)
 * keeps all three and ends the program all the same, so its image counts, too. System calls only;
 * thread and fork safe.
 */
#ifndef RS_STORE_PROCESS_H
#define RS_STORE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rs_process {
    int32_t pid;
    uint64_t start; /* 0: unknown */
    uint64_t space; /* 0: unknown */
    uint32_t image; /* 0: unknown; a fork child's is its parent's */
};

/* The calling process. Start is 0 where /proc does not show this pid namespace. */
struct rs_process rs_process_self(void);

/* Start time of any process (field 22 of /proc/PID/stat); 0 unknown. */
uint64_t rs_process_start(pid_t pid);

/* Start time of a thread of the calling process; 0 unknown. */
uint64_t rs_thread_start(pid_t tid);

/* 1 lives, 0 dead, -1 can't be judged. Dead is a zombie, and who has become another program. */
int rs_process_alive(const struct rs_process *process);

/* A process in one word, never 0, for locks whose owner must be known at the very moment that they
 * are taken. It holds the low bits of start time and namespace. */
uint64_t rs_process_tag(const struct rs_process *process);
int rs_tag_alive(uint64_t tag); /* like rs_process_alive() */

/* Whether thread TID of the living process PID, started at START, still runs. In doubt it does. */
int rs_thread_alive(pid_t pid, pid_t tid, uint64_t start);
/* Whether all threads that the process still has are on their way out: it was killed or has called
 * exit(), and will be dead when its memory and files are gone (seconds, with GPU memory). */
bool rs_process_ending(pid_t pid);

/* In a fork child: forgets the cached namespace. */
void rs_process_forked(void);

#endif
