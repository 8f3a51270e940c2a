/* SPDX-License-Identifier: Apache-2.0
 *
 * A library that is no Python and defines names that the dlsym hook knows. Linked -Bsymbolic.
 */
const char *PyInit__hashlib(void);
const char *PyInit_x(void);
const char *PyInit_other(void);
const char *Py_Initialize(void);

const char *PyInit__hashlib(void)
{
    return "its own PyInit__hashlib";
}

const char *PyInit_x(void)
{
    return "its own PyInit_x";
}

const char *PyInit_other(void)
{
    return "its own PyInit_other";
}

const char *Py_Initialize(void)
{
    return "its own Py_Initialize";
}
