/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RANKSHARE_VERSION_H
#define RANKSHARE_VERSION_H

/* The Makefile reads this line; nothing else repeats the number. */
#define RANKSHARE_VERSION "0.1.0"

/* Layout number of the segment. It stands in the segment's name and in its header, so that two
 * builds with different layouts live side by side and never read each other's memory. */
#define RANKSHARE_LAYOUT 11

#endif
