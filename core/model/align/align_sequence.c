/* SPDX-License-Identifier: Apache-2.0 */
#include "align.h"

#include "npuprof/order.h"

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
