/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whether a difference is more than chance (cmp_significance.h). */
#include "cmp_significance.h"

#include "npuprof/elementary.h"
#include "npuprof/order.h"
#include "npuprof/robust.h"

#include <math.h>

#define RANK_TEST_STEPS 8
#define EXACT_MOST      20 /* values on a side up to which the exact distribution is counted */
#define DRAWS_MOST      400
#define DRAWS_LEAST     60

static double mean_of(struct cmp_values values)
{
	double sum = 0;

	for (size_t i = 0; i < values.count; i++)
		sum += values.value[i];
	return sum / (double)values.count;
}

static double variance_of(struct cmp_values values)
{
	double mean = mean_of(values);
	double sum = 0;

	for (size_t i = 0; i < values.count; i++)
		sum += (values.value[i] - mean) * (values.value[i] - mean);
	return sum / (double)(values.count - 1);
}

/* --- Student's distribution ------------------------------------------------------------------ */

/* The incomplete beta function by its continued fraction (Lentz). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1;
	double d = 1 - (a + b) * x / (a + 1);
	double h;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	h = d;
	for (int m = 1; m <= 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double before = h;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		h *= d * c;
		if (fabs(h - before) < 1e-14 * fabs(h))
			break;
	}
	return h;
}

static double beta_regular(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = np_exp(np_log_gamma(a + b) - np_log_gamma(a) - np_log_gamma(b) + a * np_log(x) +
		       b * np_log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static double student_two_sided(double t, double freedom)
{
	return beta_regular(freedom / 2, 0.5, freedom / (freedom + t * t));
}

/* The t that is exceeded, on both sides together, with probability p. */
static double student_quantile(double p, double freedom)
{
	double low = 0;
	double high = 1000;

	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (student_two_sided(middle, freedom) > p)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct significance_spread {
	double error;   /* standard error of the difference of means */
	double freedom; /* by Welch and Satterthwaite */
};

static struct significance_spread spread_of(struct cmp_values a, struct cmp_values b)
{
	double x = variance_of(a) / (double)a.count;
	double y = variance_of(b) / (double)b.count;
	double low = x * x / (double)(a.count - 1) + y * y / (double)(b.count - 1);

	return (struct significance_spread){ sqrt(x + y), low > 0 ? (x + y) * (x + y) / low : 1 };
}

double cmp_welch(struct cmp_values a, struct cmp_values b)
{
	struct significance_spread spread;
	double delta;

	if (a.count < 2 || b.count < 2)
		return (double)NAN;
	spread = spread_of(a, b);
	delta = mean_of(b) - mean_of(a);
	if (spread.error <= 0)
		return fabs(delta) > 0 ? 0 : 1;
	return student_two_sided(delta / spread.error, spread.freedom);
}

/* --- Mann and Whitney ------------------------------------------------------------------------ */

struct ranked {
	double value;
	bool of_a;
};

static int by_value(const void *left, const void *right)
{
	const struct ranked *a = left;
	const struct ranked *b = right;

	return (a->value > b->value) - (a->value < b->value);
}

struct rank_sum {
	double u;    /* of a */
	double ties; /* Σ t³ − t */
};

static struct rank_sum rank_all(struct ranked *all, size_t count, size_t count_a)
{
	struct rank_sum sum = { 0, 0 };
	double ranks = 0;

	qsort(all, count, sizeof(*all), by_value);
	for (size_t from = 0, to = 0; from < count; from = to) {
		double tied;

		while (to < count && !(all[to].value > all[from].value))
			to++;
		tied = (double)(to - from);
		sum.ties += tied * tied * tied - tied;
		for (size_t i = from; i < to; i++)
			ranks += all[i].of_a ? (double)(from + to + 1) / 2 : 0;
	}
	sum.u = ranks - (double)count_a * ((double)count_a + 1) / 2;
	return sum;
}

/*
 * P(U <= u) for sizes m and n: the number of ways to get each sum of ranks is
 * counted by adding one value after the other. NaN if memory runs out.
 */
static double exact_tail(size_t m, size_t n, double u, struct np_err *err)
{
	size_t most = m * n;
	double *ways = calloc((m + 1) * (most + 1), sizeof(*ways));
	double all = 0;
	double tail = 0;

	if (!ways) {
		(void)np_fail_nomem(err, "the rank test");
		return (double)NAN;
	}
	ways[0] = 1;
	/* ways[k][s]: k of the first j values are of a and have s of b below them. */
	for (size_t j = 0; j < m + n; j++) {
		for (size_t k = j + 1 < m ? j + 1 : m; k > 0; k--) {
			size_t below = j + 1 - k;

			for (size_t s = below; below <= n && s <= most; s++)
				ways[k * (most + 1) + s] += ways[(k - 1) * (most + 1) + s - below];
		}
	}
	for (size_t s = 0; s <= most; s++) {
		all += ways[m * (most + 1) + s];
		tail += (double)s <= u ? ways[m * (most + 1) + s] : 0;
	}
	free(ways);
	return tail / all;
}

static double normal_tail(struct rank_sum sum, size_t count_a, size_t count_b)
{
	double m = (double)count_a;
	double n = (double)count_b;
	double all = m + n;
	double variance = m * n / 12 * (all + 1 - sum.ties / (all * (all - 1)));
	double off = fabs(sum.u - m * n / 2) - 0.5;

	if (variance <= 0)
		return 1;
	return off <= 0 ? 1 : np_erfc(off / sqrt(2 * variance));
}

double cmp_mann_whitney(struct cmp_values a, struct cmp_values b, struct np_err *err)
{
	size_t count = a.count + b.count;
	struct ranked *all;
	struct rank_sum sum;
	double p;

	if (a.count == 0 || b.count == 0)
		return (double)NAN;
	all = malloc(count * sizeof(*all));
	if (!all) {
		(void)np_fail_nomem(err, "the rank test");
		return (double)NAN;
	}
	for (size_t i = 0; i < count; i++)
		all[i] = (struct ranked){ i < a.count ? a.value[i] : b.value[i - a.count],
					  i < a.count };
	sum = rank_all(all, count, a.count);
	free(all);
	if (sum.ties > 0 || a.count > EXACT_MOST || b.count > EXACT_MOST)
		return normal_tail(sum, a.count, b.count);
	if (sum.u > (double)(a.count * b.count) / 2)
		sum.u = (double)(a.count * b.count) - sum.u;
	p = 2 * exact_tail(a.count, b.count, sum.u, err);
	return p < 1 ? p : 1;
}

/* --- bootstrap ------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The middle; of two the mean, so that swapping the sides swaps the sign and nothing else. */
static double middle_of(double *values, size_t count)
{
	double low = np_median(values, count);
	double high = count % 2 ? low : values[count / 2];

	for (size_t i = count / 2; i < count && count % 2 == 0; i++)
		high = values[i] < high ? values[i] : high;
	return count % 2 ? low : (low + high) / 2;
}

static double resampled(struct cmp_values values, double *room, uint64_t *state)
{
	for (size_t i = 0; i < values.count; i++)
		room[i] = values.value[draw(state) % values.count];
	return middle_of(room, values.count);
}

/* Both sides start from the same state, so that swapping them mirrors the interval. */
static void bootstrap(struct cmp_values base, struct cmp_values new_, double *room,
		      struct cmp_test *ret)
{
	double deltas[DRAWS_MOST];
	size_t values = base.count + new_.count;
	size_t draws = 60000 / values > DRAWS_MOST ? DRAWS_MOST : 60000 / values;
	uint64_t base_state = 1;
	uint64_t new_state = 1;
	size_t tail;

	draws = draws < DRAWS_LEAST ? DRAWS_LEAST : draws;
	for (size_t i = 0; i < draws; i++) {
		double from = resampled(base, room, &base_state);

		deltas[i] = resampled(new_, room, &new_state) - from;
	}
	qsort(deltas, draws, sizeof(*deltas), np_by_double);
	tail = draws / 40;
	ret->low = deltas[tail];
	ret->high = deltas[draws - 1 - tail];
}

static double median_of(struct cmp_values values, double *room)
{
	memcpy(room, values.value, values.count * sizeof(*room));
	return middle_of(room, values.count);
}

int cmp_test(struct cmp_values base, struct cmp_values new_, struct cmp_test *ret,
	     struct np_err *err)
{
	size_t least = base.count < new_.count ? base.count : new_.count;
	size_t most = base.count > new_.count ? base.count : new_.count;
	double *room = malloc((most + 1) * sizeof(*room));
	struct significance_spread spread;

	*ret = (struct cmp_test){ (double)NAN, (double)NAN, (double)NAN,
				  (double)NAN, (double)NAN, "none" };
	if (!room)
		return np_fail_nomem(err, "a test");
	if (least > 0)
		ret->median_delta = median_of(new_, room) - median_of(base, room);
	if (least >= CMP_LEAST_STEPS) {
		ret->method = least >= RANK_TEST_STEPS ? "mann-whitney" : "welch";
		ret->p = least >= RANK_TEST_STEPS ? cmp_mann_whitney(base, new_, err)
						  : cmp_welch(base, new_);
		bootstrap(base, new_, room, ret);
		spread = spread_of(base, new_);
		/* 0.84: four times out of five. */
		ret->detectable = spread.error * (student_quantile(0.05, spread.freedom) + 0.84);
	}
	free(room);
	return NP_OK;
}

/* --- many tests ------------------------------------------------------------------------------ */

struct significance_placed {
	double p;
	size_t at;
};

static int by_p(const void *left, const void *right)
{
	const struct significance_placed *a = left;
	const struct significance_placed *b = right;

	return a->p < b->p ? -1 : a->p > b->p ? 1 : (a->at > b->at) - (a->at < b->at);
}

int cmp_adjust(double *p, size_t count, struct np_err *err)
{
	struct significance_placed *order = malloc((count + 1) * sizeof(*order));
	double least = 1;
	size_t known = 0;

	if (!order)
		return np_fail_nomem(err, "tests");
	for (size_t i = 0; i < count; i++) {
		if (!isnan(p[i]))
			order[known++] = (struct significance_placed){ p[i], i };
	}
	qsort(order, known, sizeof(*order), by_p);
	for (size_t i = known; i-- > 0;) {
		double q = order[i].p * (double)known / (double)(i + 1);

		least = q < least ? q : least;
		p[order[i].at] = least;
	}
	free(order);
	return NP_OK;
}
