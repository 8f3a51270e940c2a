/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <stdarg.h>
#include <stdio.h>

void doctor_say(struct doctor *doctor, enum finding finding, const char *format, ...)
{
    static const char *const labels[] = {"ok   ", "note ", "WRONG"};
    va_list args;

    doctor->wrong += finding == FINDING_WRONG;
    printf("%s  ", labels[finding]);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}
