/* SPDX-License-Identifier: Apache-2.0
 *
 * Layout of the shared segment: fixed-width fields, offsets, 64-byte aligned hot words. The layout
 * test nails every offset; any change raises RANKSHARE_LAYOUT. docs/segment.md explains it.
 *
 * All zero means free: a new segment is its header and zeros. Words that several processes write
 * are atomic; so are fields that one process rewrites while others may read them.
 */
#ifndef RANKSHARE_SEGMENT_H
#define RANKSHARE_SEGMENT_H

#include <rankshare/names.h>
#include <rankshare/version.h>

#include <stdint.h>

#define RS_SEGMENT_MAGIC UINT64_C(0x317268736b6e6172) /* "rankshr1" in memory */

enum {
    RS_JOB_NAME_MAX = 96,
    RS_VERSION_MAX = 64, /* torch, triton */
    RS_DEVICE_MAX = 96,
    RS_BOOT_ID_MAX = 40,

    RS_JOBS = 256,
    RS_SLOTS = 4096,
    RS_LEASES = 4096,
    RS_EVENTS = 16384,
    RS_MODULES = 4096,
    RS_COUNTER_ROOM = 128, /* counters that fit without another layout */
    RS_KERNEL_MAX = 96,    /* a kernel's name, cut to fit */

    /* The artifact store. */
    RS_GROUPS = 131072,
    RS_OBJECTS = 262144,
    RS_HEADS = 65536, /* hash chains, of groups and of objects */
    RS_PINS = 2048,
    RS_WANTED = 8192,
    RS_GROUP_OBJECTS = 28, /* a manifest and 27 parts */
    RS_GRANULE = 256,      /* unit of the arena, bytes */
    RS_TURNS = 256,
};
#define RS_ARENA_STEP (UINT64_C(16) << 20) /* bytes reserved at a time */
#define RS_ARENA_MAX  (UINT64_C(4) << 30)
#define RS_NO_JOB     UINT32_MAX

_Static_assert((int)RS_COUNTER_COUNT <= (int)RS_COUNTER_ROOM, "counters outgrew their slot");

enum rs_event_type {
    RS_EVENT_HIT = 1,      /* found at the first look */
    RS_EVENT_LEASE,        /* became the producer */
    RS_EVENT_STORE,        /* stored; value: nanoseconds since the lease */
    RS_EVENT_WAIT,         /* waited; value: nanoseconds */
    RS_EVENT_TIMEOUT,      /* gave up waiting; value: nanoseconds */
    RS_EVENT_TAKEOVER,     /* took over from a dead producer */
    RS_EVENT_UNPRODUCTIVE, /* a lease ended without a store */
    RS_EVENT_VIEW,         /* an entry was shown with another ordinal; value: bytes */
    RS_EVENT_REFUSED,      /* not shared; value: enum rs_reason */
};

struct rs_event {
    uint64_t time_ns; /* CLOCK_REALTIME */
    uint64_t value;
    uint32_t pid;
    int32_t rank;
    uint32_t job; /* index into the job table */
    uint8_t type; /* enum rs_event_type */
    uint8_t kind; /* enum rs_kind */
    uint8_t reserved[2];
    uint8_t key[32];
};

/* An event in the ring. WORD is 0 while it is written, else ticket and check sum (event.c). */
enum { RS_EVENT_WORDS = 8 };
struct rs_event_cell {
    _Atomic uint64_t word;
    _Atomic uint64_t data[RS_EVENT_WORDS]; /* struct rs_event */
};

struct rs_table {
    uint64_t offset; /* from the segment's start */
    uint32_t count;
    uint32_t stride; /* size of one element */
};

/* The kinds of cache directory that a process has. */
enum rs_root { RS_ROOT_INDUCTOR, RS_ROOT_TRITON, RS_ROOTS };

/* The directory that leases are about where the ranks of a job have several (job_root.c). */
struct rs_job_root {
    _Atomic uint64_t word; /* run, and how far it is written */
    _Atomic uint64_t dev, ino;
};

/* A job: the processes that belong together. Written under the registry lock. */
struct rs_job {
    _Atomic uint64_t word;     /* state, and a generation that goes up with each new tenant */
    _Atomic uint64_t first_ns; /* CLOCK_REALTIME of the first process */
    _Atomic uint64_t last_ns;  /* of the latest */
    _Atomic uint32_t run;      /* another number for each run: unproductive marks end with it */
    _Atomic int32_t world;     /* largest WORLD_SIZE seen, 0 unknown */
    _Atomic uint32_t versions; /* 1: the lists torch, triton and device are begun */
    uint32_t reserved[7];
    _Atomic uint64_t name[RS_JOB_NAME_MAX / 8]; /* texts end in a zero byte */
    _Atomic uint64_t torch[RS_VERSION_MAX / 8];
    _Atomic uint64_t triton[RS_VERSION_MAX / 8];
    _Atomic uint64_t device[RS_DEVICE_MAX / 8];
    _Atomic uint64_t counters[RS_COUNTER_ROOM]; /* of processes whose slots were reused */
    struct rs_job_root roots[RS_ROOTS];
    uint64_t reserved1[2];
};

