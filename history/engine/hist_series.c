/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses runs of the history, and takes one figure of each. */
#include "hist_series.h"

#include "npuprof/buf.h"
#include "npuprof/text.h"

/* --- runs ------------------------------------------------------------------------------------ */

static bool has_label(const struct hist_store *store, size_t run, const char *text)
{
	const char *equals = strchr(text, '=');

	for (size_t i = 0; i < store->labels.count; i++) {
		const struct hist_label *label = &store->labels.item[i];
		const char *name = hist_text(store, label->name);
		const char *value = hist_text(store, label->value);

		if (label->run == run && strlen(name) == (size_t)(equals - text) &&
		    strncmp(name, text, strlen(name)) == 0 && value &&
		    strcmp(value, equals + 1) == 0)
			return true;
	}
	return false;
}

static bool fits(const struct hist_store *store, const struct hist_choice *choice, size_t run)
{
	for (size_t i = 0; i < choice->label_count; i++) {
		if (!has_label(store, run, choice->labels[i]))
			return false;
	}
	return !choice->job ||
	       strcmp(hist_text(store, store->runs.item[run].job), choice->job) == 0;
}

static int no_run(const struct hist_store *store, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf jobs = NP_BUF_INIT;

	for (size_t i = 0; i < store->runs.count; i++) {
		size_t j = 0;

		while (j < i && store->runs.item[j].job != store->runs.item[i].job)
			j++;
		if (j == i)
			np_buf_printf(&jobs, "%s%s", jobs.length > 0 ? ", " : "",
				      hist_text(store, store->runs.item[i].job));
	}
	return np_fail(err, NP_E_NOTFOUND, "no run of the history fits; its jobs are: %s",
		       store->runs.count > 0 ? jobs.text : "none");
}

/* Of so many ranks one may be missing. */
#define ONE_OF 8

static bool is_of_size(const struct hist_run *run, const struct hist_run *like)
{
	int64_t fewer = llabs(run->ranks - like->ranks);

	if (run->world == NP_UNKNOWN || like->world == NP_UNKNOWN)
		return fewer == 0;
	return run->world == like->world && fewer * ONE_OF <= like->ranks;
}

int hist_select(const struct hist_store *store, const struct hist_choice *choice,
		struct hist_selection *ret, struct np_err *err)
{
	struct hist_selection found = { 0 };
	const struct hist_run *like;
	size_t newest = SIZE_MAX;
	size_t skip = 0;

	for (size_t i = 0; i < choice->label_count; i++) {
		if (!strchr(choice->labels[i], '='))
			return np_fail(err, NP_E_USAGE,
				       "--label '%s' is not NAME=VALUE, as in commit=1f3a",
				       choice->labels[i]);
	}
	for (size_t i = 0; i < store->runs.count; i++) {
		if (fits(store, choice, i))
			newest = i;
	}
	if (newest == SIZE_MAX)
		return no_run(store, err);
	found.job = hist_text(store, store->runs.item[newest].job);
	like = choice->like ? choice->like : &store->runs.item[newest];
	found.ranks = like->ranks;
	for (size_t i = 0; i < store->runs.count; i++) {
		const struct hist_run *run = &store->runs.item[i];
		uint32_t *slot;

		if (!fits(store, choice, i))
			continue;
		if (!choice->all && run->job != store->runs.item[newest].job) {
			found.elsewhere++;
			continue;
		}
		/* Whatever a damaged store says of its ranks, a run is of its own size. */
		if (!choice->all && run != like && !is_of_size(run, like)) {
			found.others++;
			continue;
		}
		slot = np_vec_add(&found.runs, err);
		if (!slot) {
			hist_selection_release(&found);
			return NP_E_NOMEM;
		}
		*slot = (uint32_t)i;
	}
	if (choice->last > 0 && found.runs.count > (size_t)choice->last)
		skip = found.runs.count - (size_t)choice->last;
	if (skip > 0)
		memmove(found.runs.item, found.runs.item + skip,
			(found.runs.count - skip) * sizeof(*found.runs.item));
	found.runs.count -= skip;
	*ret = found;
	return NP_OK;
}

void hist_selection_release(struct hist_selection *selection)
{
	np_vec_release(&selection->runs);
}

/* --- figures --------------------------------------------------------------------------------- */

