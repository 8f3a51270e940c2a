/* SPDX-License-Identifier: Apache-2.0
 *
 * fill SEGMENT: makes a segment with two jobs, as ranks that share would leave it, for the tests of
 * the tool. Prints nothing; the processes are gone when it ends.
 */
#include "store/store.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

struct process {
    struct rs_identity identity;
    int ordinal;
    struct {
        enum rs_counter counter;
        uint64_t value;
    } counts[8];
};

static const struct process processes[] = {
    {{"train", 0, 2},
     3,
     {{RS_C_details_fx, 2},
      {RS_C_fx_misses, 2},
      {RS_C_leases, 2},
      {RS_C_stores_fx, 2},
      {RS_C_flag_inference, 1},
      {RS_C_flag_benchmarks, 2}}},
    {{"train", 1, 2},
     11,
     {{RS_C_details_fx, 3},
      {RS_C_fx_hits, 1},
      {RS_C_fx_waited, 1},
      {RS_C_wait_ns, 4200000000u},
      {RS_C_views, 2},
      {RS_C_keys_native, 1},
      {RS_C_REFUSED + RS_REFUSED_rank_specific - 1, 1},
      {RS_C_wait_timeouts, 1}}},
    /* A compile worker of rank 1: no ordinal of its own. */
    {{"train", 1, 2}, -1, {{RS_C_keys_triton, 5}, {RS_C_triton_hits, 5}}},
    {{"idle", -1, 0}, -1, {{RS_C_segment_errors, 0}}},
};

static int fill(struct rs_store *store, const struct process *process)
{
    struct rs_slot *slot = rs_slot_claim(store, &process->identity);

    if (!slot)
        return 1;
    if (process->ordinal >= 0) {
        rs_slot_ordinal(slot, process->ordinal);
        rs_slot_versions(store, slot, "2.11.0", "3.6.0", "NVIDIA H200");
    }
    for (size_t i = 0; i < 8; i++)
        rs_slot_count(slot, process->counts[i].counter, process->counts[i].value);
    return 0;
}

static int stay(struct rs_store *store)
{
    if (fill(store, &processes[0]) != 0)
        return 1;
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}

int main(int argc, char **argv)
{
    char name[RS_SEGMENT_NAME_MAX];
    struct rs_store store;
    int failed = 0;

    if (argc < 2 || !rs_store_name(name, getuid(), argv[1]))
        return 1;
    enum rs_store_status status = rs_store_open(name, true, true, &store);
    if (status != RS_STORE_OK) {
        fprintf(stderr, "fill: %s\n", rs_store_status_text(status));
        return 1;
    }
    if (argc > 2)
        return stay(&store);
    for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++) {
        pid_t pid = fork();
        int ended = 1;

        if (pid == 0) {
            rs_store_forked();
            _exit(fill(&store, &processes[i]));
        }
        waitpid(pid, &ended, 0);
        failed |= ended;
    }
    return failed ? 1 : 0;
}