/* A process. The first line says who, the others count; no other process counts in them. */
struct rs_slot {
    _Alignas(64) _Atomic uint64_t word; /* state, and a generation that goes up with each tenant */
    _Atomic uint64_t start;             /* /proc/<pid>/stat field 22; 0 unknown */
    _Atomic uint64_t space;             /* inode of the pid namespace; 0 unknown */
    _Atomic uint64_t claimed_ns;        /* CLOCK_REALTIME */
    _Atomic int32_t pid;                /* in that namespace */
    _Atomic int32_t rank;
    _Atomic int32_t world;
    _Atomic uint32_t job;    /* RS_NO_JOB: none */
    _Atomic int32_t ordinal; /* -1 unknown */
    _Atomic int32_t group;   /* process group, in that namespace */
    _Atomic uint32_t beat_s; /* CLOCK_MONOTONIC of the latest sign of work, in seconds */
    _Atomic uint32_t image;  /* changes with exec(2), which keeps pid and start; 0 unknown */
    _Alignas(64) _Atomic uint64_t counters[RS_COUNTER_ROOM];
};

/* A lease. WORD is the protocol (shim/store/lease_word.h); kind to inode are the place, valid from
 * PENDING on; the rest is valid in HELD, and job and run in UNPRODUCTIVE. */
struct rs_lease {
    _Alignas(64) _Atomic uint64_t word;
    _Atomic uint32_t turn; /* futex: goes up when the lease ends */
    _Atomic uint32_t kind;
    _Atomic uint64_t key[4];
    _Atomic uint64_t dev, ino;
    _Atomic uint64_t thread_start; /* of the owner's thread; 0 unknown */
    _Atomic uint64_t taken_ns;     /* CLOCK_MONOTONIC */
    _Atomic int32_t tid;
    _Atomic uint32_t job;
    _Atomic uint32_t run;
    uint32_t reserved0;
    _Atomic uint64_t storing; /* lease's generation and second (CLOCK_MONOTONIC) when the owner
                                 began to write; 0: it has not */
    uint64_t reserved1[3];
};

/* A group: all files of one artifact, from one producer. Written under the store's lock, read
 * without it: fields hold while WORD (state and generation) is the same before and after. */
struct rs_group {
    _Alignas(64) _Atomic uint64_t word;
    _Atomic uint64_t owner;    /* process tag of who writes it, while it is written */
    _Atomic uint64_t key[4];   /* struct rs_key */
    _Atomic uint64_t class_id; /* GPUs that may use it; 0: any */
    _Atomic uint64_t dev, ino; /* of the cache root that it was published from */
    _Atomic uint64_t seal[2];  /* XXH3-128 of the manifest */
    _Atomic uint32_t job, run; /* of the producer */
    _Atomic uint32_t kind;     /* enum rs_kind */
    _Atomic uint32_t next;     /* in its chain, or in the list of free ones; index + 1 */
    _Atomic uint32_t count;    /* of objects */
    _Atomic uint32_t flags;
    _Atomic uint64_t raw;    /* bytes of its parts, unpacked */
    _Atomic uint64_t put_ns; /* CLOCK_REALTIME */
    _Atomic int32_t pid, rank;
    _Atomic uint64_t keep_ms;                   /* CLOCK_MONOTONIC: not evicted before */
    _Atomic uint32_t objects[RS_GROUP_OBJECTS]; /* index + 1; the first is the manifest */
};

/* Bytes stored once. A group that lists it holds a reference. */
struct rs_object {
    _Alignas(64) _Atomic uint64_t word;
    _Atomic uint64_t low, high; /* XXH3-128 of the bytes, or a hash of what they mean */
    _Atomic uint64_t check;     /* low half of the bytes' own XXH3-128 */
    _Atomic uint64_t offset;    /* in the arena, bytes */
    _Atomic uint32_t stored;    /* bytes there; less than RAW: one zstd frame */
    _Atomic uint32_t raw;
    _Atomic uint32_t refs;
    _Atomic uint32_t next; /* as in a group */
    uint64_t reserved;
};

