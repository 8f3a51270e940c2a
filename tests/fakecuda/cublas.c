/* SPDX-License-Identifier: Apache-2.0 */
/* The few functions of cuBLAS and cuBLASLt whose answer is looked at; the generator adds the rest.
 */
#include "fake.h"

static char handle[8];

FK_API int cublasCreate_v2(void **out)
{
    *out = handle;
    return 0;
}

FK_API int cublasGetVersion_v2(void *unused, int *version)
{
    (void)unused;
    *version = 130200;
    return 0;
}

FK_API const char *cublasGetStatusString(int code)
{
    return code ? "pretend cuBLAS error" : "success";
}

FK_API int cublasLtCreate(void **out)
{
    *out = handle;
    return 0;
}

/* One algorithm is found, and it needs no workspace; torch takes an empty answer for "not
 * supported". */
FK_API int cublasLtMatmulAlgoGetHeuristic(void *lt, void *operation, void *a, void *b, void *c,
                                          void *d, void *preference, int wanted, void *results,
                                          int *found)
{
    (void)lt, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)results;
    *found = wanted > 0;
    return 0;
}
