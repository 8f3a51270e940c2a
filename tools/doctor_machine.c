/* SPDX-License-Identifier: Apache-2.0
 *
 * What the machine must offer: shared memory, descriptors for views, /proc.
 */
#include "doctor.h"
#include "explain.h"
#include "format.h"
#include "store/layout.h"
#include "tool.h"
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char SHM[] = "/dev/shm";

struct latest {
    struct doctor *doctor;
    const struct view_job *job;
};

static void note_latest(void *context, const char *sentence)
{
    struct latest *latest = context;

    doctor_say(latest->doctor, FINDING_NOTE, "job %s: %s", latest->job->id, sentence);
}

/* What the latest job met with. */
static void check_latest(struct doctor *doctor, const struct view *view)
{
    if (view->count == 0)
        return;
    struct latest latest = {doctor, &view->jobs[view->count - 1]};
    explain_job(latest.job, note_latest, &latest);
}

static void note_module(void *context, const char *sentence)
{
    doctor_say(context, FINDING_NOTE, "modules: %s", sentence);
}

/* Whether the segment exists and is good. */
static bool check_segment(struct doctor *doctor, const char *segment)
{
    struct view view;
    enum rs_store_status status = view_read(segment, &view);

    if (status == RS_STORE_OK)
        doctor_say(doctor, FINDING_OK, "segment: %s, %zu job%s so far", segment, view.count,
                   view.count == 1 ? "" : "s");
    else if (status == RS_STORE_ABSENT)
        doctor_say(doctor, FINDING_OK, "segment: %s does not exist yet; the first rank makes it",
                   segment);
    else
        doctor_say(doctor, FINDING_WRONG, "segment: %s: %s", segment, rs_store_status_text(status));
    check_latest(doctor, &view);
    modules_explain(&view.modules, note_module, doctor);
    view_free(&view);
    return status == RS_STORE_OK;
}

static void check_shm(struct doctor *doctor, bool have_segment)
{
    struct statvfs space;
    char text[FORMAT_MAX];

    if (statvfs(SHM, &space) != 0 || access(SHM, W_OK | X_OK) != 0) {
        doctor_say(doctor, FINDING_WRONG, "shared memory: %s: %s", SHM, strerror(errno));
        return;
    }
    uint64_t available = (uint64_t)space.f_bavail * space.f_frsize;
    format_bytes(text, available);
    if (!have_segment && available < RS_SEGMENT_SIZE)
        doctor_say(doctor, FINDING_WRONG, "shared memory: %s has only %s free", SHM, text);
    else
        doctor_say(doctor, FINDING_OK, "shared memory: %s has %s free%s", SHM, text,
                   available / 4 < RS_ARENA_STEP
                       ? ": artifacts are kept in a file under RANKSHARE_DIR"
                       : "");
}

/* A view is a descriptor that a rank reads in place of the file: writable here, read-only for it.
 */
static bool memfd_works(void)
{
    int fd = memfd_create("rankshare-doctor", MFD_CLOEXEC);
    char *path = tool_format("/proc/self/fd/%d", fd);
    int again = fd < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);

    free(path);
    if (fd >= 0)
        close(fd);
    if (again >= 0)
        close(again);
    return again >= 0;
}

static bool temporary_works(void)
{
    const char *directory = getenv("TMPDIR");
    char *path =
        tool_format("%s/rankshare-doctor-XXXXXX", directory && *directory ? directory : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);

    if (fd >= 0) {
        unlink(path);
        close(fd);
    }
    free(path);
    return fd >= 0;
}

static void check_views(struct doctor *doctor)
{
    if (memfd_works())
        doctor_say(doctor, FINDING_OK, "views: memfd_create works");
    else if (temporary_works())
        doctor_say(doctor, FINDING_NOTE, "views: no memfd here, temporary files serve instead");
    else
        doctor_say(doctor, FINDING_WRONG,
                   "views: neither memfd_create nor a temporary file works, so keys stay native");
}

static void check_proc(struct doctor *doctor)
{
    if (access("/proc/self/stat", R_OK) == 0 && access("/proc/self/fd", X_OK) == 0)
        doctor_say(doctor, FINDING_OK, "/proc is there: dead producers are noticed");
    else
        doctor_say(doctor, FINDING_WRONG,
                   "/proc is not mounted: a dead producer can't be told from a slow one");
}

void doctor_machine(struct doctor *doctor, const char *segment)
{
    check_shm(doctor, check_segment(doctor, segment));
    check_views(doctor);
    check_proc(doctor);
}