bool hist_rank_figure(const struct hist_rank *rank, const char *name, np_ns *ret)
{
	const struct {
		const char *name;
		np_ns value;
	} figures[] = {
		{ "step", rank->step },
		{ "computing", rank->computing },
		{ "wait", rank->wait },
		{ "transfer", rank->transfer },
		{ "idle", rank->idle },
		{ "charge", rank->charge },
		{ "own", rank->computing == NP_UNKNOWN || rank->idle == NP_UNKNOWN
				 ? NP_UNKNOWN
				 : rank->computing + rank->idle },
	};

	for (size_t i = 0; i < NP_COUNT(figures); i++) {
		if (strcmp(figures[i].name, name) == 0) {
			*ret = figures[i].value;
			return true;
		}
	}
	return false;
}

/* What "rank:5/computing" names. */
struct subject {
	bool is_host;
	char name[256];
	char figure[64];
	int64_t rank;
};

static bool parse_subject(const char *text, struct subject *ret)
{
	const char *colon = strchr(text, ':');
	const char *slash = colon ? strrchr(colon, '/') : NULL;
	size_t length = slash ? (size_t)(slash - colon - 1) : colon ? strlen(colon + 1) : 0;

	if (!colon || length == 0 || length >= sizeof(ret->name))
		return false;
	ret->is_host = np_text_begins(text, "host:");
	(void)snprintf(ret->name, sizeof(ret->name), "%.*s", (int)length, colon + 1);
	(void)snprintf(ret->figure, sizeof(ret->figure), "%s", slash ? slash + 1 : "step");
	return ret->is_host ||
	       (np_text_begins(text, "rank:") && np_text_to_int(colon + 1, length, &ret->rank));
}

static np_ns figure_of_subject(const struct hist_store *store, const struct hist_run *run,
			       const struct subject *subject)
{
	np_ns sum = 0;
	np_ns count = 0;

	for (size_t i = run->first_rank; i < run->first_rank + run->rank_count; i++) {
		const struct hist_rank *rank = &store->ranks.item[i];
		const char *host = hist_text(store, rank->host);
		np_ns value = NP_UNKNOWN;

		if (subject->is_host ? !host || strcmp(host, subject->name) != 0
				     : rank->rank != subject->rank)
			continue;
		if (!hist_rank_figure(rank, subject->figure, &value) || value == NP_UNKNOWN)
			continue;
		sum += value;
		count++;
	}
	return count > 0 ? sum / count : NP_UNKNOWN;
}

static np_ns figure_of_run(const struct hist_store *store, size_t run, const char *figure)
{
	for (size_t i = 0; i < store->figures.count; i++) {
		const struct hist_figure *one = &store->figures.item[i];

		if (one->run == run && strcmp(hist_text(store, one->name), figure) == 0)
			return one->time;
	}
	return NP_UNKNOWN;
}

static int no_figure(const struct hist_store *store, const struct hist_selection *selection,
		     const char *figure, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf names = NP_BUF_INIT;
	size_t count = selection->runs.count;
	uint32_t newest = count > 0 ? selection->runs.item[count - 1] : UINT32_MAX;

	for (size_t i = 0; i < store->figures.count && names.length < 300; i++) {
		const char *name = hist_text(store, store->figures.item[i].name);

		if (store->figures.item[i].run == newest && !np_text_begins(name, "compute/"))
			np_buf_printf(&names, "%s, ", name);
	}
	return np_fail(err, NP_E_USAGE,
		       "no run has the figure '%s'; there are %scompute/TYPE, rank:R and host:NAME "
		       "with /step, /computing, /wait, /transfer, /idle, /own or /charge",
		       figure, names.text);
}

int hist_series_make(const struct hist_store *store, const struct hist_selection *selection,
		     const char *figure, struct hist_series *ret, struct np_err *err)
{
	struct hist_series series = { 0 };
	struct subject subject;
	bool of_subject = parse_subject(figure, &subject);

	for (size_t i = 0; i < selection->runs.count; i++) {
		uint32_t run = selection->runs.item[i];
		np_ns value = of_subject
				      ? figure_of_subject(store, &store->runs.item[run], &subject)
				      : figure_of_run(store, run, figure);
		struct hist_point *point;

		if (value == NP_UNKNOWN)
			continue;
		point = np_vec_add(&series.list, err);
		if (!point) {
			hist_series_release(&series);
			return NP_E_NOMEM;
		}
		*point = (struct hist_point){ run, value };
	}
	if (series.list.count == 0)
		return no_figure(store, selection, figure, err);
	*ret = series;
	return NP_OK;
}

void hist_series_release(struct hist_series *series)
{
	np_vec_release(&series->list);
}
