/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of numbers such as "0-7,12". */
#include "npuprof/ranges.h"

#include "npuprof/order.h"
#include "npuprof/text.h"
#include "npuprof/vec.h"

#include <inttypes.h>

/* Inclusive on both sides, as people write it. */
struct range {
	int64_t first;
	int64_t last;
};

/* Sorted, disjoint and never adjacent, once parsed. */
struct np_ranges {
	NP_VEC(struct range) list;
};

void np_ranges_free(struct np_ranges *ranges)
{
	if (!ranges)
		return;
	np_vec_release(&ranges->list);
	free(ranges);
}

void np_ranges_freep(struct np_ranges **ranges)
{
	np_ranges_free(*ranges);
	*ranges = NULL;
}

/* Digits only: a sign would make "1--3" mean something. */
static bool to_number(const char *text, size_t length, int64_t *ret)
{
	if (length == 0 || text[0] < '0' || text[0] > '9')
		return false;
	return np_text_to_int(text, length, ret);
}

/* `part` is what stands between two commas. */
static int parse_part(const char *part, size_t length, struct range *ret, struct np_err *err)
{
	const char *dash = memchr(part, '-', length);
	size_t first_length = dash ? (size_t)(dash - part) : length;
	/* A message should stay readable whatever was pasted. */
	int shown = length < 60 ? (int)length : 60;
	struct range range;

	if (!to_number(part, first_length, &range.first))
		goto bad;
	range.last = range.first;
	if (dash && !to_number(dash + 1, length - first_length - 1, &range.last))
		goto bad;
	if (range.last < range.first)
		return np_fail(err, NP_E_USAGE,
			       "range '%.*s' runs backwards; write '%" PRId64 "-%" PRId64 "'",
			       shown, part, range.last, range.first);
	*ret = range;
	return NP_OK;

bad:
	return np_fail(err, NP_E_USAGE, "'%.*s' is neither a number nor a range such as 0-7", shown,
		       part);
}

static int by_first(const void *left, const void *right)
{
	const struct range *a = left;
	const struct range *b = right;

	return (a->first > b->first) - (a->first < b->first);
}

/* Sort the ranges and join those that overlap or follow each other. */
static void fold(struct np_ranges *ranges)
{
	struct range *range = ranges->list.item;
	size_t kept = 0;

	qsort(range, ranges->list.count, sizeof(*range), by_first);
	for (size_t i = 1; i < ranges->list.count; i++) {
		/* first > 0 here or the ranges overlap: first - 1 cannot wrap. */
		if (range[i].first > range[kept].last && range[i].first - 1 > range[kept].last)
			range[++kept] = range[i];
		else if (range[i].last > range[kept].last)
			range[kept].last = range[i].last;
	}
	ranges->list.count = kept + 1;
}

int np_ranges_parse(const char *text, struct np_ranges **ret, struct np_err *err)
{
	NP_CLEANUP(np_ranges_freep) struct np_ranges *ranges = calloc(1, sizeof(*ranges));
	size_t length;

	if (!ranges)
		return np_fail_nomem(err, "a list of numbers");

	/* Runs at least once: an empty list is an empty part, and refused as such. */
	for (;; text += length + 1) {
		struct range *range = np_vec_add(&ranges->list, err);
		int rc;

		if (!range)
			return NP_E_NOMEM;
		length = strcspn(text, ",");
		rc = parse_part(text, length, range, err);
		if (rc < 0)
			return rc;
		if (text[length] == '\0')
			break;
	}
	fold(ranges);
	*ret = NP_STEAL(ranges);
	return NP_OK;
}

bool np_ranges_has(const struct np_ranges *ranges, int64_t number)
{
	size_t at = np_lower_bound(i, (size_t)0, ranges->list.count,
				   ranges->list.item[i].last >= number);

	return at < ranges->list.count && ranges->list.item[at].first <= number;
}

bool np_ranges_first_unknown(const struct np_ranges *ranges, const int64_t *known, size_t count,
			     int64_t *ret)
{
	size_t k = 0;

	for (size_t i = 0; i < ranges->list.count; i++) {
		int64_t number = ranges->list.item[i].first;

		for (;; number++) {
			while (k < count && known[k] < number)
				k++;
			if (k == count || known[k] != number) {
				*ret = number;
				return true;
			}
			if (number == ranges->list.item[i].last)
				break;
		}
	}
	return false;
}

void np_ranges_format(struct np_buf *buf, const int64_t *sorted, size_t count)
{
	size_t end;

	for (size_t i = 0; i < count; i = end) {
		/* Not sorted[end] <= sorted[end - 1] + 1, which overflows at the top. */
		for (end = i + 1; end < count; end++) {
			if (sorted[end] > sorted[end - 1] && sorted[end] - 1 > sorted[end - 1])
				break;
		}
		np_buf_printf(buf, "%s%" PRId64, i > 0 ? "," : "", sorted[i]);
		if (sorted[end - 1] > sorted[i])
			np_buf_printf(buf, "-%" PRId64, sorted[end - 1]);
	}
}
