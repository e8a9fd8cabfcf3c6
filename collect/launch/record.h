/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RECORD_H
#define NP_RECORD_H

#include "npuprof/err.h"
#include "protocol.h"

/*
 * What became of one rank: filled by its launcher from what the library in the
 * application said, gathered by rank 0, written into the manifest.
 *
 * It travels between launchers of one installation as it is. What is not known
 * is NP_UNKNOWN, or "".
 */
enum {
	NP_RECORD_CODES = 8,
	NP_RECORD_CALL = 48,
	NP_RECORD_TEXT = 480,
	NP_RECORD_DIR = 4096,
};

struct np_record_code {
	char call[NP_RECORD_CALL];
	int64_t code;
};

struct np_record {
	int32_t rank;
	bool selected;
	bool loaded;   /* the library said HELLO */
	bool attached; /* the application uses an NPU */
	bool opened;
	bool closed;
	int64_t device;
	int64_t exit; /* status of the application; NP_UNKNOWN: never started */
	int64_t last_seen_step;
	int64_t first_step; /* covered by the window, inclusive */
	int64_t last_step;
	int64_t source; /* enum np_step_source */
	int64_t bytes;
	int64_t dropped; /* messages the library could not send */
	char dir[NP_RECORD_DIR];
	char failure[NP_RECORD_TEXT]; /* why there is no usable profile, or less than asked for */
	uint32_t code_count;
	struct np_record_code codes[NP_RECORD_CODES];
};

void np_record_init(struct np_record *record, int32_t rank, bool selected);

/* Take what the library said. */
void np_record_take(struct np_record *record, const struct np_message *message);

/*
 * The application has ended: conclude what is wrong with the profile, if
 * anything. `step_end` is that of the plan.
 */
void np_record_conclude(struct np_record *record, int64_t step_start, int64_t step_end);

/* "raw", "failed" or "none"; NULL: the application has not ended. */
const char *np_record_state(const struct np_record *record);

#endif /* NP_RECORD_H */
