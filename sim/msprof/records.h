/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MSP_RECORDS_H
#define MSP_RECORDS_H

#include "recording.h"

/* A slice while it is read, line by line. */
#define MSP_MAX_FIELDS 24

struct msp_line {
	struct msp_recording *recording;
	const char *path;
	size_t number;
	char *field[MSP_MAX_FIELDS];
	size_t count;
	bool bad; /* a number that is none */
	struct np_err *err;
};

/* Take one line, which is changed; kinds of records that are not known are skipped. */
int msp_take_line(struct msp_line *line, char *text) NP_MUST_USE;

#endif /* MSP_RECORDS_H */
