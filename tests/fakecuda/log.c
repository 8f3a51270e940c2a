/* SPDX-License-Identifier: Apache-2.0 */
/* One log file per process, one line per event; nothing is written before the first event. */
#include "fake.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t opened_by;
static int descriptor = -1;

/* A fork child gets a file of its own: the name holds the process id. */
static int log_descriptor(void)
{
    const char *directory = getenv("FAKECUDA_LOG");
    if (!directory || !*directory)
        return -1;
    if (opened_by == getpid())
        return descriptor;
    char path[4200];
    if (snprintf(path, sizeof(path), "%s/%d.log", directory, (int)getpid()) >= (int)sizeof(path))
        return -1;
    if (descriptor >= 0)
        close(descriptor);
    descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    opened_by = getpid();
    return descriptor;
}

void fk_log(const char *format, ...)
{
    char line[8192];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if (length > (int)sizeof(line) - 2)
        length = (int)sizeof(line) - 2;
    line[length++] = '\n';
    pthread_mutex_lock(&lock);
    int out = log_descriptor();
    if (out >= 0 && write(out, line, (size_t)length) < 0)
        opened_by = 0;
    pthread_mutex_unlock(&lock);
}

int fk_fail(const char *call, int code)
{
    fk_log("error call=%s code=%d name=%s device=%d", call, code, fk_error_name(code), fk_device());
    return code;
}

const char *fk_error_name(int code)
{
    switch (code) {
    case FK_OK:
        return "CUDA_SUCCESS";
    case FK_INVALID_VALUE:
        return "CUDA_ERROR_INVALID_VALUE";
    case FK_OUT_OF_MEMORY:
        return "CUDA_ERROR_OUT_OF_MEMORY";
    case FK_NO_DEVICE:
        return "CUDA_ERROR_NO_DEVICE";
    case FK_INVALID_DEVICE:
        return "CUDA_ERROR_INVALID_DEVICE";
    case FK_INVALID_IMAGE:
        return "CUDA_ERROR_INVALID_IMAGE";
    case FK_INVALID_CONTEXT:
        return "CUDA_ERROR_INVALID_CONTEXT";
    case FK_NO_BINARY_FOR_GPU:
        return "CUDA_ERROR_NO_BINARY_FOR_GPU";
    case FK_FILE_NOT_FOUND:
        return "CUDA_ERROR_FILE_NOT_FOUND";
    case FK_INVALID_HANDLE:
        return "CUDA_ERROR_INVALID_HANDLE";
    case FK_NOT_FOUND:
        return "CUDA_ERROR_NOT_FOUND";
    case FK_PEER_ALREADY_ENABLED:
        return "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED";
    case FK_NOT_SUPPORTED:
        return "CUDA_ERROR_NOT_SUPPORTED";
    default:
        return "CUDA_ERROR_UNKNOWN";
    }
}
