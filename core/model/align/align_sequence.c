/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligning two orders of operators that differ
 * --------------------------------------------
 *
 * A window at either end of the sequence is laid against every place of the
 * base: where most types, sizes and steps agree is its shift. Training repeats
 * itself, so many shifts agree; among them the one is right whose differences
 * of end times vary least, for operators that belong together end together,
 * give or take the offset of the clocks. The two shifts bound a band, their
 * offsets put the sequence on the base's clock, and in the band the longest
 * common subsequence is found, weighed by how well the ends agree: of equal
 * operators in a row it finds the very one that is missing.
 *
 * Where so much is lost that no shift fits a window well, the offset of the
 * clocks is the difference of ends that most pairs of equal operators have.
 */
#include "align_job.h"

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

/* Overlap of a window with the base at a shift, as places in the sequence. */
static void align_clip(const struct align_pair *pair, size_t from, size_t to, ptrdiff_t shift,
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

/* The best place of the window [from, to) of the sequence; `scores` has room for any shift. */
static int align_fit_end(const struct align_pair *pair, size_t from, size_t to, int *scores,
			 struct align_fit *ret, struct np_err *err)
{
	*ret = fit_window(pair, from, to, scores);
	/* Regular times fit anywhere; then a shift must not leave many operators over. */
	if ((ret->spread <= WELL_FITTED && ret->score * 20 >= ret->top * 19) || to - from < 4)
		return NP_OK;
	return fit_by_clock(pair, from, to, ret, err);
}

#define BAND_MARGIN 32

/* Cells of the band beyond which the shift alone has to do. */
#define MOST_CELLS ((size_t)1 << 27)

/* What ends may differ by, at least, before it counts against a match: 20 µs; and at most 1 ms. */
#define TOLERANCE_LEAST 20000
#define TOLERANCE_MOST  1000000

/* Matches further apart than this, and than the others are, are none: 0.2 ms. */
#define REFUSE_LEAST 200000

/* Clocks drift by less than this share of the time between the windows. */
#define MOST_DRIFT 1e-4

/* --- both ends together ----------------------------------------------------------------------- */

/*
 * Two windows that disagree about the clock by more than drift explains cannot
 * both be right: one of them hangs over an end of the base, or fits a step too far.
 */
static void reconcile(struct align_fit *head, struct align_fit *tail)
{
	np_ns apart = tail->offset - head->offset;
	np_ns time = tail->at - head->at;
	double limit = MOST_DRIFT * (double)(time < 0 ? -time : time) + TOLERANCE_MOST;
	const struct align_fit *better = head;

	if (head->score > 0 && tail->score > 0 && (double)(apart < 0 ? -apart : apart) <= limit)
		return;
	if (tail->score > head->score ||
	    (tail->score == head->score && tail->spread < head->spread))
		better = tail;
	*head = *better;
	*tail = *better;
}

static np_ns offset_at(const struct align_fit *head, const struct align_fit *tail, np_ns time)
{
	np_ns between = tail->at - head->at;

	if (between <= 0)
		return head->offset;
	return head->offset + (np_ns)((double)(tail->offset - head->offset) *
				      ((double)(time - head->at) / (double)between));
}

static void move_to_base_clock(struct align_pair *pair, const struct align_fit *head,
			       const struct align_fit *tail)
{
	for (size_t i = 0; i < pair->count; i++)
		pair->item[i].end += offset_at(head, tail, pair->item[i].end);
}

static np_ns apart(const struct align_item *a, const struct align_item *b)
{
	return a->end < b->end ? b->end - a->end : a->end - b->end;
}

/* --- the band --------------------------------------------------------------------------------- */

enum {
	BEGIN,
	MATCH,
	SKIP_ITEM,
	SKIP_BASE,
};

/* Row i, column c: the sequence up to i against the base up to i + low + c. */
struct band {
	ptrdiff_t low;
	size_t width;
	uint8_t *way;
	float *score;
	float tolerance;
};

static float gain(const struct band *band, const struct align_item *base,
		  const struct align_item *item)
{
	float near = band->tolerance / (band->tolerance + (float)apart(base, item));

	return (base->step == item->step ? 0.2F : 0) + 0.05F + 0.95F * near;
}

/* The row of the i-th operator from the row above it, in place. Column `width` is always −1. */
static void fill_row(const struct align_pair *pair, struct band *band, size_t i, float *best,
		     size_t *ret_row, size_t *ret_column)
{
	uint8_t *way = &band->way[i * band->width];

	for (size_t c = 0; c < band->width; c++) {
		ptrdiff_t place = (ptrdiff_t)i + band->low + (ptrdiff_t)c;
		float above = band->score[c];
		float score = 0;

		way[c] = BEGIN;
		if (place >= 0 && place < (ptrdiff_t)pair->base_count &&
		    align_same(&pair->base[place], &pair->item[i])) {
			score = above + gain(band, &pair->base[place], &pair->item[i]);
			way[c] = MATCH;
		}
		if (band->score[c + 1] > score) {
			score = band->score[c + 1];
			way[c] = SKIP_ITEM;
		}
		if (c > 0 && band->score[c - 1] > score) {
			score = band->score[c - 1];
			way[c] = SKIP_BASE;
		}
		band->score[c] = score;
		if (score > *best) {
			*best = score;
			*ret_row = i;
			*ret_column = c;
		}
	}
}

static void walk_back(const struct align_pair *pair, const struct band *band, size_t row,
		      size_t column)
{
	size_t i = row;
	size_t c = column;

	for (;;) {
		switch (band->way[i * band->width + c]) {
		case MATCH:
			pair->to[i] = (uint32_t)((ptrdiff_t)i + band->low + (ptrdiff_t)c);
			break;
		case SKIP_ITEM:
			c++;
			break;
		case SKIP_BASE:
			c--;
			continue;
		default:
			return;
		}
		if (i-- == 0)
			return;
	}
}

static void match_by_shift(const struct align_pair *pair, ptrdiff_t shift)
{
	size_t from;
	size_t to;

	align_clip(pair, 0, pair->count, shift, &from, &to);
	for (size_t i = from; i < to; i++) {
		if (align_same(&pair->base[(ptrdiff_t)i + shift], &pair->item[i]))
			pair->to[i] = (uint32_t)((ptrdiff_t)i + shift);
	}
}

static int match_in_band(const struct align_pair *pair, const struct align_fit *head,
			 const struct align_fit *tail, struct np_err *err)
{
	ptrdiff_t low = head->shift < tail->shift ? head->shift : tail->shift;
	ptrdiff_t high = head->most < tail->most ? tail->most : head->most;
	np_ns spread = head->spread > tail->spread ? head->spread : tail->spread;
	struct band band = { .low = low - BAND_MARGIN,
			     .width = (size_t)(high - low) + 2 * BAND_MARGIN + 1 };
	size_t row = 0;
	size_t column = 0;
	float best = 0;

	if (band.width > MOST_CELLS / pair->count) {
		match_by_shift(pair, head->shift);
		return NP_OK;
	}
	spread *= 2;
	if (spread < TOLERANCE_LEAST)
		spread = TOLERANCE_LEAST;
	band.tolerance = (float)(spread > TOLERANCE_MOST ? TOLERANCE_MOST : spread);
	band.way = malloc(band.width * pair->count);
	band.score = calloc(band.width + 1, sizeof(*band.score));
	if (!band.way || !band.score) {
		free(band.way);
		free(band.score);
		return np_fail_nomem(err, "matching of operators");
	}
	band.score[band.width] = -1;
	for (size_t i = 0; i < pair->count; i++)
		fill_row(pair, &band, i, &best, &row, &column);
	if (best > 0)
		walk_back(pair, &band, row, column);
	free(band.way);
	free(band.score);
	return NP_OK;
}

/* --- afterwards ------------------------------------------------------------------------------- */

/* Matches whose ends are much further apart than the others' met by their type alone. */
static int refuse_far_ones(const struct align_pair *pair, np_ns *ret_limit, struct np_err *err)
{
	np_ns *value = malloc(pair->count * sizeof(*value));
	size_t count = 0;
	np_ns limit;

	if (!value)
		return np_fail_nomem(err, "matching of operators");
	for (size_t i = 0; i < pair->count; i++) {
		if (pair->to[i] != ALIGN_NONE)
			value[count++] = apart(&pair->base[pair->to[i]], &pair->item[i]);
	}
	*ret_limit = REFUSE_LEAST;
	if (count >= 8) {
		qsort(value, count, sizeof(value[0]), np_by_int64);
		limit = value[count / 2] < NP_NS_MAX / 32 ? value[count / 2] * 20 : NP_NS_MAX;
		*ret_limit = limit > REFUSE_LEAST ? limit : REFUSE_LEAST;
		for (size_t i = 0; i < pair->count; i++) {
			if (pair->to[i] != ALIGN_NONE &&
			    apart(&pair->base[pair->to[i]], &pair->item[i]) > *ret_limit)
				pair->to[i] = ALIGN_NONE;
		}
	}
	free(value);
	return NP_OK;
}

/*
 * What is left over on both sides between two matches, one for one, and ends
 * together, ran together: the ranks disagree about what it was.
 */
static void match_disagreeing(const struct align_pair *pair, np_ns limit)
{
	size_t place = 0;

	for (size_t i = 0; i < pair->count;) {
		size_t to = i;
		size_t end;

		if (pair->to[i] != ALIGN_NONE) {
			place = (size_t)pair->to[i] + 1;
			i++;
			continue;
		}
		while (to < pair->count && pair->to[to] == ALIGN_NONE)
			to++;
		/* At the edges there is no match to tell where the gap ends. */
		end = to < pair->count ? pair->to[to] : place;
		for (size_t k = 0; i > 0 && to - i == end - place && k < to - i; k++) {
			if (apart(&pair->base[place + k], &pair->item[i + k]) <= limit)
				pair->to[i + k] = (uint32_t)(place + k);
		}
		i = to;
	}
}

/* --- everything ------------------------------------------------------------------------------- */

int align_sequences(const struct align_item *base, size_t base_count, struct align_item *item,
		    size_t count, uint32_t *to, struct np_err *err)
{
	struct align_pair pair = { base, base_count, item, count, to };
	size_t window = count < ALIGN_WINDOW ? count : ALIGN_WINDOW;
	struct align_fit head = { 0 };
	struct align_fit tail = { 0 };
	np_ns limit = 0;
	int *scores;
	int rc;

	for (size_t i = 0; i < count; i++)
		to[i] = ALIGN_NONE;
	if (count == 0 || base_count == 0)
		return NP_OK;
	if (align_follow(base, base_count, item, count, to, &limit)) {
		match_disagreeing(&pair, limit);
		return NP_OK;
	}
	scores = malloc((base_count + window) * sizeof(*scores));
	if (!scores)
		return np_fail_nomem(err, "matching of operators");
	rc = align_fit_end(&pair, 0, window, scores, &head, err);
	if (rc == NP_OK)
		rc = align_fit_end(&pair, count - window, count, scores, &tail, err);
	free(scores);
	if (rc < 0)
		return rc;
	reconcile(&head, &tail);
	if (head.score == 0)
		return NP_OK;
	move_to_base_clock(&pair, &head, &tail);
	rc = match_in_band(&pair, &head, &tail, err);
	if (rc == NP_OK)
		rc = refuse_far_ones(&pair, &limit, err);
	if (rc == NP_OK)
		match_disagreeing(&pair, limit);
	return rc;
}
