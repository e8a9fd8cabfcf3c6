/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rank, or the machine, that most of several runs name (hist_named.h). */
#include "hist_named.h"

#include "npuprof/text.h"

/* What one run names. */
struct named_run {
	np_str what;
	np_str host; /* NP_STR_NONE: its machine is not known */
	int64_t device;
};

const struct hist_rank *hist_named_rank(const struct hist_store *store, const struct hist_run *run,
					np_str what)
{
	const char *text = what == NP_STR_NONE ? NULL : hist_text(store, what);
	int64_t rank;

	if (!text || !np_text_begins(text, "rank:") ||
	    !np_text_to_int(text + 5, strlen(text + 5), &rank))
		return NULL;
	for (size_t i = run->first_rank; i < run->first_rank + run->rank_count; i++) {
		const struct hist_rank *one = &store->ranks.item[i];

		if (one->rank == rank)
			return one->host != NP_STR_NONE && one->device >= 0 ? one : NULL;
	}
	return NULL;
}

/* Reasons of withheld verdicts are sentences; repairs are of one word. */
static bool is_repair(const char *what)
{
	return what && strchr(what, ':') && !strchr(what, ' ');
}

static struct named_run named_by(const struct hist_store *store, const struct hist_run *run)
{
	const struct hist_rank *rank = hist_named_rank(store, run, run->what);
	const char *what = run->what == NP_STR_NONE ? NULL : hist_text(store, run->what);

	return (struct named_run){
		.what = is_repair(what) ? run->what : NP_STR_NONE,
		.host = rank ? rank->host : NP_STR_NONE,
		.device = rank ? rank->device : -1,
	};
}

/* How many of the runs name what this one does: the same words, or the same machine. */
static size_t count_like(const struct named_run *runs, size_t count, const struct named_run *one,
			 bool machine)
{
	size_t like = 0;

	for (size_t i = 0; i < count; i++)
		like += machine ? runs[i].host == one->host && runs[i].device == one->device
				: runs[i].what == one->what;
	return like;
}

static struct hist_named most_named(const struct named_run *runs, size_t count)
{
	struct hist_named ret = { NP_STR_NONE, NP_STR_NONE, -1 };
	size_t most = count / 2; /* more than these */

	for (size_t i = 0; i < count; i++) {
		size_t like =
			runs[i].what == NP_STR_NONE ? 0 : count_like(runs, count, &runs[i], false);

		if (like > most) {
			most = like;
			ret.what = runs[i].what;
		}
	}
	for (size_t i = 0; i < count; i++) {
		size_t like =
			runs[i].host == NP_STR_NONE ? 0 : count_like(runs, count, &runs[i], true);

		if (like > most) {
			most = like;
			ret = (struct hist_named){ NP_STR_NONE, runs[i].host, runs[i].device };
		}
	}
	return ret;
}

int hist_named_in(const struct hist_store *store, const struct hist_series *series, size_t begin,
		  size_t end, struct hist_named *ret, struct np_err *err)
{
	struct named_run *runs = calloc(end - begin + 1, sizeof(*runs));

	if (!runs)
		return np_fail_nomem(err, "what runs name");
	for (size_t i = begin; i < end; i++)
		runs[i - begin] = named_by(store, &store->runs.item[series->list.item[i].run]);
	*ret = most_named(runs, end - begin);
	free(runs);
	return NP_OK;
}

bool hist_named_any(const struct hist_named *named)
{
	return named->what != NP_STR_NONE || named->host != NP_STR_NONE;
}

bool hist_named_same(const struct hist_named *a, const struct hist_named *b)
{
	return a->what == b->what && a->host == b->host && a->device == b->device;
}
