/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a run against the earlier runs of its job. */
#include "hist_judge.h"

#include <math.h>

#include "middle.h"

#include "npuprof/text.h"

/* Runs that are equal to the nanosecond are of a generator: real ones scatter by this, at least. */
#define LEAST_SCATTER 0.001

/* Runs scatter as Student's distribution with so many degrees of freedom does. */
#define TAILS 5

/* A value that more than this part of the earlier runs reached, and two of them, is none that is
 * new: runs of a job can be of several kinds. */
#define REACHED 0.1

/* What differs by less than this part of the step is as usual, however little it scatters, unless a
 * gate names it. */
#define LEAST_CHANGE 0.001

/* Leaves shorter than this part of the step are not judged unless a gate names them. */
#define LEAST_PART 0.005

static int by_name_of(const struct hist_store *store, const char *name, uint32_t run, np_ns *ret)
{
	for (size_t i = 0; i < store->figures.count; i++) {
		const struct hist_figure *figure = &store->figures.item[i];

		if (figure->run == run && strcmp(hist_text(store, figure->name), name) == 0) {
			*ret = figure->time;
			return NP_OK;
		}
	}
	return NP_E_NOTFOUND;
}

void hist_usual_of(double *values, size_t count, struct hist_usual *ret)
{
	double scatter;
	size_t freedom;

	ret->middle = hist_middle(values, count);
	ret->low = ret->high = (double)NAN;
	if (count < HIST_JUDGE_LEAST)
		return;
	for (size_t i = 0; i < count; i++)
		values[i] = fabs(values[i] - ret->middle);
	scatter = 1.4826 * hist_middle(values, count);
	if (scatter < LEAST_SCATTER * ret->middle)
		scatter = LEAST_SCATTER * ret->middle;
	/* The deviation from a median is known less well than that from a mean; and however many
	 * values there are, their tails are heavy. */
	freedom = count / 3 < TAILS ? count / 3 : TAILS;
	scatter *= hist_student(HIST_JUDGE_ERROR / 2, freedom) * sqrt(1 + 1.57 / (double)count);
	ret->low = ret->middle - scatter;
	ret->high = ret->middle + scatter;
}

/* Did so many of the earlier runs have as much, or as little, that it is nothing new? */
static bool is_reached(size_t runs, size_t reached)
{
	return reached >= 2 && (double)reached > REACHED * (double)runs;
}

static int judge_figure(const struct hist_store *store, const struct hist_selection *selection,
			np_ns step, struct hist_judged *one, struct np_err *err)
{
	double *past = calloc(selection->runs.count + 1, sizeof(*past));
	struct hist_usual usual;
	size_t less = 0;
	size_t more = 0;

	if (!past)
		return np_fail_nomem(err, "earlier runs");
	for (size_t i = 0; i < selection->runs.count; i++) {
		np_ns time;

		if (by_name_of(store, one->figure, selection->runs.item[i], &time) < 0)
			continue;
		past[one->runs++] = (double)time;
		less += time < one->time;
		more += time > one->time;
	}
	hist_usual_of(past, one->runs, &usual);
	free(past);
	one->middle = usual.middle;
	one->below = one->runs > 0 ? (double)less / (double)one->runs : (double)NAN;
	if (step != NP_UNKNOWN && !isfinite(one->allowed)) {
		double least = LEAST_CHANGE * (double)step;

		usual.low = fmin(usual.low, usual.middle - least);
		usual.high = fmax(usual.high, usual.middle + least);
	}
	one->low = one->runs < HIST_JUDGE_LEAST ? (double)NAN : fmax(usual.low, 0);
	one->high = one->runs < HIST_JUDGE_LEAST ? (double)NAN : usual.high;
	one->unusual =
		((double)one->time > one->high && !is_reached(one->runs, one->runs - less)) ||
		((double)one->time < one->low && !is_reached(one->runs, one->runs - more));
	return NP_OK;
}

/* What the judgement is about without being asked: the parts of the step that matter. */
static bool is_worth(const struct hist_store *entry, const struct hist_figure *figure)
{
	const char *name = hist_text(entry, figure->name);
	np_ns step = entry->runs.item[0].step;

	if (np_text_begins(name, "compute/") || strcmp(name, "lost") == 0 ||
	    hist_figure_is_bytes(name))
		return false;
	return step == NP_UNKNOWN || (double)figure->time >= LEAST_PART * (double)step;
}

