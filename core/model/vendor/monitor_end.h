/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MONITOR_END_H
#define MONITOR_END_H

#include <stdint.h>

/*
 * A monitor that was stopped says its rank in the last lines of the last file that it wrote. The
 * rank of these; -1 for a file that is followed by others, was cut off, or is none.
 */
int32_t monitor_end_rank(const char *path);

#endif /* MONITOR_END_H */
