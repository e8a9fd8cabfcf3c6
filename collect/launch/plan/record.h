/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RECORD_H
#define NP_RECORD_H

#include "collect/protocol.h"
#include "npuprof/err.h"

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
	NP_RECORD_NAME = 256,
	NP_RECORD_DETAIL = 160,
	NP_RECORD_WINDOWS = 24,    /* later ones are collected and not listed */
	NP_RECORD_RANKS = 1 << 20, /* a job has fewer */
};

/* The memory snapshot of a rank. */
struct np_record_memory {
	bool wanted;
	int64_t first_step;
	int64_t last_step;
	int64_t bytes;             /* NP_UNKNOWN: there is none */
	char file[NP_RECORD_NAME]; /* below the directory of the job */
	char reason[NP_RECORD_TEXT];
};

struct np_record_code {
	char call[NP_RECORD_CALL];
	int64_t code;
};

/*
 * A window. Number 1 is in the directory of the job, number K > 1 (and every one of a job
 * that has none of its own) in "window-K" below it.
 */
struct np_record_window {
	int32_t number;
	bool below; /* in "window-<number>" */
	bool closed;
	int64_t first_step;
	int64_t last_step;
	int64_t bytes;
	char name[NP_RECORD_NAME]; /* of the rank directory */
};

struct np_record {
	int32_t rank;
	int32_t launcher; /* rank of the launcher that watches it */
	bool selected;
	bool limited;  /* ended early because of --max-size */
	bool loaded;   /* the library said HELLO */
	bool attached; /* the application uses an NPU */
	bool opened;   /* some window */
	bool closed;   /* the last one */
	int64_t pid;   /* of the process that uses the NPU */
	int64_t device;
	int64_t exit; /* status of the application; NP_UNKNOWN: never started */
	int64_t last_seen_step;
	int64_t world;      /* as the application's environment says */
	int64_t first_step; /* covered by the first window, inclusive */
	int64_t last_step;
	int64_t source; /* enum np_step_source */
	char source_detail[NP_RECORD_DETAIL];
	int64_t bytes;           /* of all windows */
	int64_t dropped;         /* messages the library could not send */
	char dir[NP_RECORD_DIR]; /* of the first window */
	struct np_record_memory memory;
	char failure[NP_RECORD_TEXT]; /* why there is no usable profile, or less than asked for */
	uint32_t code_count;
	struct np_record_code codes[NP_RECORD_CODES];
	uint32_t window_count;
	struct np_record_window windows[NP_RECORD_WINDOWS];
};

void np_record_init(struct np_record *record, int32_t rank, bool selected);

/*
 * Is what another launcher sent (sizeof(struct np_record) bytes) a record of a rank: flags that are
 * flags, counts within their arrays, texts that end?
 */
bool np_record_check(const void *bytes);

/* Take what the library said. */
void np_record_take(struct np_record *record, const struct np_message *message);

/*
 * The application has ended: conclude what is wrong with the profile, if
 * anything. `step_end` is that of the plan; a job whose windows come on request only
 * (`dynamic`) need not have one.
 */
void np_record_conclude(struct np_record *record, int64_t step_start, int64_t step_end,
			bool dynamic);

/* Say why there is no usable profile; the first reason counts. */
void np_record_fail(struct np_record *record, const char *text);

/* Is there a window that has not been closed? */
bool np_record_is_open(const struct np_record *record);

/* "raw", "failed" or "none"; NULL: the application has not ended. */
const char *np_record_state(const struct np_record *record);

#endif /* NP_RECORD_H */
