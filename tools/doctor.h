/* SPDX-License-Identifier: Apache-2.0
 *
 * What `rankshare doctor` finds, said in sentences.
 */
#ifndef RS_TOOLS_DOCTOR_H
#define RS_TOOLS_DOCTOR_H

enum finding { FINDING_OK, FINDING_NOTE, FINDING_WRONG };

struct doctor {
    unsigned wrong; /* findings that stand against sharing */
};

/* One line: how it looks, then the sentence. */
__attribute__((format(printf, 3, 4))) void doctor_say(struct doctor *doctor, enum finding finding,
                                                      const char *format, ...);

/* /dev/shm, the segment SEGMENT, memfd, /proc. */
void doctor_machine(struct doctor *doctor, const char *segment);
/* Our own variables, those that the library can't make sense of first. */
void doctor_options(struct doctor *doctor);
/* Why nothing can be kept in DIR; NULL: it can, or it will be made. */
const char *doctor_dir_trouble(const char *dir);
/* Our own variables and those of torch and Triton that decide whether there is anything to share.
 */
void doctor_environment(struct doctor *doctor);
/* Starts PYTHON with the library at LIBRARY and lets it hash canaries. */
void doctor_python(struct doctor *doctor, const char *library, const char *python);

#endif
