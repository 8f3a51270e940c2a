/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's log: off unless RANKSHARE_LOG names a file or a directory (then one file per
 * process). Never stdout or stderr of the job. A line is formatted on the stack and written by one
 * write(2), so lines of many processes do not mix. Lines that can't be written are lost silently.
 */
#ifndef RS_BASE_LOG_H
#define RS_BASE_LOG_H

/* Writes "time pid message\n". errno is preserved. Thread safe. */
void rs_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
