/* SPDX-License-Identifier: Apache-2.0 */
#include "align.h"

#include "npuprof/order.h"

/* The narrowest range that holds half of the values: unlike a mean it ignores wrong matches. */
static void densest_half(np_ns *value, size_t count, np_ns *ret_median, np_ns *ret_width)
{
	size_t half = count / 2 + 1;
	size_t best = 0;

	if (half > count)
		half = count;
	qsort(value, count, sizeof(value[0]), np_by_int64);
	for (size_t i = 1; i + half <= count; i++) {
		if (value[i + half - 1] - value[i] < value[best + half - 1] - value[best])
			best = i;
	}
	*ret_width = value[best + half - 1] - value[best];
	*ret_median = value[best] + *ret_width / 2;
}

void align_clip(const struct align_pair *pair, size_t from, size_t to, ptrdiff_t shift,
		size_t *ret_from, size_t *ret_to)
{
	ptrdiff_t last = (ptrdiff_t)pair->base_count - shift;

	*ret_from = shift < 0 && from < (size_t)-shift ? (size_t)-shift : from;
	*ret_to = last < (ptrdiff_t)to ? (last < 0 ? 0 : (size_t)last) : to;
}

static int score_at(const struct align_pair *pair, size_t from, size_t to, ptrdiff_t shift)
{
	int score = 0;

	align_clip(pair, from, to, shift, &from, &to);
	for (size_t i = from; i < to; i++) {
		const struct align_item *base = &pair->base[(ptrdiff_t)i + shift];

		if (base->type != pair->item[i].type)
			continue;
		score +=
			1 + (base->size == pair->item[i].size) + (base->step == pair->item[i].step);
	}
	return score;
}

static void time_at(const struct align_pair *pair, size_t from, size_t to, struct align_fit *fit)
{
	np_ns value[ALIGN_WINDOW];
	size_t count = 0;

	align_clip(pair, from, to, fit->shift, &from, &to);
	for (size_t i = from; i < to; i++) {
		const struct align_item *base = &pair->base[(ptrdiff_t)i + fit->shift];

		if (align_same(base, &pair->item[i]))
			value[count++] = base->end - pair->item[i].end;
	}
	fit->spread = NP_NS_MAX;
	if (count == 0)
		return;
	densest_half(value, count, &fit->offset, &fit->spread);
	/* One or two values always agree. */
	if (count < 3)
		fit->spread = NP_NS_MAX / 2;
	fit->at = pair->item[from + (to - from) / 2].end;
}

/* The best place of the window [from, to) of the sequence on the base. */
static struct align_fit fit_window(const struct align_pair *pair, size_t from, size_t to,
				   int *scores)
{
	ptrdiff_t least = 1 - (ptrdiff_t)to;
	ptrdiff_t most = (ptrdiff_t)pair->base_count - 1 - (ptrdiff_t)from;
	struct align_fit best = { .spread = NP_NS_MAX };
	int top = 0;

	for (ptrdiff_t shift = least; shift <= most; shift++) {
		int score = score_at(pair, from, to, shift);

		scores[shift - least] = score;
		top = score > top ? score : top;
	}
	for (ptrdiff_t shift = least; shift <= most && top > 0; shift++) {
		struct align_fit fit = {
			.shift = shift, .most = shift, .score = scores[shift - least], .top = top
		};

		/* A lost operator in the window costs the right shift some of its score. */
		if (fit.score * 20 < top * 17)
			continue;
		time_at(pair, from, to, &fit);
		if (best.score == 0 || fit.spread < best.spread ||
		    (fit.spread == best.spread && fit.score > best.score))
			best = fit;
	}
	return best;
}

/* --- by the clock alone ----------------------------------------------------------------------- */

/* A pair of equal operators and what their ends differ by. */
struct difference {
	np_ns value;
	uint32_t item;
	uint32_t place;
	int weight;
};

/* Differences looked at for one window, and what a window is well fitted with: 100 µs. */
#define MOST_DIFFERENCES ((size_t)1 << 20)
#define WELL_FITTED      100000

static int by_difference(const void *left, const void *right)
{
	const struct difference *a = left;
	const struct difference *b = right;

	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	if (a->item != b->item)
		return a->item < b->item ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

static size_t list_differences(const struct align_pair *pair, size_t from, size_t to,
			       struct difference *list)
{
	size_t count = 0;

	for (size_t i = from; i < to; i++) {
		for (size_t j = 0; j < pair->base_count && count < MOST_DIFFERENCES; j++) {
			if (!align_same(&pair->base[j], &pair->item[i]))
				continue;
			list[count++] = (struct difference){
				.value = pair->base[j].end - pair->item[i].end,
				.item = (uint32_t)i,
				.place = (uint32_t)j,
				.weight = pair->base[j].step == pair->item[i].step ? 3 : 1
			};
		}
	}
	return count;
}

/* The heaviest run of differences within `width` of each other, as [*ret_from, *ret_to). */
static int heaviest(const struct difference *list, size_t count, np_ns width, size_t *ret_from,
		    size_t *ret_to)
{
	int weight = 0;
	int best = 0;

	for (size_t from = 0, to = 0; from < count; from++) {
		while (to < count && list[to].value - list[from].value <= width)
			weight += list[to++].weight;
		if (weight > best) {
			best = weight;
			*ret_from = from;
			*ret_to = to;
		}
		weight -= list[from].weight;
	}
	return best;
}

static void take_differences(const struct align_pair *pair, const struct difference *list,
			     size_t count, struct align_fit *fit)
{
	for (size_t i = 0; i < count; i++) {
		ptrdiff_t shift = (ptrdiff_t)list[i].place - (ptrdiff_t)list[i].item;

		if (i == 0 || shift < fit->shift)
			fit->shift = shift;
		if (i == 0 || shift > fit->most)
			fit->most = shift;
	}
	fit->offset = list[count / 2].value;
	fit->spread = list[count - 1].value - list[0].value;
	fit->at = pair->item[list[count / 2].item].end;
}

static int fit_by_clock(const struct align_pair *pair, size_t from, size_t to,
			struct align_fit *ret, struct np_err *err)
{
	/* Ends that belong together are rarely further apart; wider runs only if need be. */
	static const np_ns widths[] = { 50000, 400000, 3200000 };
	size_t room = (to - from) * pair->base_count;
	struct difference *list;
	size_t count;

	if (room > MOST_DIFFERENCES)
		room = MOST_DIFFERENCES;
	list = malloc(room * sizeof(*list));
	if (!list)
		return np_fail_nomem(err, "matching of operators");
	count = list_differences(pair, from, to, list);
	qsort(list, count, sizeof(*list), by_difference);
	for (size_t i = 0; i < NP_COUNT(widths) && count > 0; i++) {
		size_t first = 0;
		size_t last = 0;

		ret->score = heaviest(list, count, widths[i], &first, &last);
		take_differences(pair, &list[first], last - first, ret);
		if ((last - first) * 2 > to - from)
			break;
	}
	free(list);
	return NP_OK;
}

int align_fit_end(const struct align_pair *pair, size_t from, size_t to, int *scores,
		  struct align_fit *ret, struct np_err *err)
{
	*ret = fit_window(pair, from, to, scores);
	/* Regular times fit anywhere; then a shift must not leave many operators over. */
	if ((ret->spread <= WELL_FITTED && ret->score * 20 >= ret->top * 19) || to - from < 4)
		return NP_OK;
	return fit_by_clock(pair, from, to, ret, err);
}
