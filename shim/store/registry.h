/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs and process slots, and the lock under which they are given out. Counting and asking for
 * leases never take it. A holder's death frees it, at any instruction.
 */
#ifndef RS_STORE_REGISTRY_H
#define RS_STORE_REGISTRY_H

#include "store/process.h"
#include "store/store.h"

/* States of rs_slot.word and rs_job.word, in the low byte; the generation is above. */
enum rs_slot_state {
    RS_SLOT_FREE,    /* also: claimed by a process that died before it was live */
    RS_SLOT_CLAIMED, /* its fields are being written */
    RS_SLOT_LIVE,    /* a process, alive or dead */
    RS_SLOT_FOLDING, /* a dead process; its counters move to the job */
};
enum rs_job_state { RS_JOB_FREE, RS_JOB_READY };

static inline unsigned rs_word_state(uint64_t word)
{
    return (unsigned)(word & 0xff);
}

static inline uint64_t rs_word_generation(uint64_t word)
{
    return word >> 8;
}

static inline uint64_t rs_word(unsigned state, uint64_t generation)
{
    return generation << 8 | state;
}

/* The registry lock: false after a second in which a living process has held it. MINE gets what
 * rs_registry_unlock() wants. */
bool rs_registry_lock(struct rs_segment *segment, uint64_t *mine);
void rs_registry_unlock(struct rs_segment *segment, uint64_t mine);

/* Under the lock. The job named NAME, made or renewed when need be; RS_NO_JOB when 256 jobs live.
 */
uint32_t rs_job_take(struct rs_segment *segment, const char *name);

/* Whether a process of the job may be alive. Takes no lock. */
bool rs_job_alive(const struct rs_segment *segment, uint32_t job);

/* Slots that were given out at least once: what the segment says, RS_SLOTS at most. */
uint32_t rs_slots_used(const struct rs_segment *segment);

/* Whether the slot's process can't be judged (a foreign pid namespace) and has shown no sign of
 * work for an hour. It is most likely dead; if it is not, it sees at its next sign that the slot's
 * word is another one, and shares no more. */
enum { RS_FORSAKEN_S = 3600 };
bool rs_slot_forsaken(const struct rs_slot *slot);
uint32_t rs_slot_idle_s(const struct rs_slot *slot);

/* Under the lock. Moves a dead process's counters into its job, each exactly once even if the mover
 * dies here and another goes on; at most the one counter that is on its way is lost then. Frees the
 * slot. */
void rs_slot_fold(struct rs_segment *segment, struct rs_slot *slot);

/* Whose a slot is, as it stands there: only between two equal readings of its word is it one
 * process. Takes no lock. */
struct rs_process rs_slot_process(const struct rs_slot *slot);

/* Texts in shared memory: atomic words, so that a reader beside a writer gets old or new letters.
 */
void rs_text_put(_Atomic uint64_t *words, size_t size, const char *text);
void rs_text_get(const _Atomic uint64_t *words, size_t size, char *text);

#endif
