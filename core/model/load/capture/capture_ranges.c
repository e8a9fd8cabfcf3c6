/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that the application marked, as steps: those whose name matches a pattern. */
#include "capture.h"

#include "npuprof/order.h"
#include "npuprof/pattern.h"
#include "npuprof/strtab.h"

#include <stdio.h>

int capture_is_range(struct capture *capture, const char *name, size_t length, bool *ret)
{
	const struct np_steps_choice *choice = &capture->choice;
	struct np_err problem = NP_ERR_INIT;
	int rc = NP_OK;

	*ret = false;
	if (choice->want != NP_WANT_RANGE)
		return NP_OK;
	if (!capture->pattern)
		rc = np_pattern_compile(choice->pattern, strlen(choice->pattern), 0,
					&capture->pattern, NULL, capture->err);
	if (rc == NP_OK)
		rc = np_pattern_match(capture->pattern, name, length, 0, ret, &problem);
	if (rc == NP_E_RANGE)
		return np_fail(capture->err, rc, "'%s': pattern '%s' takes too long on a name",
			       capture->path, choice->pattern);
	return rc == NP_E_NOMEM ? np_fail(capture->err, rc, "%s", problem.text) : rc;
}

int capture_add_range(struct capture *capture, const char *name, size_t length, np_ns begin,
		      np_ns end)
{
	struct capture_range *range;

	/* Marks of an instant are no range. */
	if (!vendor_time_ok(begin, end) || begin >= end)
		return NP_OK;
	range = np_vec_add(&capture->ranges, capture->err);
	if (!range)
		return NP_E_NOMEM;
	*range = (struct capture_range){ begin, end, NP_STR_NONE };
	return np_strtab_add(capture->strings, name, length, &range->name, capture->err);
}

/* The outer one first. */
static int by_extent(const void *left, const void *right)
{
	const struct capture_range *a = left;
	const struct capture_range *b = right;

	return a->begin != b->begin ? np_order(a->begin, b->begin) : np_order(b->end, a->end);
}

/* Keep those that lie in no other, each up to the begin of the next. */
static size_t drop_nested(struct capture *capture)
{
	struct capture_range *ranges = capture->ranges.item;
	size_t kept = 0;
	size_t count = capture->ranges.count;
	np_ns reached = -NP_NS_MAX;

	if (count)
		qsort(ranges, count, sizeof(*ranges), by_extent);
	for (size_t i = 0; i < count; i++) {
		if (ranges[i].end <= reached)
			continue;
		reached = ranges[i].end;
		if (kept > 0 && ranges[kept - 1].end > ranges[i].begin)
			ranges[kept - 1].end = ranges[i].begin;
		ranges[kept++] = ranges[i];
	}
	capture->ranges.count = kept;
	return count - kept;
}

static int names_differ(struct capture *capture, bool *ret)
{
	struct np_idset *names = np_idset_new();
	int rc = names ? NP_OK : np_fail_nomem(capture->err, "steps");

	*ret = true;
	for (size_t i = 0; i < capture->ranges.count && rc == NP_OK && *ret; i++) {
		*ret = !np_idset_has(names, capture->ranges.item[i].name);
		rc = np_idset_add(names, capture->ranges.item[i].name, capture->err);
	}
	np_idset_free(names);
	return rc;
}

static int number_step(struct capture *capture, size_t number, np_str *ret)
{
	char id[24];
	int length = snprintf(id, sizeof(id), "%zu", number);

	return np_strtab_add(capture->strings, id, (size_t)length, ret, capture->err);
}

int capture_steps_of_ranges(struct capture *capture)
{
	size_t nested = drop_nested(capture);
	bool named;
	int rc = names_differ(capture, &named);

	for (size_t i = 0; i < capture->ranges.count && rc == NP_OK; i++) {
		const struct capture_range *range = &capture->ranges.item[i];
		np_str id = range->name;

		if (!named)
			rc = number_step(capture, i + 1, &id);
		if (rc == NP_OK)
			rc = capture_add_step(capture, id, range->begin, range->end);
	}
	if (rc == NP_OK && nested > 0)
		np_note_add(&capture->rank->notes, NP_NOTE_WARNING, capture->rank->id,
			    capture->path, "steps",
			    "%zu ranges that match '%s' lie in another one that does: the outer"
			    " ones are the steps",
			    nested, capture->choice.pattern);
	return rc;
}
