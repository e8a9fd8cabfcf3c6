/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_REPORT_OUTPUT_H
#define NP_REPORT_OUTPUT_H

/* Where the file of a command goes that writes one. */

#include "cli/command/common.h"

#include "npuprof/temporary.h"

/*
 * What -o says, else this `name` in the output directory. Of several phases each has a file
 * of its own: its name stands before that of the file that -o names. NULL without memory.
 */
char *report_output(const struct np_common *common, const char *name) NP_MUST_USE;

/* Write the file, or to the standard output where it is "-", and print its name. */
int report_output_write(const struct np_common *common, const char *path, np_file_writer *write,
			const void *context, struct np_err *err) NP_MUST_USE;

#endif /* NP_REPORT_OUTPUT_H */