/* Somebody reads a group: it is not evicted. */
struct rs_pin {
    _Atomic uint64_t tag;   /* process; 0: free */
    _Atomic uint64_t group; /* index + 1 and, above 32 bits, its generation; 0: none yet */
    _Atomic uint64_t since_ms;
    uint64_t reserved;
};

enum rs_store_place {
    RS_PLACE_NONE, /* nothing was put yet */
    RS_PLACE_SHM,  /* the arena is the segment's tail */
    RS_PLACE_FILE, /* it is a file under RANKSHARE_DIR */
};

/* A module that was loaded onto a GPU (shim/store/modules.c). */
struct rs_module {
    _Alignas(64) _Atomic uint64_t word; /* state, generation, second in which it was taken */
    _Atomic uint64_t low, high;         /* XXH3-128 of its bytes, or of a library and a place */
    _Atomic uint64_t size;
    _Atomic uint64_t loads;    /* that succeeded */
    _Atomic uint64_t ns;       /* in the driver */
    _Atomic uint64_t ranks[2]; /* a bit for each rank modulo 128 */
    _Atomic uint32_t kind;     /* enum rs_kind */
    _Atomic uint32_t arch;     /* 90 << 8 | 'a' for sm_90a; 0 unknown */
    _Atomic uint32_t kernels;  /* 0 unknown */
    _Atomic uint32_t flags;    /* 1: in a loaded library; 2: has a name; 4: put into the store */
    _Atomic uint32_t failed;
    _Atomic uint32_t refused_by; /* compute capability of a device that can't run it; 0 none */
    _Atomic uint32_t used_s;     /* CLOCK_REALTIME second of the latest load */
    _Atomic uint32_t first;      /* a mark of the process that loaded it first; 0 none */
    _Atomic uint64_t kernel[RS_KERNEL_MAX / 8]; /* name of the first one; ends in a zero byte */
};

struct rs_segment {
    /* Never changes once the segment has its name. */
    uint64_t magic;
    uint32_t layout;      /* RANKSHARE_LAYOUT */
    uint32_t header_size; /* sizeof(struct rs_segment) */
    uint64_t total_size;
    uint32_t page_size;
    uint32_t uid;
    uint64_t created_ns; /* CLOCK_REALTIME */
    uint64_t creator_start;
    uint64_t creator_space;
    int32_t creator_pid;
    uint32_t counter_count; /* RS_COUNTER_COUNT of the creator */
    char boot_id[RS_BOOT_ID_MAX];
    struct rs_table modules;
    uint64_t reserved0;
    struct rs_table jobs, slots, leases, events;
    /* The artifact store's tables; behind the file's end until something is put. */
    struct rs_table groups, objects, pins;
    uint64_t index_offset, arena_offset;

    _Alignas(64) _Atomic uint64_t registry;    /* lock of jobs and slots: its owner, 0 free */
    _Atomic uint32_t slots_used;               /* slots below were claimed at least once */
    _Atomic uint32_t slot_hand;                /* where the search for dead processes goes on */
    _Atomic uint32_t runs;                     /* last run number given out */
    _Alignas(64) _Atomic uint64_t events_next; /* next ticket of the ring */

    _Alignas(64) _Atomic uint64_t
        store_lock; /* of groups, objects and arena; like the registry's */
    _Alignas(64) _Atomic uint32_t store_place;  /* enum rs_store_place */
    _Atomic uint32_t groups_room, objects_room; /* entries whose memory is reserved */
    uint32_t reserved1;
    _Atomic uint64_t arena_size;              /* bytes it may have */
    _Atomic uint64_t arena_room;              /* bytes reserved so far */
    _Atomic uint64_t file_dev, file_ino;      /* of the arena, when it is a file */
    _Atomic uint64_t retry_ms;                /* CLOCK_MONOTONIC: no room until then */
    _Atomic uint64_t file_born;               /* when that file was made; 0 unknown */
    _Alignas(64) _Atomic uint32_t groups_top; /* entries used at least once */
    _Atomic uint32_t objects_top;
    _Atomic uint32_t groups_free, objects_free; /* lists of the others; index + 1 */
    _Atomic uint32_t groups_used, objects_used;
    _Atomic uint32_t arena_hand; /* granule where the search goes on */
    uint32_t reserved2;
    _Atomic uint64_t arena_used;                   /* bytes */
    _Alignas(64) _Atomic uint64_t turns[RS_TURNS]; /* at reading files for all: whose, 0 nobody's */
    uint8_t reserved3[4096 - 576 - RS_TURNS * 8];
};

#endif
