/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MODE_H
#define NP_MODE_H

/*
 * What a mode is made of
 * ======================
 *
 * What a mode needs of each rank, how it reduces a
 * rank to something small, and how it merges these into tables. reduce() runs on
 * worker threads, one rank at a time and without locks: it looks at its rank
 * alone. merge() runs once, afterwards, with the results by index of the rank;
 * NULL where a rank could not be used.
 *
 * Texts are ids of run->strings, which all ranks share. Never sort by them.
 */

#include "npuprof/detail.h"
#include "npuprof/mode_tables.h"
#include "npuprof/spans.h"

/* One rank while it is reduced. */
struct mode_rank {
	const struct np_modes *modes;
	const struct np_run *run;
	const struct np_rank *rank;
	const struct np_detail *detail; /* NULL if no mode wants one */
	size_t index;                   /* in run->sources */
	np_str *texts;                  /* of the detail → of the run */
	struct np_spans **computing;    /* of mode_computing(), once asked for */
	struct np_err *err;
};

/* The run's id of a text of the detail, asked for the first time; of none, none. */
int mode_new_text(struct mode_rank *rank, np_str text, np_str *ret) NP_MUST_USE;

static inline int mode_text(struct mode_rank *rank, np_str text, np_str *ret)
{
	*ret = rank->texts[text];
	return *ret != NP_STR_NONE ? NP_OK : mode_new_text(rank, text, ret);
}

/* Is a row of this step to be looked at? */
bool mode_takes(const struct mode_rank *rank, uint32_t step);

/*
 * What happened at the same time on several devices of one process has nothing to do
 * with each other: modes that lay times over each other look at the first of them.
 */
static inline bool mode_on_device(const struct np_rank *rank, int32_t device)
{
	return rank->device_count < 2 || device == rank->device;
}

/*
 * When the first device computed in a step; NULL without memory. The sets of all steps
 * are made at once, in the first call, and belong to the rank. What only schedules
 * an operator is no computing.
 */
const struct np_spans *mode_computing(struct mode_rank *rank, uint32_t step);
void mode_release_computing(struct mode_rank *rank);

/* Add when the first device computed or communicated: in a step, or with NP_NO_STEP in all that are
 * looked at. */
int mode_busy(struct mode_rank *rank, uint32_t step, struct np_spans *set) NP_MUST_USE;

/* What a mode makes of ranks with several devices, where it is to be said. */
enum mode_devices {
	MODE_DEVICES_TOGETHER,
	MODE_DEVICES_FIRST, /* mode_on_device() */
	MODE_DEVICES_APART, /* nothing is to be said */
};

/* What a mode makes use of beside the sections of the detail that it wants. */
enum mode_model {
	MODE_OF_RANKS,     /* all that ranks have */
	MODE_OF_TIMES,     /* step times and operators, and copies if they are known */
	MODE_OF_OPERATORS, /* their operators; of steps only whether they were chosen */
};

struct mode {
	const char *name;
	const char *summary;
	enum mode_devices devices;
	enum mode_model model;
	unsigned wants; /* sections of the detail that are looked at */
	/* Of these, those without which a rank is skipped; NP_DETAIL_OPS: operators, which ranks
	 * have by themselves. */
	unsigned needs;
	/* Before any rank is loaded, to choose from them; may be missing. */
	int (*prepare)(struct np_modes *modes, void **ret, struct np_err *err);
	/* Of `wants`, sections that this rank need not be read for: it has what they would say.
	 * May be missing. */
	unsigned (*knows)(const struct np_rank *rank);
	/* Ranks of which nothing is needed, so that their detail need not be loaded; may be
	 * missing. */
	bool (*skips)(const void *prepared, size_t index);
	/* May be missing where the operators that ranks keep say enough. */
	int (*reduce)(struct mode_rank *rank, const void *prepared, void **ret);
	int (*merge)(struct np_modes *modes, const void *prepared, void *const *ranks,
		     struct np_err *err);
	void (*release)(void *result); /* of reduce() */
	void (*unprepare)(void *prepared);
};

/* The index of the next copy of memory among the tasks from `from` on, or their number. */
size_t mode_next_copy(const struct np_detail *detail, size_t from);

/* --- tables ---------------------------------------------------------------------------------- */

/* Add a table, so far without rows; NULL when out of memory. Names are constants. */
struct np_mode_table *mode_table(struct np_modes *modes, const char *mode, const char *name,
				 const char *summary, const struct np_column *columns, size_t count,
				 struct np_err *err);

#define MODE_TABLE(modes, mode, name, summary, columns, err) \
	mode_table(modes, mode, name, summary, columns, NP_COUNT(columns), err)

/* Append a row; texts are copied. */
int mode_row(struct np_modes *modes, struct np_mode_table *table, const struct np_cell *cells,
	     struct np_err *err) NP_MUST_USE;

/* A text of the run, "N/A" where there is none. */
const char *mode_name(const struct np_modes *modes, np_str text);
struct np_cell mode_name_cell(const struct np_modes *modes, np_str text);

/* The id of a rank by its index. */
int32_t mode_rank_id(const struct np_modes *modes, size_t index);

/* A step of a rank as the vendor's tables write it: a number if it is one; NULL for none. */
/* The vendor's name of a data type by the number that operators keep; "N/A" for none. */
const char *mode_data_type(uint8_t number);

struct np_cell mode_step_cell(const struct np_modes *modes, np_str step);

/*
 * ns as a text of µs with all digits: a double has not enough of them for a time
 * since 1970. It lies in `text`, and ends there.
 */
struct us_text {
	char bytes[32];
};
const char *mode_us_text(np_ns time, struct us_text *text);

/* One note for all ranks that it is about: "rank 3: …", "ranks 0-3: …"; `which` by index. */
void mode_note(struct np_modes *modes, enum np_note_kind kind, const char *mode, const bool *which,
	       const char *reason);

/* The same for the ranks whose result of reduce() is such. */
typedef bool mode_is_such(const void *result);
int mode_note_results(struct np_modes *modes, const char *mode, void *const *ranks,
		      mode_is_such *is_such, const char *reason, struct np_err *err) NP_MUST_USE;

/*
 * Note the ranks that were looked at and have no row where others have some, with
 * what the table says when it is empty. Rows are by rank, whose id is in `column`.
 */
int mode_note_absent(struct np_modes *modes, const char *mode, const struct np_mode_table *table,
		     const char *column, void *const *ranks, struct np_err *err) NP_MUST_USE;

/* How many rows a list shows. */
size_t mode_top(const struct np_modes *modes, size_t own);

#endif /* NP_MODE_H */
