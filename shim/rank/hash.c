/* SPDX-License-Identifier: Apache-2.0 */
#include "rank/hash.h"

#include "base/log.h"
#include "ordinal/flags.h"
#include "rank/count.h"
#include "rank/env.h"
#include "rank/known.h"
#include "rank/node.h"
#include "rank/refusal.h"
#include "rank/view.h"

#include <string.h>

/* Details are some 10 kB to a few MB; a walk needs a small multiple of that. */
static const size_t details_memory = (size_t)512 << 20;

/* Bytes that leave by another door than the cache directory would carry a canonical key with this
 * rank's own ordinal inside. */
static enum rs_reason other_door(const struct rs_python_facts *facts)
{
    if (facts->redis || rs_env_switch(RS_ENV_TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE) ||
        rs_env_switch(RS_ENV_TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE) ||
        rs_env_switch(RS_ENV_TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE)) {
        return RS_REFUSED_remote_cache;
    }
    return facts->vllm ? RS_REFUSED_blob_user : RS_OK;
}

/* Nothing of this process is shared. */
static enum rs_reason process_refuses(const struct rs_report *report,
                                      const struct rs_python_facts *facts)
{
    enum rs_reason reason = other_door(facts);
    if (reason == RS_OK && rs_report_ordinal(report) >= 0 && !rs_views_work()) {
        reason = RS_REFUSED_views;
    }
    return reason;
}

static void refuse(struct rs_hash_plan *plan, enum rs_reason reason, size_t where)
{
    plan->treatment = RS_TREAT_NATIVE;
    rs_count(RS_C_keys_native, 1);
    rs_count_refusal(reason);
    rs_node_event(RS_EVENT_REFUSED, plan->kind, NULL, (uint64_t)reason);
    rs_log("%s stay native: %s (at byte %zu)", rs_kind_name(plan->kind), rs_reason_text(reason),
           where);
}

/* Neither the native key (that of cuda:0 is the canonical one) nor the canonical one: the details
 * of a second device, or AOT details that are refused while the FX graphs that their entry names
 * are shared. Under its native key that entry would lead a process without the library to the code
 * of cuda:0. */
static void make_private(struct rs_hash_plan *plan, const uint8_t *data, size_t size,
                         enum rs_reason reason)
{
    char salt[RS_SALT_MAX];
    size_t length = rs_salt_write(plan->ordinal, salt);
    uint8_t *bytes = rs_arena_alloc(&plan->arena, length + size);
    if (!bytes) {
        refuse(plan, RS_REFUSED_limit, 0);
        return;
    }
    memcpy(bytes, salt, length);
    memcpy(bytes + length, data, size);
    plan->bytes = (struct rs_bytes){bytes, length + size};
    plan->replace = true;
    plan->treatment = RS_TREAT_PRIVATE;
    rs_count(RS_C_keys_private, 1);
    rs_count_refusal(reason);
    rs_node_event(RS_EVENT_REFUSED, plan->kind, NULL, (uint64_t)reason);
}

/* CANONICAL: the details with every ordinal set to 0. */
static void make_canonical(struct rs_hash_plan *plan, const struct rs_pieces *canonical)
{
    if (plan->ordinal > 0) {
        plan->bytes = rs_pieces_flatten(&plan->arena, canonical);
        if (!plan->bytes.data) {
            refuse(plan, RS_REFUSED_limit, 0);
            return;
        }
        plan->replace = true;
    }
    plan->treatment = RS_TREAT_CANONICAL;
    rs_count(RS_C_keys_canonical, 1);
}

/* What stats says about the process and its job. */
static void describe(const struct rs_hash_plan *plan, const struct rs_report *report,
                     const struct rs_python_facts *facts)
{
    struct rs_node *node = rs_node();
    if (!node || !node->slot) {
        return;
    }
    if (plan->ordinal >= 0) {
        rs_slot_ordinal(node->slot, rs_primary());
    }
    const char *triton = facts->triton_version[0] ? facts->triton_version : report->triton_version;
    rs_slot_versions(&node->store, node->slot, facts->torch_version, triton, report->device_name);
}

/* The settings that a result depends on, for the job's line in stats. AOT details always permit
 * measurements (formats.md), so only those of FX graphs tell. */
