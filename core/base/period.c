/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the period of a sequence of signatures: lags of rare ones, tried by aligning repeats. */
#include "npuprof/period.h"

#include "npuprof/order.h"
#include "npuprof/vec.h"

#include <math.h>

/* So many positions must be alike. */
#define LEAST_ALIKE 0.95

/* Lags are taken from so many of the rarest signatures, and so many occurrences on. */
#define MOST_ANCHORS 64
#define MOST_STRIDE  64
#define MOST_GAPS    2048
#define MOST_LAGS    256
#define MOST_TRIED   8

/* Gaps are regular if so many of them are near their median. */
#define REGULAR_SHARE 0.8

/* So many of the rarest signatures, and occurrences of each, are asked whether they recur. */
#define MOST_KINDS 256
#define MOST_ASKED 64

/*
 * Parts that differ: so many classes, of sizes no farther apart than this, which their
 * members differ from by a tenth, or so many, at most; and no fewer parts than this.
 */
#define MOST_CLASSES 4
#define MOST_RATIO   3
#define MOST_APART   512
#define LEAST_PARTS  8

/* So many of a class are equally far apart if it is regular; so many say that it is not. */
#define SAME_GAPS       0.5
#define LEAST_IRREGULAR 5

/* Where so many positions are alike by chance, parts are. */
#define MOST_CHANCE 0.25

/* One kind in so many may be lost by chance. */
#define FEW_LOST 20

/* So many cuts are compared to find one that is typical. */
#define MOST_TYPICAL 16

/* By so many members the beginning of a repeat is recognised. */
#define CONTEXT 16

/* So far from the first member the first repeat begins, if it is not known better. */
#define MOST_HEAD  1024
#define MOST_REACH 256

struct occurrences {
	uint32_t signature; /* as given */
	size_t first;       /* in sequence.place */
	size_t count;
};

struct signatures {
	const uint32_t *signatures;
	size_t count;
	size_t *place;            /* of members, by signature, ascending */
	struct occurrences *kind; /* by count, the rarest first */
	size_t kinds;
	struct np_err *err;
};

/* A lag at which a signature recurs regularly. */
struct period_candidate {
	size_t lag;
	size_t anchor; /* kind */
	size_t lost;   /* kinds that do not recur at it, beyond those that chance may take */
	size_t asked;  /* kinds */
	double recur;  /* share of kinds, each by its occurrences, that do */
};

struct cuts {
	size_t *item;
	size_t count;
	size_t capacity;
};

/* --- signatures ------------------------------------------------------------------------------ */

struct period_member {
	uint32_t signature;
	size_t place;
};

static int by_signature(const void *left, const void *right)
{
	const struct period_member *a = left;
	const struct period_member *b = right;

	return a->signature != b->signature ? np_order(a->signature, b->signature)
					    : (a->place > b->place) - (a->place < b->place);
}

static int by_count(const void *left, const void *right)
{
	const struct occurrences *a = left;
	const struct occurrences *b = right;

	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return (a->first > b->first) - (a->first < b->first);
}

static int index_members(struct signatures *sequence)
{
	size_t count = sequence->count;
	struct period_member *members = malloc((count + 1) * sizeof(*members));

	sequence->place = malloc((count + 1) * sizeof(*sequence->place));
	sequence->kind = malloc((count + 1) * sizeof(*sequence->kind));
	if (!members || !sequence->place || !sequence->kind) {
		free(members);
		return np_fail_nomem(sequence->err, "a sequence");
	}
	for (size_t i = 0; i < count; i++)
		members[i] = (struct period_member){ sequence->signatures[i], i };
	qsort(members, count, sizeof(*members), by_signature);
	for (size_t i = 0; i < count; i++) {
		sequence->place[i] = members[i].place;
		if (i == 0 || members[i].signature != members[i - 1].signature)
			sequence->kind[sequence->kinds++] =
				(struct occurrences){ members[i].signature, i, 0 };
		sequence->kind[sequence->kinds - 1].count++;
	}
	free(members);
	qsort(sequence->kind, sequence->kinds, sizeof(*sequence->kind), by_count);
	return NP_OK;
}

static void release_sequence(struct signatures *sequence)
{
	free(sequence->place);
	free(sequence->kind);
}

static size_t difference(size_t a, size_t b)
{
	return a > b ? a - b : b - a;
}