static struct hist_judged *find(struct hist_judgement *judgement, const char *figure)
{
	for (size_t i = 0; i < judgement->list.count; i++) {
		if (strcmp(judgement->list.item[i].figure, figure) == 0)
			return &judgement->list.item[i];
	}
	return NULL;
}

static struct hist_judged *add(struct hist_judgement *judgement, const struct hist_store *entry,
			       const struct hist_figure *figure, struct np_err *err)
{
	struct hist_judged *one = np_vec_add(&judgement->list, err);

	if (one)
		*one = (struct hist_judged){ .figure = hist_text(entry, figure->name),
					     .time = figure->time,
					     .allowed = (double)NAN };
	return one;
}

/* "step>2%": the part of `text` up to `length`. */
static int take_condition(struct hist_judgement *judgement, const struct hist_store *entry,
			  const char *text, size_t length, struct np_err *err)
{
	char name[256];
	const char *above = memchr(text, '>', length);
	size_t end = above ? (size_t)(above - text) : 0;
	struct hist_judged *one;
	double share;
	char *rest;

	if (end == 0 || end >= sizeof(name))
		return np_fail(err, NP_E_USAGE,
			       "condition '%.*s' of --fail-on is not FIGURE>N%%, as in step>2%%",
			       (int)length, text);
	share = strtod(above + 1, &rest);
	if (rest == above + 1 || rest + 1 != text + length || *rest != '%' || !isfinite(share) ||
	    share < 0)
		return np_fail(err, NP_E_USAGE,
			       "condition '%.*s' of --fail-on is not FIGURE>N%%, as in step>2%%",
			       (int)length, text);
	(void)snprintf(name, sizeof(name), "%.*s", (int)end, text);
	one = find(judgement, name);
	for (size_t i = 0; !one && i < entry->figures.count; i++) {
		if (strcmp(hist_text(entry, entry->figures.item[i].name), name) != 0)
			continue;
		one = add(judgement, entry, &entry->figures.item[i], err);
		if (!one)
			return NP_E_NOMEM;
	}
	if (!one)
		return np_fail(err, NP_E_USAGE,
			       "condition '%.*s' of --fail-on names no figure of the run",
			       (int)length, text);
	one->allowed = share / 100;
	return NP_OK;
}

static int take_conditions(struct hist_judgement *judgement, const struct hist_store *entry,
			   const char *text, struct np_err *err)
{
	int rc = NP_OK;

	while (text && *text && rc == NP_OK) {
		size_t length = strcspn(text, ",");

		rc = take_condition(judgement, entry, text, length, err);
		text += length + (text[length] == ',');
	}
	return rc;
}

int hist_judge(const struct hist_store *store, const struct hist_selection *selection,
	       const struct hist_store *entry, const char *fail_on, struct hist_judgement *ret,
	       struct np_err *err)
{
	struct hist_judgement judgement = { .runs = selection->runs.count };
	int rc = NP_OK;

	judgement.withheld = judgement.runs < HIST_JUDGE_LEAST;
	for (size_t i = 0; i < entry->figures.count && rc == NP_OK; i++) {
		if (is_worth(entry, &entry->figures.item[i]) &&
		    !add(&judgement, entry, &entry->figures.item[i], err))
			rc = NP_E_NOMEM;
	}
	if (rc == NP_OK)
		rc = take_conditions(&judgement, entry, fail_on, err);
	for (size_t i = 0; i < judgement.list.count && rc == NP_OK; i++) {
		struct hist_judged *one = &judgement.list.item[i];

		rc = judge_figure(store, selection,
				  hist_figure_is_bytes(one->figure) ? NP_UNKNOWN
								    : entry->runs.item[0].step,
				  one, err);
		one->failed = isfinite(one->allowed) && one->unusual &&
			      (double)one->time > one->middle * (1 + one->allowed);
		judgement.failed |= one->failed;
		/* Nothing is said where the step, or what the gate is about, cannot be judged. */
		judgement.withheld |= one->runs < HIST_JUDGE_LEAST &&
				      (isfinite(one->allowed) || strcmp(one->figure, "step") == 0);
	}
	if (rc == NP_OK)
		*ret = judgement;
	else
		hist_judgement_release(&judgement);
	return rc;
}

void hist_judgement_release(struct hist_judgement *judgement)
{
	np_vec_release(&judgement->list);
}
