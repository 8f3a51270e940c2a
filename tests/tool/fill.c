/* SPDX-License-Identifier: Apache-2.0
 *
 * fill SEGMENT [odd|wait|artifacts]: makes a segment with some jobs, as ranks would leave it, for
 * the tests of the tool. Prints nothing; the processes are gone when it ends.
 */
#include "store/artifact.h"
#include "store/modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct process {
    struct rs_identity identity;
    int ordinal;
    struct {
        enum rs_counter counter;
        uint64_t value;
    } counts[12];
    const char *torch; /* NULL: 2.11.0 */
    struct {
        enum rs_event_type type;
        enum rs_kind kind;
        uint8_t key; /* 0: no event */
    } events[4];
};

static const struct process processes[] = {
    {.identity = {"train", 0, 2},
     .ordinal = 3,
     .counts = {{RS_C_details_fx, 2},
                {RS_C_fx_misses, 2},
                {RS_C_leases, 2},
                {RS_C_stores_fx, 2},
                {RS_C_flag_inference, 1},
                {RS_C_flag_benchmarks, 2},
                {RS_C_loads_dlsym, 6},
                {RS_C_loads_failed, 1},
                {RS_C_load_ns, 9000005},
                {RS_C_function_ns, 250000}}},
    {.identity = {"train", 1, 2},
     .ordinal = 11,
     .counts = {{RS_C_details_fx, 3},
                {RS_C_fx_hits, 1},
                {RS_C_fx_waited, 1},
                {RS_C_wait_ns, 4200000000u},
                {RS_C_aot_waited, 1},
                {RS_C_configs_second, 1},
                {RS_C_configs_taken, 6},
                {RS_C_views, 2},
                {RS_C_keys_native, 1},
                {RS_C_REFUSED + RS_REFUSED_rank_specific - 1, 1},
                {RS_C_wait_timeouts, 1}}},
    /* A compile worker of rank 1: no ordinal of its own. */
    {.identity = {"train", 1, 2},
     .ordinal = -1,
     .counts = {{RS_C_keys_triton, 5}, {RS_C_triton_hits, 5}}},
    {.identity = {"idle", -1, 0}, .ordinal = -1, .counts = {{RS_C_segment_errors, 0}}},
};

/* Jobs in which something went otherwise than it should, and some that only look like it. */
static const struct process odd[] = {
    {.identity = {"disagree", 0, 2},
     .counts = {{RS_C_details_fx, 1}},
     .torch = "2.15.0",
     .events = {{RS_EVENT_LEASE, RS_KIND_fx_details, 1}, {RS_EVENT_LEASE, RS_KIND_fx_details, 9}}},
    {.identity = {"disagree", 1, 2},
     .ordinal = 1,
     .counts = {{RS_C_details_fx, 2}, {RS_C_flag_benchmarks, 1}},
     .torch = "2.7.1",
     .events = {{RS_EVENT_LEASE, RS_KIND_fx_details, 2},
                {RS_EVENT_STORE, RS_KIND_fx_entry, 2},
                {RS_EVENT_HIT, RS_KIND_aot_details, 3},
                {RS_EVENT_WAIT, RS_KIND_fx_details, 9}}},
    {.identity = {"agree", 0, 2},
     .counts = {{RS_C_details_fx, 1}, {RS_C_flag_benchmarks, 1}, {RS_C_flag_inference, 1}},
     .events = {{RS_EVENT_LEASE, RS_KIND_fx_details, 4}, {RS_EVENT_STORE, RS_KIND_aot_entry, 5}}},
    {.identity = {"agree", 1, 2},
     .ordinal = 1,
     .counts = {{RS_C_details_fx, 1}, {RS_C_flag_benchmarks, 3}},
     .events = {{RS_EVENT_WAIT, RS_KIND_fx_details, 4}, {RS_EVENT_HIT, RS_KIND_aot_details, 5}}},
    /* Rank 1 loads the AOTAutograd entry, and never looks for the FX key in it. */
    {.identity = {"inference", 0, 2},
     .counts = {{RS_C_details_fx, 1}, {RS_C_flag_benchmarks, 1}},
     .events = {{RS_EVENT_LEASE, RS_KIND_fx_details, 6}, {RS_EVENT_LEASE, RS_KIND_aot_details, 7}}},
    {.identity = {"inference", 1, 2},
     .ordinal = 1,
     .counts = {{RS_C_aot_waited, 1}},
     .events = {{RS_EVENT_HIT, RS_KIND_aot_details, 7}}},
    {.identity = {"single", 0, 1},
     .counts = {{RS_C_details_fx, 1}},
     .events = {{RS_EVENT_LEASE, RS_KIND_fx_details, 8}}},
    {.identity = {"tired", 0, 2},
     .counts = {{RS_C_details_fx, 1}},
     .events = {{RS_EVENT_LEASE, RS_KIND_fx_details, 10}}},
    {.identity = {"tired", 1, 2},
     .ordinal = 1,
     .counts = {{RS_C_details_fx, 1}, {RS_C_wait_timeouts, 1}}},
    {.identity = {"kernels", 0, 1},
     .ordinal = -1,
     .counts = {{RS_C_keys_triton, 2}, {RS_C_triton_misses, 2}}},
    {.identity = {"last", 0, 2}, .counts = {{RS_C_details_fx, 1}, {RS_C_takeovers, 1}}},
};