/* The occurrence nearest to `wanted`; SIZE_MAX where it is farther than `reach`. */
static size_t nearest(const struct signatures *sequence, const struct occurrences *kind,
		      size_t wanted, size_t reach)
{
	const size_t *place = &sequence->place[kind->first];
	size_t low = 0;
	size_t high = kind->count;
	size_t best;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (place[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	best = low < kind->count ? place[low] : place[low - 1];
	if (low > 0 && difference(place[low - 1], wanted) < difference(best, wanted))
		best = place[low - 1];
	return difference(best, wanted) <= reach ? best : SIZE_MAX;
}

/* --- lags ------------------------------------------------------------------------------------ */

static int by_size(const void *left, const void *right)
{
	size_t a = *(const size_t *)left;
	size_t b = *(const size_t *)right;

	return (a > b) - (a < b);
}

static size_t slack(size_t lag, size_t part)
{
	return lag / part > 2 ? lag / part : 2;
}

/* The median of the gaps from an occurrence to the `stride`-th after it; 0 if they differ. */
static size_t regular_lag(const struct signatures *sequence, const struct occurrences *kind,
			  size_t stride, size_t *gaps)
{
	const size_t *place = &sequence->place[kind->first];
	size_t count = kind->count - stride < MOST_GAPS ? kind->count - stride : MOST_GAPS;
	size_t near = 0;
	size_t lag;

	for (size_t i = 0; i < count; i++)
		gaps[i] = place[i + stride] - place[i];
	qsort(gaps, count, sizeof(*gaps), by_size);
	lag = gaps[count / 2];
	for (size_t i = 0; i < count; i++)
		near += difference(gaps[i], lag) <= slack(lag, 20);
	return (double)near >= REGULAR_SHARE * (double)count ? lag : 0;
}

struct candidates {
	struct period_candidate *item;
	size_t count;
	size_t capacity;
};

static int add_candidate(const struct signatures *sequence, struct candidates *list, size_t lag,
			 size_t anchor)
{
	struct period_candidate *slot;

	for (size_t i = 0; i < list->count; i++) {
		if (difference(list->item[i].lag, lag) <= lag / 50)
			return NP_OK;
	}
	if (list->count == MOST_LAGS)
		return NP_OK;
	slot = np_vec_add(list, sequence->err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = (struct period_candidate){ .lag = lag, .anchor = anchor };
	return NP_OK;
}

static int propose(const struct signatures *sequence, struct candidates *list)
{
	size_t *gaps = malloc(MOST_GAPS * sizeof(*gaps));
	size_t anchors = 0;
	int rc = gaps ? NP_OK : np_fail_nomem(sequence->err, "a sequence");

	for (size_t i = 0; i < sequence->kinds && anchors < MOST_ANCHORS && rc == NP_OK; i++) {
		const struct occurrences *kind = &sequence->kind[i];

		if (kind->count < 2)
			continue;
		anchors++;
		for (size_t stride = 1;
		     stride <= MOST_STRIDE && stride <= kind->count / 2 && rc == NP_OK; stride++) {
			size_t lag = regular_lag(sequence, kind, stride, gaps);

			if (lag > 0 && lag <= sequence->count / 2 + slack(lag, 20))
				rc = add_candidate(sequence, list, lag, i);
		}
	}
	free(gaps);
	return rc;
}

/* --- what recurs ----------------------------------------------------------------------------- */

static int add_cut(const struct signatures *sequence, struct cuts *cuts, size_t at)
{
	size_t *slot = np_vec_add(cuts, sequence->err);

	if (!slot)
		return NP_E_NOMEM;
	*slot = at;
	return NP_OK;
}

/* A lag further on is the anchor, or where it is missing what is there. */
static size_t follow(const struct signatures *sequence, const struct period_candidate *of,
		     size_t wanted)
{
	size_t at = nearest(sequence, &sequence->kind[of->anchor], wanted, slack(of->lag, 8));

	return at == SIZE_MAX ? wanted : at;
}

/* Cut the sequence at the anchor, once in a lag. */
static int cut(const struct signatures *sequence, const struct period_candidate *of,
	       struct cuts *cuts)
{
	size_t first = sequence->place[sequence->kind[of->anchor].first];
	int rc = NP_OK;

	cuts->count = 0;
	while (first >= of->lag) {
		size_t before = follow(sequence, of, first - of->lag);

		if (before >= first)
			break;
		first = before;
	}
	for (size_t at = first; at < sequence->count && rc == NP_OK;) {
		size_t next = follow(sequence, of, at + of->lag);

		rc = add_cut(sequence, cuts, at);
		at = next > at ? next : at + of->lag;
	}
	return rc;
}

/* The lag from here to the next repeat. */
static size_t lag_at(const struct cuts *cuts, size_t place, size_t lag, size_t *segment)
{
	while (*segment + 1 < cuts->count && cuts->item[*segment + 1] <= place)
		++*segment;
	if (*segment + 1 >= cuts->count || place < cuts->item[*segment])
		return lag;
	return cuts->item[*segment + 1] - cuts->item[*segment];
}

/* The share of a signature's occurrences that recur; NaN where none has room for it. */
static double recurs(const struct signatures *sequence, const struct occurrences *kind,
		     const struct cuts *cuts, size_t lag)
{
	size_t reach = slack(lag, 50);
	size_t every = kind->count / MOST_ASKED + 1;
	size_t segment = 0;
	size_t asked = 0;
	size_t found = 0;

	for (size_t i = 0; i < kind->count; i += every) {
		size_t place = sequence->place[kind->first + i];
		size_t wanted = place + lag_at(cuts, place, lag, &segment);
		size_t next;

		if (wanted + reach >= sequence->count)
			break;
		next = nearest(sequence, kind, wanted, reach);
		asked++;
		found += next != SIZE_MAX && next != place;
	}
	return asked ? (double)found / (double)asked : (double)NAN;
}

static int judge(const struct signatures *sequence, struct period_candidate *candidate,
		 struct cuts *cuts)
{
	double sum = 0;
	size_t asked = 0;
	int rc = cut(sequence, candidate, cuts);

	for (size_t i = 0; i < sequence->kinds && asked < MOST_KINDS && rc == NP_OK; i++) {
		double share;

		if (sequence->kind[i].count < 2)
			continue;
		share = recurs(sequence, &sequence->kind[i], cuts, candidate->lag);
		if (isnan(share))
			continue;
		asked++;
		sum += share;
		candidate->lost += share < 0.5;
	}
	candidate->asked = asked;
	candidate->recur = asked ? sum / (double)asked : 0;
	return rc;
}

/*
 * What is missing here and there makes a kind or two seem lost at the true lag that
 * recur by chance at a multiple of it: a few more than at the best lag are none.
 */
static void forgive(struct candidates *list)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < list->count; i++)
		least = list->item[i].lost < least ? list->item[i].lost : least;
	for (size_t i = 0; i < list->count; i++) {
		struct period_candidate *candidate = &list->item[i];

		if (candidate->lost <= least + candidate->asked / FEW_LOST)
			candidate->lost = least;
	}
}

/* Those at which the fewest signatures are lost, the shortest lag first. */
static int by_merit(const void *left, const void *right)
{
	const struct period_candidate *a = left;
	const struct period_candidate *b = right;

	if (a->lost != b->lost)
		return a->lost < b->lost ? -1 : 1;
	return (a->lag > b->lag) - (a->lag < b->lag);
}

/* --- aligning repeats ------------------------------------------------------------------------ */

struct part {
	const uint32_t *item;
	ptrdiff_t count;
};

/*
 * How many members must be taken out of both to make them equal, by the greedy algorithm of
 * Myers (1986); `most` + 1 where there are more. With `open`, what is left of `b` behind
 * the end of `a` does not count.
 */
static ptrdiff_t distance(struct part a, struct part b, ptrdiff_t most, bool open,
			  ptrdiff_t *furthest)
{
	ptrdiff_t *reach = &furthest[most + 1];

	reach[1] = 0;
	for (ptrdiff_t d = 0; d <= most; d++) {
		for (ptrdiff_t k = -d; k <= d; k += 2) {
			bool down = k == -d || (k != d && reach[k - 1] < reach[k + 1]);
			ptrdiff_t x = down ? reach[k + 1] : reach[k - 1] + 1;
			ptrdiff_t y = x - k;

			while (x < a.count && y < b.count && a.item[x] == b.item[y]) {
				x++;
				y++;
			}
			reach[k] = x;
			if (x >= a.count && (y >= b.count || open))
				return d;
		}
	}
	return most + 1;
}

/* The share of positions at which neighbouring repeats are alike; 0 when it is too small. */
static int compare_repeats(const struct signatures *sequence, const struct cuts *cuts, double *ret)
{
	size_t longest = 0;
	size_t total = 2 * cuts->item[0];
	size_t wrong = 2 * cuts->item[0];
	ptrdiff_t *furthest;

	for (size_t i = 0; i < cuts->count; i++) {
		size_t end = i + 1 < cuts->count ? cuts->item[i + 1] : sequence->count;

		if (end - cuts->item[i] > longest)
			longest = end - cuts->item[i];
	}
	furthest = malloc((2 * (2 * longest / 5 + 4)) * sizeof(*furthest));
	if (!furthest)
		return np_fail_nomem(sequence->err, "a sequence");
	*ret = 0;
	for (size_t i = 0; i + 1 < cuts->count; i++) {
		bool last = i + 2 == cuts->count;
		size_t end = last ? sequence->count : cuts->item[i + 2];
		struct part a = { &sequence->signatures[cuts->item[i]],
				  (ptrdiff_t)(cuts->item[i + 1] - cuts->item[i]) };
		struct part b = { &sequence->signatures[cuts->item[i + 1]],
				  (ptrdiff_t)(end - cuts->item[i + 1]) };
		bool open = last && b.count < a.count;
		size_t both = (size_t)(open ? 2 * b.count : a.count + b.count);
		/* A fifth of it is as bad as all of it. */
		ptrdiff_t most = (ptrdiff_t)both / 5 + 2;
		ptrdiff_t apart;

		/* The beginning of a repeat is looked for in a whole one. */
		apart = open ? distance(b, a, most, true, furthest)
			     : distance(a, b, most, false, furthest);
		total += both;
		wrong += apart > most ? both : (size_t)apart;
		if ((double)wrong > (1 - LEAST_ALIKE) * 2 * (double)sequence->count) {
			free(furthest);
			return NP_OK;
		}
	}
	free(furthest);
	*ret = total ? 1 - (double)wrong / (double)total : 0;
	return NP_OK;
}

/* --- where repeats begin --------------------------------------------------------------------- */

/* How little two contexts differ, where members may be missing: 0 for not at all. */
static size_t context_distance(const struct signatures *sequence, size_t a, size_t b)
{
	ptrdiff_t furthest[2 * (CONTEXT + 2)];
	size_t length = CONTEXT;

	if (sequence->count - a < length)
		length = sequence->count - a;
	if (sequence->count - b < length)
		length = sequence->count - b;
	return CONTEXT - length +
	       (size_t)distance((struct part){ &sequence->signatures[a], (ptrdiff_t)length },
				(struct part){ &sequence->signatures[b], (ptrdiff_t)length },
				CONTEXT, false, furthest);
}

/* The place around `wanted` that looks most like `model`: the nearer, the less alike it need be. */
static size_t most_alike(const struct signatures *sequence, size_t model, size_t wanted,
			 size_t reach)
{
	size_t best = wanted;
	size_t least =
		wanted < sequence->count ? 2 * context_distance(sequence, model, wanted) : SIZE_MAX;

	for (size_t d = 1; d <= reach && d < least; d++) {
		size_t before = SIZE_MAX;
		size_t after = SIZE_MAX;

		if (wanted > model + d && wanted - d < sequence->count)
			before = d + 2 * context_distance(sequence, model, wanted - d);
		if (wanted + d < sequence->count)
			after = d + 2 * context_distance(sequence, model, wanted + d);
		if (before < least) {
			least = before;
			best = wanted - d;
		}
		if (after < least) {
			least = after;
			best = wanted + d;
		}
	}
	return best < sequence->count ? best : sequence->count - 1;
}

/* The first member whose context recurs a lag later. */
static size_t first_that_recurs(const struct signatures *sequence, const struct cuts *cuts,
				size_t lag)
{
	size_t reach = slack(lag, 50) < MOST_REACH ? slack(lag, 50) : MOST_REACH;

	for (size_t at = 0; at < lag && at < MOST_HEAD && at + lag < sequence->count; at++) {
		size_t next = most_alike(sequence, at, at + lag, reach);

		if (context_distance(sequence, at, next) <= CONTEXT / 4)
			return at;
	}
	return cuts->item[0] % lag;
}

/* From cuts at the anchor to cuts at what the sequence begins with. */
static void move_cuts(const struct signatures *sequence, struct cuts *cuts, size_t lag)
{
	size_t first = first_that_recurs(sequence, cuts, lag);
	size_t back = cuts->item[0] >= first ? cuts->item[0] - first : 0;
	size_t kept = 0;

	for (size_t i = 0; i < cuts->count; i++) {
		size_t at = cuts->item[i] - back;

		if (i > 0)
			at = most_alike(sequence, first, at, slack(lag, 20));
		if (kept == 0 || at > cuts->item[kept - 1])
			cuts->item[kept++] = at;
	}
	cuts->count = kept;
}

/* Likewise of what comes before both. */
static size_t context_before(const struct signatures *sequence, size_t a, size_t b)
{
	ptrdiff_t furthest[2 * (CONTEXT + 2)];
	uint32_t before[2][CONTEXT];
	size_t length = CONTEXT;

	if (a < length)
		length = a;
	if (b < length)
		length = b;
	for (size_t i = 0; i < length; i++) {
		before[0][i] = sequence->signatures[a - 1 - i];
		before[1][i] = sequence->signatures[b - 1 - i];
	}
	return CONTEXT - length +
	       (size_t)distance((struct part){ before[0], (ptrdiff_t)length },
				(struct part){ before[1], (ptrdiff_t)length }, CONTEXT, false,
				furthest);
}

static size_t both_contexts(const struct signatures *sequence, size_t a, size_t b)
{
	return context_distance(sequence, a, b) + context_before(sequence, a, b);
}

/* The inner cut that is most like the others: what is missing around it is the least. */
static size_t typical_cut(const struct signatures *sequence, const struct cuts *cuts)
{
	size_t every = cuts->count / MOST_TYPICAL + 1;
	size_t best = 1;
	size_t least = SIZE_MAX;

	for (size_t i = 1; i < cuts->count; i += every) {
		size_t sum = 0;

		for (size_t j = 1; j < cuts->count; j += every)
			sum += both_contexts(sequence, cuts->item[i], cuts->item[j]);
		if (sum < least) {
			least = sum;
			best = i;
		}
	}
	return cuts->item[best];
}

/* A member that is missing at a cut has moved it by a few: both sides of it say where it is. */
static void settle_cuts(const struct signatures *sequence, struct cuts *cuts)
{
	size_t model = cuts->count > 2 ? typical_cut(sequence, cuts) : 0;

	for (size_t i = 1; i < cuts->count && model > 0; i++) {
		size_t low = cuts->item[i - 1] + 1;
		size_t high = i + 1 < cuts->count ? cuts->item[i + 1] : sequence->count;
		size_t wanted = cuts->item[i];
		size_t best = wanted;
		size_t least = 2 * both_contexts(sequence, model, wanted);

		for (size_t d = 1; d <= CONTEXT / 2 && d < least; d++) {
			size_t places[2] = { wanted - d, wanted + d };

			for (size_t j = 0; j < 2; j++) {
				size_t cost;

				if (places[j] < low || places[j] >= high)
					continue;
				cost = d + 2 * both_contexts(sequence, model, places[j]);
				if (cost < least) {
					least = cost;
					best = places[j];
				}
			}
		}
		cuts->item[i] = best;
	}
}

/* A few members behind the last whole repeat belong to it. */
static void close_cuts(const struct signatures *sequence, struct cuts *cuts, size_t lag)
{
	if (cuts->count > 1 && sequence->count - cuts->item[cuts->count - 1] <= slack(lag, 20))
		cuts->count--;
}

/* Would an anchor that is behind the first repeat leave room for one more at the end? */
static int extend_cuts(const struct signatures *sequence, struct cuts *cuts, size_t lag)
{
	int rc = NP_OK;

	while (rc == NP_OK && cuts->count > 0 &&
	       sequence->count - cuts->item[cuts->count - 1] > lag + slack(lag, 8)) {
		size_t last = cuts->item[cuts->count - 1];
		size_t next = most_alike(sequence, cuts->item[0], last + lag, slack(lag, 20));

		rc = add_cut(sequence, cuts, next > last ? next : last + lag);
	}
	return rc;
}

/* --- all of it ------------------------------------------------------------------------------- */

/* How many positions would be alike by chance. */
static double chance(const struct signatures *sequence)
{
	double sum = 0;

	for (size_t i = 0; i < sequence->kinds; i++) {
		double share = (double)sequence->kind[i].count / (double)sequence->count;

		sum += share * share;
	}
	return sum;
}

static int take(const struct signatures *sequence, const struct period_candidate *candidate,
		const struct cuts *cuts, struct np_period *ret)
{
	size_t last = cuts->item[cuts->count - 1];
	bool whole = sequence->count - last + slack(candidate->lag, 10) >= candidate->lag;
	size_t count = cuts->count - !whole;
	double by_chance = chance(sequence);
	double beyond = by_chance < 1 ? (ret->alike - by_chance) / (1 - by_chance) : 0;

	if (count < 2)
		return NP_OK;
	ret->confidence = beyond * candidate->recur * (1 - ldexp(1, -(int)count));
	if (ret->confidence < NP_PERIOD_CONFIDENCE)
		return NP_OK;
	ret->begin = malloc((count + 1) * sizeof(*ret->begin));
	if (!ret->begin)
		return np_fail_nomem(sequence->err, "a sequence");
	for (size_t i = 0; i < count; i++)
		ret->begin[i] = cuts->item[i];
	ret->begin[count] = whole ? sequence->count : last;
	ret->count = count;
	return NP_OK;
}

/* Lags that are nearly the same are tried by what recurs at them: cuts follow the anchor. */
static void order_neighbours(struct candidates *list)
{
	for (size_t i = 0; i < list->count; i++) {
		size_t best = i;
		struct period_candidate taken;

		for (size_t j = i + 1; j < list->count; j++) {
			if (list->item[j].lost != list->item[i].lost ||
			    list->item[j].lag > list->item[i].lag + slack(list->item[i].lag, 4))
				break;
			if (list->item[j].recur > list->item[best].recur)
				best = j;
		}
		taken = list->item[best];
		memmove(&list->item[i + 1], &list->item[i], (best - i) * sizeof(taken));
		list->item[i] = taken;
	}
}

static int try_candidates(const struct signatures *sequence, struct candidates *list,
			  struct cuts *cuts, struct np_period *ret)
{
	int rc = NP_OK;

	for (size_t i = 0; i < list->count && rc == NP_OK; i++)
		rc = judge(sequence, &list->item[i], cuts);
	forgive(list);
	if (rc == NP_OK && list->count)
		qsort(list->item, list->count, sizeof(*list->item), by_merit);
	order_neighbours(list);
	/* What is lost at the others would recur at one that was tried. */
	for (size_t i = 0; i < list->count && i < MOST_TRIED && rc == NP_OK && ret->count == 0;
	     i++) {
		const struct period_candidate *candidate = &list->item[i];

		if (candidate->recur < NP_PERIOD_CONFIDENCE)
			continue;
		rc = cut(sequence, candidate, cuts);
		if (rc == NP_OK && cuts->count > 0) {
			move_cuts(sequence, cuts, candidate->lag);
			rc = extend_cuts(sequence, cuts, candidate->lag);
			settle_cuts(sequence, cuts);
			close_cuts(sequence, cuts, candidate->lag);
		}
		if (rc == NP_OK && cuts->count > 0)
			rc = compare_repeats(sequence, cuts, &ret->alike);
		if (rc == NP_OK && cuts->count > 0 && ret->alike >= LEAST_ALIKE)
			rc = take(sequence, candidate, cuts, ret);
	}
	return rc;
}

/* --- kinds of repeats ------------------------------------------------------------------------ */

/*
 * What serves requests repeats without a period: steps that take in a prompt and
 * steps that go on alternate as requests come, and differ in length. What is done
 * once in each of them, sampling perhaps, cuts the sequence. Every part must
 * be like an earlier one of a few classes. If a class comes after equally many parts each
 * time, the parts are layers of something longer: no iterations.
 */
struct part_classes {
	struct part model[MOST_CLASSES]; /* the latest part of each */
	size_t parts[MOST_CLASSES];
	size_t count;
	uint8_t *of; /* each part: its class, or MOST_CLASSES */
};

/* Put a part into the class it is most like; what is not alike of it, or all if it is new. */
static size_t classify(struct part_classes *classes, struct part part, size_t number,
		       ptrdiff_t *furthest)
{
	ptrdiff_t best = PTRDIFF_MAX;
	size_t class = 0;

	for (size_t i = 0; i < classes->count; i++) {
		ptrdiff_t both = part.count + classes->model[i].count;
		ptrdiff_t most = both / 20 < MOST_APART ? both / 20 : MOST_APART;
		ptrdiff_t apart = distance(part, classes->model[i], most, false, furthest);

		if (apart <= most && apart < best) {
			best = apart;
			class = i;
		}
	}
	classes->of[number] = MOST_CLASSES;
	if (best == PTRDIFF_MAX && classes->count == MOST_CLASSES)
		return (size_t)part.count;
	if (best == PTRDIFF_MAX)
		class = classes->count++;
	classes->model[class] = part;
	classes->parts[class]++;
	classes->of[number] = (uint8_t) class;
	return best == PTRDIFF_MAX ? (size_t)part.count : (size_t)best / 2;
}

/* Of how many parts of a class is the next one as far away as mostly, if not next to it? */
static double same_gaps(const struct part_classes *classes, uint8_t class, size_t parts,
			size_t *gaps)
{
	size_t count = 0;
	size_t last = SIZE_MAX;
	size_t run = 0;
	size_t most = 0;

	for (size_t i = 0; i < parts; i++) {
		if (classes->of[i] != class)
			continue;
		if (last != SIZE_MAX)
			gaps[count++] = i - last;
		last = i;
	}
	if (count)
		qsort(gaps, count, sizeof(*gaps), by_size);
	for (size_t i = 0; i < count; i++) {
		run = i > 0 && gaps[i] == gaps[i - 1] ? run + 1 : 1;
		if (gaps[i] > 1 && run > most)
			most = run;
	}
	return count ? (double)most / (double)count : 0;
}

/*
 * Layers of something longer come equally often in it: a class that is not most of the
 * parts must be seen to come irregularly, and none may come regularly.
 */
static bool parts_alternate(const struct part_classes *classes, size_t parts, size_t *gaps)
{
	ptrdiff_t shortest = PTRDIFF_MAX;
	ptrdiff_t longest = 0;
	bool irregular = false;

	for (size_t i = 0; i < classes->count; i++) {
		if (classes->parts[i] < 3)
			continue;
		if (classes->parts[i] * 2 < parts) {
			if (same_gaps(classes, (uint8_t)i, parts, gaps) >= SAME_GAPS)
				return false;
			irregular |= classes->parts[i] >= LEAST_IRREGULAR;
		}
		if (classes->model[i].count < shortest)
			shortest = classes->model[i].count;
		if (classes->model[i].count > longest)
			longest = classes->model[i].count;
	}
	return irregular && longest <= MOST_RATIO * shortest;
}

/* Cut at every occurrence of a kind, and at the begin of the sequence if it comes soon. */
static int cut_at_kind(const struct signatures *sequence, const struct occurrences *kind,
		       struct cuts *cuts)
{
	int rc = NP_OK;

	cuts->count = 0;
	for (size_t i = 0; i < kind->count && rc == NP_OK; i++)
		rc = add_cut(sequence, cuts, sequence->place[kind->first + i]);
	return rc;
}

static int try_kind(const struct signatures *sequence, const struct occurrences *kind,
		    struct cuts *cuts, struct np_period *ret)
{
	struct part_classes classes = { 0 };
	size_t total = sequence->count;
	size_t wrong;
	size_t parts;
	ptrdiff_t *furthest;
	size_t *gaps;
	int rc = cut_at_kind(sequence, kind, cuts);

	if (rc < 0)
		return rc;
	parts = cuts->count - 1;
	furthest = malloc(2 * (size_t)(MOST_APART + 2) * sizeof(*furthest));
	gaps = malloc(parts * sizeof(*gaps));
	classes.of = malloc(parts);
	if (!furthest || !gaps || !classes.of) {
		free(furthest);
		free(gaps);
		free(classes.of);
		return np_fail_nomem(sequence->err, "a sequence");
	}
	memset(classes.of, MOST_CLASSES, parts);
	/* Parts at both ends are not whole. */
	wrong = 0;
	total = cuts->item[parts] - cuts->item[0];
	for (size_t i = 0; i < parts; i++) {
		struct part part = { &sequence->signatures[cuts->item[i]],
				     (ptrdiff_t)(cuts->item[i + 1] - cuts->item[i]) };

		wrong += classify(&classes, part, i, furthest);
		/* The first of each class counts as wrong, and is expected. */
		if ((double)wrong >
		    (1 - LEAST_ALIKE) * (double)total + (double)(total / parts) * MOST_CLASSES)
			break;
	}
	for (size_t i = 0; i < classes.count; i++)
		wrong -= classes.parts[i] > 1 && wrong >= total / parts ? total / parts : 0;
	ret->alike = total && wrong < total ? 1 - (double)wrong / (double)total : 0;
	if (ret->alike < LEAST_ALIKE || !parts_alternate(&classes, parts, gaps))
		cuts->count = 0;
	free(furthest);
	free(gaps);
	free(classes.of);
	return NP_OK;
}

static size_t median_part(const struct cuts *cuts, size_t *sizes)
{
	for (size_t i = 0; i + 1 < cuts->count; i++)
		sizes[i] = cuts->item[i + 1] - cuts->item[i];
	qsort(sizes, cuts->count - 1, sizeof(*sizes), by_size);
	return sizes[(cuts->count - 1) / 2];
}

/* From cuts at the kind to cuts where a step begins, and the result. */
static int take_parts(const struct signatures *sequence, struct cuts *cuts, struct np_period *ret)
{
	size_t *sizes = malloc(cuts->count * sizeof(*sizes));
	struct period_candidate whole = { .recur = 1 };

	if (!sizes)
		return np_fail_nomem(sequence->err, "a sequence");
	whole.lag = median_part(cuts, sizes);
	free(sizes);
	if (cuts->item[0] < whole.lag) {
		move_cuts(sequence, cuts, whole.lag);
		settle_cuts(sequence, cuts);
	}
	return cuts->count > LEAST_PARTS ? take(sequence, &whole, cuts, ret) : NP_OK;
}

static int try_kinds(const struct signatures *sequence, struct cuts *cuts, struct np_period *ret)
{
	size_t tried = 0;
	size_t last = 0;
	int rc = NP_OK;

	for (size_t i = 0;
	     i < sequence->kinds && tried < MOST_TRIED && rc == NP_OK && ret->count == 0; i++) {
		const struct occurrences *kind = &sequence->kind[i];
		size_t extent;

		/* Kinds that are equally frequent are of the same part, mostly. */
		if (kind->count <= LEAST_PARTS || kind->count == last)
			continue;
		extent = sequence->place[kind->first + kind->count - 1] -
			 sequence->place[kind->first];
		if (extent < sequence->count / 2)
			continue;
		last = kind->count;
		tried++;
		rc = try_kind(sequence, kind, cuts, ret);
		if (rc == NP_OK && cuts->count > 0)
			rc = take_parts(sequence, cuts, ret);
	}
	return rc;
}

/* Several steps of a server together may look like a period: more and shorter parts are better. */
static int prefer_kinds(const struct signatures *sequence, struct cuts *cuts, struct np_period *ret)
{
	struct np_period parts = { 0 };
	int rc = try_kinds(sequence, cuts, &parts);

	if (rc == NP_OK && parts.count > 2 * ret->count) {
		np_period_release(ret);
		*ret = parts;
		return NP_OK;
	}
	np_period_release(&parts);
	return rc;
}

int np_period_find(const uint32_t *signatures, size_t count, struct np_period *ret,
		   struct np_err *err)
{
	struct signatures sequence = { .signatures = signatures, .count = count, .err = err };
	struct candidates list = { 0 };
	struct cuts cuts = { 0 };
	int rc;

	*ret = (struct np_period){ 0 };
	if (count < 4)
		return NP_OK;
	rc = index_members(&sequence);
	if (rc == NP_OK)
		rc = propose(&sequence, &list);
	if (rc == NP_OK)
		rc = try_candidates(&sequence, &list, &cuts, ret);
	if (rc == NP_OK && chance(&sequence) <= MOST_CHANCE)
		rc = prefer_kinds(&sequence, &cuts, ret);
	np_vec_release(&cuts);
	np_vec_release(&list);
	release_sequence(&sequence);
	if (rc < 0)
		np_period_release(ret);
	return rc;
}

void np_period_release(struct np_period *period)
{
	free(period->begin);
	*period = (struct np_period){ 0 };
}
