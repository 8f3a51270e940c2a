/* SPDX-License-Identifier: Apache-2.0
 *
 * fopen and freopen. The CUDA driver opens cubins with fopen; nobody opens entries so today, but a
 * view must not depend on which call a reader prefers.
 */
#include "hook/file.h"

#include <string.h>

/* The look's operation for a mode string; false for "w": a file made anew. */
static bool stream_operation(const char *mode, enum rs_look_op *op)
{
    if (mode[0] != 'r' && mode[0] != 'a') {
        return false;
    }
    *op = mode[0] == 'a' || strchr(mode, '+') ? RS_LOOK_WRITE : RS_LOOK_OPEN;
    return true;
}

static FILE *finish_stream(struct rs_look *look, FILE *stream)
{
    if (stream && !rs_look_opened(look, fileno(stream))) {
        int error = errno;
        fclose(stream);
        errno = error;
        return NULL;
    }
    return stream;
}

/* A file made anew, as finish_plain() of open. */
static FILE *finish_anew(const char *path, FILE *stream)
{
    if (stream) {
        rs_keep_writing(AT_FDCWD, path);
    } else {
        rs_keep_lost(AT_FDCWD, path);
    }
    return stream;
}

#define FOPEN_HOOK(name)                                                                           \
    RS_SLOW FILE *watched_##name(const char *path, const char *mode)                               \
    {                                                                                              \
        struct rs_look look;                                                                       \
        enum rs_look_op op;                                                                        \
        FILE *stream;                                                                              \
        if (!stream_operation(mode, &op)) {                                                        \
            return finish_anew(path, RS_NEXT(name)(path, mode));                                   \
        }                                                                                          \
        if (!rs_look_begin(&look, AT_FDCWD, path, op)) {                                           \
            return RS_NEXT(name)(path, mode);                                                      \
        }                                                                                          \
        if (op == RS_LOOK_WRITE) {                                                                 \
            return rs_look_refuse_write(&look) ? NULL : RS_NEXT(name)(path, mode);                 \
        }                                                                                          \
        if (rs_look_blocks(&look)) {                                                               \
            return NULL;                                                                           \
        }                                                                                          \
        while (rs_look_again(&look, (stream = RS_NEXT(name)(path, mode)) != NULL)) {               \
            if (stream) {                                                                          \
                fclose(stream);                                                                    \
            }                                                                                      \
        }                                                                                          \
        return finish_stream(&look, stream);                                                       \
    }                                                                                              \
    RS_EXPORT FILE *name(const char *path, const char *mode)                                       \
    {                                                                                              \
        return rs_watch(path) ? watched_##name(path, mode) : RS_NEXT(name)(path, mode);            \
    }

/* freopen closes STREAM whatever happens, so it is called once and never waits. */
#define FREOPEN_HOOK(name)                                                                         \
    RS_SLOW FILE *watched_##name(const char *path, const char *mode, FILE *stream)                 \
    {                                                                                              \
        struct rs_look look;                                                                       \
        enum rs_look_op op;                                                                        \
        if (!stream_operation(mode, &op) ||                                                        \
            !rs_look_begin(&look, AT_FDCWD, path, RS_LOOK_WRITE)) {                                \
            return RS_NEXT(name)(path, mode, stream);                                              \
        }                                                                                          \
        if (op == RS_LOOK_WRITE ? rs_look_refuse_write(&look) : rs_look_blocks(&look)) {           \
            int error = errno;                                                                     \
            fclose(stream);                                                                        \
            errno = error;                                                                         \
            return NULL;                                                                           \
        }                                                                                          \
        stream = RS_NEXT(name)(path, mode, stream);                                                \
        return op == RS_LOOK_WRITE ? stream : finish_stream(&look, stream);                        \
    }                                                                                              \
    RS_EXPORT FILE *name(const char *path, const char *mode, FILE *stream)                         \
    {                                                                                              \
        return rs_watch(path) ? watched_##name(path, mode, stream)                                 \
                              : RS_NEXT(name)(path, mode, stream);                                 \
    }

FOPEN_HOOK(fopen)
FOPEN_HOOK(fopen64)
FREOPEN_HOOK(freopen)
FREOPEN_HOOK(freopen64)
