/* SPDX-License-Identifier: Apache-2.0
 *
 * For a setuid copy: whether it runs as root, whether the loader calls it secure, whether the
 * library is in it.
 */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(void)
{
    char line[8192];
    FILE *maps = fopen("/proc/self/maps", "r");
    int there = 0;
    while (maps && fgets(line, sizeof(line), maps)) {
        there |= strstr(line, "librankshare") != NULL;
    }
    printf("%d %lu %d\n", geteuid() == 0, getauxval(AT_SECURE), there);
    return 0;
}