/* Two modules of both ranks, one of them refused by a GPU that came later, one in a library. */
static void load(struct rs_store *store, struct rs_slot *slot, int rank)
{
    static const struct rs_module_facts facts[] = {
        {.kind = RS_KIND_cubin,
         .size = 17952,
         .sm = 90,
         .suffix = 'a',
         .kernels = 2,
         .kernel = "add"},
        {.kind = RS_KIND_ptx, .size = 900, .sm = 80, .kernels = 1, .kernel = "mul"},
        {.kind = RS_KIND_fatbin, .size = 1000000, .mapped = true, .kernel = ""},
    };

    for (uint64_t i = 0; i < 3 - (uint64_t)rank; i++) {
        struct rs_hash128 name = {i, 0xabcd};
        struct rs_module *module = rs_module_add(store, &name, &facts[i]);

        rs_module_count(module, slot, true, 1000000 * (i + 1), 0);
        if (i == 0 && rank == 1)
            rs_module_count(module, slot, false, 5, 120);
    }
}

static int fill(struct rs_store *store, const struct process *process)
{
    struct rs_slot *slot = rs_slot_claim(store, &process->identity);

    if (!slot)
        return 1;
    if (process->ordinal >= 0) {
        rs_slot_ordinal(slot, process->ordinal);
        rs_slot_versions(store, slot, process->torch ? process->torch : "2.11.0", "3.6.0",
                         "NVIDIA H200");
    }
    if (process->ordinal >= 0 && strcmp(process->identity.job, "train") == 0)
        load(store, slot, process->identity.rank);
    for (size_t i = 0; i < sizeof(process->counts) / sizeof(process->counts[0]); i++)
        rs_slot_count(slot, process->counts[i].counter, process->counts[i].value);
    for (size_t i = 0; i < 4 && process->events[i].key; i++) {
        struct rs_key key = {{process->events[i].key}};

        rs_event(store, slot, process->events[i].type, process->events[i].kind, &key, 0);
    }
    return 0;
}

/* Three artifacts: of rank 0, the same bytes from another root, and a warm one. */
static int fill_artifacts(struct rs_store *store)
{
    static char text[20000];
    struct rs_slot *slot = rs_slot_claim(store, &processes[0].identity);
    struct rs_part_in parts[] = {
        {.name = "kernel.json", .data = "{}", .size = 2, .mode = 0644},
        {.name = "kernel.ttir", .data = text, .size = sizeof(text), .mode = 0644},
    };

    memset(text, 'x', sizeof(text));
    for (uint64_t i = 1; slot && i <= 3; i++) {
        struct rs_artifact_key key = {.kind = i == 3 ? RS_KIND_fx_entry : RS_KIND_triton_group,
                                      .key = {{0xab, i == 3}}};
        struct rs_origin origin = rs_origin_of(store, slot, 1, i);
        unsigned flags = i == 3 ? RS_PUT_WARM : 0;

        if (rs_artifact_put(store, slot, &key, &origin, flags, parts, i == 3 ? 1 : 2) !=
            RS_PUT_STORED)
            return 1;
    }
    return slot ? 0 : 1;
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

static int fill_all(struct rs_store *store, const struct process *process, size_t count)
{
    int failed = 0;

    for (size_t i = 0; i < count; i++) {
        pid_t pid = fork();
        int ended = 1;

        if (pid == 0) {
            rs_store_forked();
            _exit(fill(store, &process[i]));
        }
        waitpid(pid, &ended, 0);
        failed |= ended;
    }
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    char name[RS_SEGMENT_NAME_MAX];
    struct rs_store store;

    if (argc < 2 || !rs_store_name(name, getuid(), argv[1]))
        return 1;
    enum rs_store_status status = rs_store_open(name, true, true, &store);
    store.dir = getenv("RANKSHARE_DIR");
    if (status != RS_STORE_OK) {
        fprintf(stderr, "fill: %s\n", rs_store_status_text(status));
        return 1;
    }
    if (argc > 2 && strcmp(argv[2], "odd") == 0)
        return fill_all(&store, odd, sizeof(odd) / sizeof(odd[0]));
    if (argc > 2 && strcmp(argv[2], "artifacts") == 0)
        return fill_artifacts(&store);
    if (argc > 2)
        return stay(&store);
    return fill_all(&store, processes, sizeof(processes) / sizeof(processes[0]));
}
