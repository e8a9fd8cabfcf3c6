/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_GROUPING_H
#define NP_GROUPING_H

/* Values by key: summed, described and ordered, of one rank or of all together. */

#include "mode.h"
#include "samples.h"

#include "npuprof/map.h"

#define GROUP_PARTS 4

/* Values with the same key. */
struct value_group {
	np_str key[GROUP_PARTS];
	struct value_samples samples;
	int64_t least; /* the extremes, and the first ranks that have them */
	int64_t most;
	int32_t least_of;
	int32_t most_of;
};

struct grouping {
	size_t parts;
	struct np_map by_key; /* → list */
	NP_VEC(struct value_group) list;
	void *values; /* of grouping_fill() */
	size_t value_bytes;
	bool filled; /* the values of groups lie there, or in those of another grouping */
	struct summary *summaries; /* by index of the group, of grouping_describe() */
};

/* One begins with .parts alone. */
void grouping_release(struct grouping *grouping);

/* The group of a key, added if it is new; NULL when out of memory. */
struct value_group *grouping_find(struct grouping *grouping, const np_str *key, struct np_err *err);

/*
 * The same where keys that begin alike are mostly the same: `near` remembers, by
 * text of the detail, the group that was found last; freed by the caller.
 */
uint32_t *grouping_near(struct mode_rank *rank);
struct value_group *grouping_find_near(struct grouping *grouping, const np_str *key, uint32_t *near,
				       struct np_err *err);

/* The group of a key, or NULL if there is none. */
struct value_group *grouping_get(const struct grouping *grouping, const np_str *key);

/* Add a value of a rank; ranks come in ascending order. */
int group_add(struct value_group *group, int64_t value, int32_t rank, struct np_err *err)
	NP_MUST_USE;

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
				     struct value_group *group, int64_t value)
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

#endif /* NP_GROUPING_H */
