/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MODE_H
#define NP_MODE_H

/*
 * What a mode is made of
 * ======================
 *
 * A row in the table of modes.c: what it needs of each rank, how it reduces a
 * rank to something small, and how it merges these into tables. reduce() runs on
 * worker threads, one rank at a time and without locks: it looks at its rank
 * alone. merge() runs once, afterwards, with the results by index of the rank;
 * NULL where a rank could not be used.
 *
 * Texts are ids of run->strings, which all ranks share. Never sort by them.
 */

#include "npuprof/detail.h"
#include "npuprof/map.h"
#include "npuprof/modes.h"
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

struct mode {
	const char *name;
	const char *summary;
	enum mode_devices devices;
	unsigned wants; /* sections of the detail that are looked at */
	/* Of these, those without which a rank is skipped; NP_DETAIL_OPS: operators, which ranks
	 * have by themselves. */
	unsigned needs;
	/* Before any rank is loaded, to choose from them; may be missing. */
	int (*prepare)(struct np_modes *modes, void **ret, struct np_err *err);
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

extern const struct mode mode_cann_api_sum;
extern const struct mode mode_cluster_time_summary;
extern const struct mode mode_communication_bottleneck;
extern const struct mode mode_computational_op_masking;
extern const struct mode mode_compute_op_sum;
extern const struct mode mode_ep_load_balance;
extern const struct mode mode_export_summary;
extern const struct mode mode_free_analysis;
extern const struct mode mode_freq_analysis;
extern const struct mode mode_hccl_sum;
extern const struct mode mode_module_statistic;
extern const struct mode mode_mstx_sum;
extern const struct mode mode_operator_mfu;
extern const struct mode mode_p2p_pairing;
extern const struct mode mode_pp_chart;
extern const struct mode mode_slow_link;
extern const struct mode mode_slow_rank;

/* Modes have a bit each in np_modes_options.modes. */
#define MODES_MOST 64

/* modes.c: of these, those with code of their own, in the order of the table; how many. */
size_t modes_chosen(uint64_t modes, const struct mode *ret[MODES_MOST]);

/* Note for each of these modes what it made of ranks with several devices. */
int modes_note_devices(struct np_modes *modes, struct np_err *err) NP_MUST_USE;

/* Note for modes about links what is not known of them. */
int modes_note_links(struct np_modes *modes, struct np_err *err) NP_MUST_USE;

/* The index of the next copy of memory among the tasks from `from` on, or their number. */
size_t mode_next_copy(const struct np_detail *detail, size_t from);

/* --- who launched what ----------------------------------------------------------------------- */

/* Who sent a task to the device; nobody where nothing tells. */
struct launch {
	const struct np_call *call; /* one that launches, if there are several */
	np_ns dispatched;           /* when the framework was done with it; NP_UNKNOWN */
};

/*
 * Origins of few tasks: first all that are wanted are named by their connection,
 * then they are looked for in one pass over the calls, then they can be asked for.
 */
struct launches {
	struct np_idmap *wanted; /* connection → index in the list */
	uint64_t perhaps[64];    /* bits of their last digits: most others are told by these */
	NP_VEC(struct launch) list;
};

int launches_init(struct launches *launches, struct np_err *err) NP_MUST_USE;
void launches_release(struct launches *launches);
int launches_want(struct launches *launches, int64_t connection, struct np_err *err) NP_MUST_USE;
void launches_find(struct launches *launches, const struct np_detail *detail);
struct launch launches_get(const struct launches *launches, int64_t connection);

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

/* --- values ---------------------------------------------------------------------------------- */

/*
 * Values of which quantiles are wanted: all are kept, so that these are exact.
 * Those of a rank at once, grouping_fill(), take half the room where they are short
 * enough, which durations below 4 s are: then they are in `narrow`.
 */
struct samples {
	int64_t *item;
	uint32_t *narrow;
	size_t count;
	size_t capacity;
	int64_t sum;
	bool sorted;
};

struct summary {
	size_t count;
	double mean;
	double std;            /* of a sample (n - 1); NaN for one value */
	double population_std; /* (n) */
	double squares;        /* Σ (x - mean)² */
	int64_t min;
	double q1;
	double median;
	double q3;
	int64_t max;
	int64_t sum;
};

int samples_add(struct samples *samples, int64_t value, struct np_err *err) NP_MUST_USE;
void samples_release(struct samples *samples);

/* Sums of damaged times may not fit: then they are as large as can be. */
int64_t samples_plus(int64_t a, int64_t b);

/* Of values that are not there, only their sum and extremes: no quantiles, no deviation. */
struct summary samples_known_by_sum(size_t count, int64_t sum, int64_t least, int64_t most);

/* Sorts them. Quantiles are interpolated linearly at (n - 1)q. */
struct summary samples_describe(struct samples *samples);

/* Values that were described. */
struct described {
	const struct samples *samples;
	const struct summary *summary;
};

/*
 * The same of all of these together, exact as well, without putting them together;
 * without quantiles where values are not there.
 */
struct summary samples_describe_pooled(const struct described *list, size_t count);

/* The columns of a description and its cells. */
#define DESCRIBE_COLUMNS \
	{ "Count", NP_INTEGER }, { "MeanNs", NP_REAL }, { "StdNs", NP_REAL }, \
		{ "MinNs", NP_REAL }, { "Q1Ns", NP_REAL }, { "MedianNs", NP_REAL }, \
		{ "Q3Ns", NP_REAL }, { "MaxNs", NP_REAL }, \
	{ \
		"SumNs", NP_REAL \
	}
#define DESCRIBE_CELLS 9

void describe_cells(const struct summary *summary, struct np_cell *cells);

/* --- grouping -------------------------------------------------------------------------------- */

#define GROUP_PARTS 4

/* Values with the same key. */
struct group {
	np_str key[GROUP_PARTS];
	struct samples samples;
	int64_t least; /* the extremes, and the first ranks that have them */
	int64_t most;
	int32_t least_of;
	int32_t most_of;
};

struct grouping {
	size_t parts;
	struct np_map by_key; /* → list */
	NP_VEC(struct group) list;
	void *values; /* of grouping_fill() */
	size_t value_bytes;
	bool filled; /* the values of groups lie there, or in those of another grouping */
	struct summary *summaries; /* by index of the group, of grouping_describe() */
};

/* One begins with .parts alone. */
void grouping_release(struct grouping *grouping);

/* The group of a key, added if it is new; NULL when out of memory. */
struct group *grouping_find(struct grouping *grouping, const np_str *key, struct np_err *err);

/*
 * The same where keys that begin alike are mostly the same: `near` remembers, by
 * text of the detail, the group that was found last; freed by the caller.
 */
uint32_t *grouping_near(struct mode_rank *rank);
struct group *grouping_find_near(struct grouping *grouping, const np_str *key, uint32_t *near,
				 struct np_err *err);

/* The group of a key, or NULL if there is none. */
struct group *grouping_get(const struct grouping *grouping, const np_str *key);

/* Add a value of a rank; ranks come in ascending order. */
int group_add(struct group *group, int64_t value, int32_t rank, struct np_err *err) NP_MUST_USE;

/*
 * All values of a rank at once, which is faster than one by one and takes four
 * or eight bytes for each: `rows` say to which group they belong. Until then keys are of
 * texts of the detail, and afterwards of the run.
 */
struct grouping_row {
	int64_t value;
	uint32_t group; /* index */
};

struct grouping_rows {
	struct grouping_row *item;
	size_t count;
	uint64_t bits; /* that some value has */
};

/* Room for so many rows, which the caller frees. */
int grouping_rows_init(struct grouping_rows *rows, size_t count, struct np_err *err) NP_MUST_USE;
void grouping_rows_release(struct grouping_rows *rows);

static inline void grouping_rows_add(struct grouping_rows *rows, const struct grouping *grouping,
				     struct group *group, int64_t value)
{
	rows->item[rows->count++] =
		(struct grouping_row){ value, (uint32_t)(group - grouping->list.item) };
	rows->bits |= (uint64_t)value;
	group->samples.count++;
}

/* Some parts of a key. */
struct key_parts {
	size_t first;
	size_t count;
};

int grouping_fill(struct mode_rank *rank, struct grouping *grouping, struct key_parts parts,
		  const struct grouping_rows *rows) NP_MUST_USE;

/*
 * The same values by some parts of the keys alone, those that grouping_fill() was
 * given. To describe these groups changes the order of the values, so those of
 * `from` must have been described before.
 */
int grouping_view(const struct grouping *from, struct key_parts parts, struct grouping *ret,
		  struct np_err *err) NP_MUST_USE;

/* Describe all groups; on a worker, so that merging has nothing left to sort. */
int grouping_describe(struct grouping *grouping, struct np_err *err) NP_MUST_USE;

/* For every group that was described by descending sum, then by key as text. */
typedef int grouping_put(void *context, const np_str *key, const struct summary *summary,
			 struct np_err *err);
int grouping_each(const struct np_modes *modes, const struct grouping *grouping, grouping_put *put,
		  void *context, struct np_err *err) NP_MUST_USE;

/*
 * The same for the values of several groupings together, of which some may be NULL.
 * They were described, and no view of them after that.
 */
int grouping_each_pooled(const struct np_modes *modes, struct grouping *const *list, size_t count,
			 size_t parts, grouping_put *put, void *context, struct np_err *err)
	NP_MUST_USE;

/* The indexes of the groups by key as text; freed by the caller. */
uint32_t *grouping_by_key(const struct np_modes *modes, const struct grouping *grouping,
			  struct np_err *err);

/* --- operators over ranks -------------------------------------------------------------------- */

/*
 * Operators that belong together are those of one instance (align.h): names do not
 * tell, for the numbers in them differ where captures begin at different operators.
 */

/* The members of an instance, by rank. */
const struct np_member *mode_members(const struct np_modes *modes,
				     const struct np_instance *instance);

const struct np_comm_op *member_op(const struct np_modes *modes, const struct np_member *member);
np_ns member_time(const struct np_modes *modes, const struct np_member *member);

/* The hash of a member's communicator. */
uint64_t member_hash(const struct np_modes *modes, const struct np_member *member);

/* Is it a message, or a batch of them, and no collective? */
bool mode_is_message(const struct np_modes *modes, const struct np_instance *instance);

/*
 * Do all ranks have the operator that have others of its communicator; or, of a
 * message, both ends?
 */
bool mode_is_complete(const struct np_modes *modes, const struct np_instance *instance);

/* Note which ranks keep collectives from being complete, where a mode leaves those out. */
int mode_note_left_out(struct np_modes *modes, const char *mode, struct np_err *err) NP_MUST_USE;

/* A communicator's string, or its hash where that is all there is. */
struct np_cell mode_group_cell(const struct np_modes *modes, uint64_t hash, char *buffer,
			       size_t size);

#endif /* NP_MODE_H */