static void note_flags(enum rs_kind kind, unsigned flags, const struct rs_report *report)
{
    static const struct {
        unsigned flag;
        enum rs_counter counter;
    } noted[] = {
        {RS_FLAG_INFERENCE, RS_C_flag_inference},
        {RS_FLAG_BENCHMARKS, RS_C_flag_benchmarks},
        {RS_FLAG_TALKS, RS_C_flag_talks},
        {RS_FLAG_BAKES, RS_C_flag_bakes},
        {RS_FLAG_CUSTOM_PASS, RS_C_flag_custom_pass},
    };
    if (kind == RS_KIND_aot_details) {
        flags &= RS_FLAG_INFERENCE;
    }
    rs_count(RS_C_flag_collectives, kind == RS_KIND_fx_details && report->comms);
    for (size_t i = 0; i < sizeof(noted) / sizeof(noted[0]); i++) {
        rs_count(noted[i].counter, (flags & noted[i].flag) != 0);
    }
}

static void plan_details(struct rs_hash_plan *plan, const uint8_t *data, size_t size,
                         const struct rs_python_facts *facts)
{
    struct rs_report report;
    struct rs_pieces canonical;
    struct rs_bytes native = {data, size};
    rs_count(plan->kind == RS_KIND_fx_details ? RS_C_details_fx : RS_C_details_aot, 1);
    (void)rs_ordinal_rewrite(&plan->arena, native, plan->kind, NULL, 0, &canonical, &report);
    int ordinal = rs_report_ordinal(&report);
    plan->ordinal = ordinal >= 0 ? ordinal : -1;
    int primary = plan->ordinal >= 0 ? rs_primary_offer(plan->ordinal) : -1;
    if (report.has_torch_key) {
        rs_torch_key_set(report.torch_key);
    }
    rs_torch_minor_set(rs_flags_minor(facts->torch_version));
    plan->flags = rs_flags_of(&report, facts->torch_version);
    plan->flags |= ordinal == -2 ? RS_FLAG_SEVERAL : 0;
    /* No details say so: a setting of Dynamo. */
    bool bundles =
        plan->kind == RS_KIND_aot_details && rs_env_switch(RS_ENV_TORCH_CACHING_PRECOMPILE);
    plan->flags |= bundles ? RS_FLAG_BUNDLED : 0;
    plan->flags |= report.comms ? RS_FLAG_COLLECTIVES : 0;
    note_flags(plan->kind, plan->flags, &report);
    (void)rs_node_tie();
    enum rs_reason process = process_refuses(&report, facts);
    enum rs_reason graph = rs_details_refusal(&report, plan->flags);
    if (process != RS_OK) {
        refuse(plan, process, report.where);
    } else if (graph != RS_OK && graph != RS_REFUSED_bundled && plan->kind == RS_KIND_aot_details &&
               ordinal != -2 && rs_primary() > 0) {
        plan->ordinal = rs_primary();
        make_private(plan, data, size, graph);
    } else if (graph != RS_OK) {
        refuse(plan, graph, report.where);
    } else if (primary != plan->ordinal) {
        make_private(plan, data, size, RS_REFUSED_second_ordinal);
    } else {
        make_canonical(plan, &canonical);
    }
    describe(plan, &report, facts);
}

void rs_hash_plan(struct rs_hash_plan *plan, enum rs_kind kind, const uint8_t *data, size_t size,
                  const struct rs_python_facts *facts)
{
    rs_arena_init(&plan->arena, details_memory);
    plan->replace = false;
    plan->bytes = (struct rs_bytes){data, size};
    plan->kind = kind;
    plan->ordinal = -1;
    plan->treatment = RS_TREAT_CANONICAL;
    plan->flags = 0;
    if (kind == RS_KIND_triton_key) {
        rs_count(RS_C_keys_triton, 1);
        (void)rs_node_tie();
    } else {
        plan_details(plan, data, size, facts);
    }
}

void rs_hash_done(struct rs_hash_plan *plan, enum rs_hashed hashed, const uint8_t *digest)
{
    if (hashed == RS_HASHED_NATIVE) {
        refuse(plan, RS_REFUSED_limit, 0);
    }
    enum rs_treatment treatment = (enum rs_treatment)plan->treatment;
    if (digest && hashed != RS_HASHED_NOTHING) {
        struct rs_key key = rs_key_of_digest(digest);
        struct rs_known what = {treatment, plan->kind, plan->ordinal, plan->flags};
        rs_known_add(&key, &what);
    } else if (hashed != RS_HASHED_NOTHING && treatment != RS_TREAT_CANONICAL) {
        rs_known_lost();
    }
    rs_arena_free(&plan->arena);
}
