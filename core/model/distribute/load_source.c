/* SPDX-License-Identifier: Apache-2.0 */
/* Loads one rank by whatever is nearest: a summary, a cached one or its files. */
#include "load_source.h"

#include "npuprof/load.h"
#include "npuprof/rank.h"

/*
 * What a rank needs while it is read grows with its files, as the tasks of a step
 * are held until the step is measured: measured, 0.45 bytes for each byte of a
 * database, and less for text.
 */
#define FILE_BYTES_PER_BYTE 2

void load_gate_init(struct load_gate *gate, int64_t most)
{
	*gate = (struct load_gate){ .lock = PTHREAD_MUTEX_INITIALIZER,
				    .left = PTHREAD_COND_INITIALIZER,
				    .most = most };
}

void load_gate_release(struct load_gate *gate)
{
	(void)pthread_cond_destroy(&gate->left);
	(void)pthread_mutex_destroy(&gate->lock);
}

static int64_t expected_memory(const struct np_source_files *source)
{
	return source->bytes / FILE_BYTES_PER_BYTE;
}

void load_gate_enter(struct load_gate *gate, const struct np_source_files *source)
{
	int64_t needed = expected_memory(source);

	if (gate->most == 0)
		return;
	(void)pthread_mutex_lock(&gate->lock);
	while (gate->ranks > 0 && gate->inside + needed > gate->most)
		(void)pthread_cond_wait(&gate->left, &gate->lock);
	gate->inside += needed;
	gate->ranks++;
	(void)pthread_mutex_unlock(&gate->lock);
}

void load_gate_leave(struct load_gate *gate, const struct np_source_files *source)
{
	if (gate->most == 0)
		return;
	(void)pthread_mutex_lock(&gate->lock);
	gate->inside -= expected_memory(source);
	gate->ranks--;
	(void)pthread_cond_broadcast(&gate->left);
	(void)pthread_mutex_unlock(&gate->lock);
}

/* --- summaries ----------------------------------------------------------------------------------
 */

/* The rank of a summary, or what it says of why there is none. */
static void take_summary(struct np_summary *summary, struct load_outcome *ret)
{
	if (summary->rank)
		ret->rank = NP_STEAL(summary->rank);
	else
		(void)np_fail(&ret->err, summary->failure, "%s", summary->failure_text);
	np_summary_release(summary);
}

static void load_summary(const struct np_source_files *source, struct np_strtab *strings,
			 struct load_outcome *ret)
{
	struct np_summary summary = { 0 };

	if (np_summary_read_source(source, strings, &summary, &ret->err) == NP_OK)
		take_summary(&summary, ret);
}

/* What failed may succeed the next time: only ranks are taken. */
static bool take_cached(const char *path, uint64_t key, struct np_strtab *strings,
			struct load_outcome *ret, struct np_err *why_not)
{
	struct np_summary summary = { 0 };

	if (np_summary_read_file(path, strings, &summary, why_not) < 0)
		return false;
	if (summary.key == key && summary.rank) {
		take_summary(&summary, ret);
		ret->cached = true;
		return true;
	}
	if (summary.key != key)
		(void)np_fail(why_not, NP_E_RANGE,
			      "the summary '%s' is of other files, or of an older version of them",
			      path);
	np_summary_release(&summary);
	return false;
}

static void load_files(const struct np_source_files *source, struct np_strtab *strings,
		       struct load_outcome *ret)
{
	if (np_load_rank(source, strings, &ret->rank, &ret->err) == NP_OK &&
	    np_rank_share_members(ret->rank, strings, &ret->err) < 0)
		np_rank_freep(&ret->rank);
}

static void load_cached(const struct np_load_options *options, const struct np_source_files *source,
			struct np_strtab *strings, struct load_outcome *ret)
{
	/* Before reading: what changes meanwhile must not look fresh. */
	struct np_summary summary = { .key = np_summary_key(source, options->program),
				      .source = *source };
	char *path = np_summary_path(options->cache, source);
	struct np_err why_not = NP_ERR_INIT;

	if (!path) {
		(void)np_fail_nomem(&ret->cache, source->dir);
		load_files(source, strings, ret);
		return;
	}
	if (!take_cached(path, summary.key, strings, ret, &why_not)) {
		load_files(source, strings, ret);
		summary.rank = ret->rank;
		summary.failure = ret->err.code;
		summary.failure_text = ret->rank ? NULL : ret->err.text;
		if (asprintf(&summary.program, "%s", options->program) >= 0) {
			(void)!np_summary_write_file(path, &summary, strings, &ret->cache);
			free(summary.program);
		}
		/* After writing: it is about the summary that is gone. */
		if (ret->rank && why_not.code != NP_OK && why_not.code != NP_E_NOTFOUND)
			np_note_add(&ret->rank->notes, NP_NOTE_WARNING, source->rank, source->dir,
				    "summary", "%s: the profile was read again", why_not.text);
	}
	free(path);
}

void load_source(const struct np_load_options *options, const struct np_source_files *source,
		 struct np_strtab *strings, struct load_outcome *ret)
{
	if (source->summary)
		load_summary(source, strings, ret);
	else if (options->cache)
		load_cached(options, source, strings, ret);
	else
		load_files(source, strings, ret);
}

void load_pack(const struct np_load_options *options, struct load_outcome *outcome)
{
	struct np_rank *rank = outcome->rank;
	int rc = NP_OK;

	if (!rank)
		return;
	if (options->rows == NP_ROWS_PACKED)
		rc = np_rank_pack_rows(rank, &outcome->err);
	else if (options->rows == NP_ROWS_COUNTED)
		rc = np_rank_count_rows(rank, 0, &outcome->err);
	if (rc == NP_OK && rank->kernel_sums) {
		rc = np_kernel_sums_pack(rank->kernel_sums, &rank->packed_sums, &outcome->err);
		if (rc == NP_OK)
			np_kernel_sums_freep(&rank->kernel_sums);
	}
	if (rc < 0)
		np_rank_freep(&outcome->rank);
}
