/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank from all of its files
 * ------------------------------
 *
 * Several files of a rank may say the same. They are asked in the order below and
 * the first that has a quantity wins; the others are compared with it. Files
 * that are large and would only be compared are not read.
 */
#include "npuprof/load.h"

#include "core/model/load/capture/comm_steps.h"
#include "core/model/load/db/load_rank_db.h"
#include "core/model/load/text/text_files.h"
#include "core/model/load/trace/load_trace.h"
#include "coverage.h"
#include "join_rank.h"

#include "npuprof/buf.h"

typedef int reader(struct np_rank *rank, const struct np_source_files *source,
		   struct np_strtab *strings, struct np_err *err);

/* Times are by device as the file has them: every new one adds to the count. */
static void count_devices(struct np_rank *rank)
{
	rank->device_count = 0;
	for (size_t i = 0; i < rank->times.count; i++) {
		bool seen = rank->times.item[i].device < 0;

		for (size_t j = 0; j < i && !seen; j++)
			seen = rank->times.item[j].device == rank->times.item[i].device;
		rank->device_count += !seen;
	}
}

/* Put what a file derived into the form that readers of tasks leave behind. */
static int finish_derived(struct np_rank *rank, const struct np_strtab *strings, struct np_err *err)
{
	int rc = np_load_sort_ops(rank, strings, NULL, err);

	if (rc == NP_OK)
		rc = np_load_comm_steps(rank, err);
	count_devices(rank);
	return rc;
}

static int read_rank_db(struct np_rank *rank, const struct np_source_files *source,
			struct np_strtab *strings, struct np_err *err)
{
	np_kernel_framework_op *framework_op = source->kernel_framework_op;

	enum np_rank_db_way way = framework_op                    ? NP_RANK_DB_AT_ONCE
				  : source->part == NP_LOAD_TIMES ? NP_RANK_DB_TIMES
								  : NP_RANK_DB_IN_PARTS;

	return np_load_rank_db(rank, source->file[NP_FILE_RANK_DB], way, &source->steps,
			       framework_op, strings, err);
}

static int read_whole_rank_db(struct np_rank *rank, const struct np_source_files *source,
			      struct np_strtab *strings, struct np_err *err)
{
	return np_load_rank_db(rank, source->file[NP_FILE_RANK_DB], NP_RANK_DB_AT_ONCE,
			       &source->steps, source->kernel_framework_op, strings, err);
}

static int read_analysis_db(struct np_rank *rank, const struct np_source_files *source,
			    struct np_strtab *strings, struct np_err *err)
{
	const char *path = source->file[NP_FILE_ANALYSIS_DB];
	int rc = np_load_analysis_db(rank, path, strings, err);

	if (rc == NP_OK && rank->times.count == 0 && rank->ops.count == 0)
		rc = np_fail(err, NP_E_NOTFOUND, "'%s' holds neither step times nor operators",
			     path);
	return rc < 0 ? rc : finish_derived(rank, strings, err);
}

static int read_cluster_db(struct np_rank *rank, const struct np_source_files *source,
			   struct np_strtab *strings, struct np_err *err)
{
	int rc = np_load_cluster_db(rank, source->file[NP_FILE_CLUSTER_DB], strings, err);

	return rc < 0 ? rc : finish_derived(rank, strings, err);
}

static int read_trace(struct np_rank *rank, const struct np_source_files *source,
		      struct np_strtab *strings, struct np_err *err)
{
	return source->kind == NP_KIND_MSMONITOR ? np_load_monitor(rank, source, strings, err)
						 : np_load_trace(rank, source, strings, err);
}

static int read_kernels(struct np_rank *rank, const struct np_source_files *source,
			struct np_strtab *strings, struct np_err *err)
{
	return np_load_kernels(rank, source->file[NP_FILE_KERNELS], &source->steps, strings, err);
}

static int read_step_trace(struct np_rank *rank, const struct np_source_files *source,
			   struct np_strtab *strings, struct np_err *err)
{
	int rc = np_load_step_trace(rank, source->file[NP_FILE_STEP_TRACE], strings, err);

	return rc < 0 ? rc : finish_derived(rank, strings, err);
}

static int read_communication(struct np_rank *rank, const struct np_source_files *source,
			      struct np_strtab *strings, struct np_err *err)
{
	int rc = np_load_communication(rank, source->file[NP_FILE_COMM],
				       source->file[NP_FILE_COMM_MATRIX],
				       source->kind == NP_KIND_CLUSTER, strings, err);

	return rc < 0 ? rc : finish_derived(rank, strings, err);
}

static const struct {
	enum np_file file;
	reader *read;
	bool large;    /* read only where something is missing */
	reader *again; /* where the first one failed; NULL for nobody */
} readers[] = {
	{ NP_FILE_RANK_DB, read_rank_db, true, read_whole_rank_db },
	{ NP_FILE_ANALYSIS_DB, read_analysis_db, false, NULL },
	{ NP_FILE_CLUSTER_DB, read_cluster_db, false, NULL },
	{ NP_FILE_TRACE, read_trace, true, NULL },
	{ NP_FILE_KINETO, np_load_kineto, true, NULL },
	{ NP_FILE_KERNELS, read_kernels, true, NULL },
	{ NP_FILE_STEP_TRACE, read_step_trace, false, NULL },
	{ NP_FILE_COMM, read_communication, false, NULL },
};

/* A reader that saw the tasks saw the operators too: if it found none there are none. */
static bool saw_tasks(const struct np_rank *rank)
{
	return rank->step_source == NP_FROM_RANK_DB || rank->step_source == NP_FROM_TRACE;
}

static bool misses_something(const struct np_rank *rank)
{
	if (rank->times.count == 0)
		return true;
	if (rank->ops.count == 0)
		return !saw_tasks(rank);
	return rank->exposed_source == NP_FROM_NOTHING;
}

/* A rank to read a further file into: it knows the communicators that the metadata names. */
static struct np_rank *sibling(const struct np_rank *rank, struct np_err *err)
{
	struct np_rank *fresh = np_rank_new(rank->id, rank->path);

	if (!fresh) {
		(void)np_fail_nomem(err, rank->path);
		return NULL;
	}
	for (size_t i = 0; i < rank->groups.count; i++) {
		struct np_group *group = np_vec_add(&fresh->groups, err);

		if (!group) {
			np_rank_free(fresh);
			return NULL;
		}
		/* Members stay in the arena of the first rank, which lives longer. */
		*group = rank->groups.item[i];
	}
	return fresh;
}

static int read_file(struct np_rank *rank, size_t index, const struct np_source_files *source,
		     struct np_strtab *strings, struct load_coverage *coverage,
		     struct np_err *problem, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *fresh = sibling(rank, err);
	int rc;

	if (!fresh)
		return NP_E_NOMEM;
	rc = readers[index].read(fresh, source, strings, problem);
	if (rc < 0 && rc != NP_E_NOMEM && readers[index].again) {
		*problem = NP_ERR_INIT;
		np_rank_freep(&fresh);
		fresh = sibling(rank, err);
		if (!fresh)
			return NP_E_NOMEM;
		rc = readers[index].again(fresh, source, strings, problem);
	}
	if (rc == NP_E_NOMEM)
		return np_fail(err, NP_E_NOMEM, "%s", problem->text);
	if (rc < 0) {
		coverage->unreadable[readers[index].file] = true;
		return NP_OK;
	}
	/* A table that is not there has left its words, but it is no problem. */
	*problem = NP_ERR_INIT;
	rc = load_coverage_see(coverage, readers[index].file, fresh, strings, err);
	if (rc < 0)
		return rc;
	if (coverage->seen[readers[index].file]->serving > rank->serving)
		rank->serving = coverage->seen[readers[index].file]->serving;
	return np_load_join(rank, fresh, source->file[readers[index].file], strings, err);
}

static bool has_something(const struct np_rank *rank)
{
	return rank->times.count > 0 || rank->ops.count > 0;
}

/* What could not be read matters less if another file has the same; both are noted. */
static void note_problems(struct np_rank *rank, const struct np_source_files *source,
			  const struct np_err *problems)
{
	for (size_t i = 0; i < NP_COUNT(readers); i++) {
		enum np_file file = readers[i].file;

		if (problems[i].code == NP_OK)
			continue;
		np_note_add(&rank->notes, NP_NOTE_SKIPPED, rank->id, source->file[file],
			    np_file_name(file), "%s; used instead: %s", problems[i].text,
			    np_source_name(rank->step_source != NP_FROM_NOTHING
						   ? rank->step_source
						   : rank->comm_source));
	}
}

/* Nothing could be read: say of every file why. */
static int fail_with_all(const struct np_err *problems, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf all = NP_BUF_INIT;
	enum np_code code = NP_OK;

	for (size_t i = 0; i < NP_COUNT(readers); i++) {
		if (problems[i].code == NP_OK)
			continue;
		np_buf_printf(&all, "%s%s", code == NP_OK ? "" : "; ", problems[i].text);
		if (code == NP_OK)
			code = problems[i].code;
	}
	if (code == NP_OK)
		return np_fail(err, NP_E_NOTFOUND, "no file of a profile");
	return np_fail(err, code, "%s", all.text);
}

/* Read what is not in `without`, bits of files. */
static int read_files(struct np_rank *rank, const struct np_source_files *source, uint32_t without,
		      struct np_strtab *strings, struct load_coverage *coverage, struct np_err *err)
{
	struct np_err problems[NP_COUNT(readers)] = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(readers) && rc == NP_OK; i++) {
		if (!source->file[readers[i].file] || (without & 1U << readers[i].file) ||
		    (readers[i].large && !misses_something(rank)))
			continue;
		rc = read_file(rank, i, source, strings, coverage, &problems[i], err);
	}
	if (rc < 0)
		return rc;
	if (!has_something(rank))
		return fail_with_all(problems, err);
	note_problems(rank, source, problems);
	if (source->file[NP_FILE_MEMORY_RECORD] || source->file[NP_FILE_OPERATOR_MEMORY] ||
	    source->file[NP_FILE_MODULE_MEMORY])
		rank->contents |= NP_HAS_MEMORY;
	return NP_OK;
}

static int take_host(struct np_rank *rank, const struct np_source_files *source,
		     struct np_strtab *strings, struct np_err *err)
{
	int rc;

	if (rank->device < 0)
		rank->device = np_device_of(source->device);
	if (rank->host_uid != NP_STR_NONE || !source->host)
		return NP_OK;
	rc = np_strtab_add(strings, source->host, strlen(source->host), &rank->host_uid, err);
	rank->host_name = rank->host_uid;
	return rc;
}

/* What the vendor's statistic says of kernels. */
static void sum_statistic(const struct np_rank *rank, struct load_coverage *coverage)
{
	coverage->statistic = rank->kernels.count ? 0 : NP_UNKNOWN;
	for (size_t i = 0; i < rank->kernels.count; i++) {
		coverage->statistic += rank->kernels.item[i].total;
		coverage->statistic_count += rank->kernels.item[i].count;
	}
}

/* A rank from its files but those in `without`. */
static int load_without(const struct np_source_files *source, uint32_t without,
			struct np_strtab *strings, struct load_coverage *coverage,
			struct np_rank **ret, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = np_rank_new(source->rank, source->dir);
	bool counted;
	int rc;

	if (!rank)
		return np_fail_nomem(err, source->dir);
	rc = np_load_metadata(rank, source, strings, err);
	if (rc == NP_OK)
		rc = read_files(rank, source, without, strings, coverage, err);
	counted = rank->kernels.count > 0;
	if (rc == NP_OK)
		rc = np_load_statistics(rank, source, strings, err);
	coverage->statistic = NP_UNKNOWN;
	if (rc == NP_OK && !counted)
		sum_statistic(rank, coverage);
	if (rc == NP_OK)
		rc = np_load_memory(rank, source, strings, err);
	if (rc == NP_OK && !(without & 1U << NP_FILE_KERNELS))
		rc = np_load_experts(rank, source, strings, err);
	if (rc == NP_OK)
		rc = take_host(rank, source, strings, err);
	if (rc == NP_OK)
		*ret = NP_STEAL(rank);
	return rc;
}

/* Nothing else has the steps of a partial file: of these nothing is known. */
static void forget_times(const struct np_source_files *source, struct np_rank *rank)
{
	np_vec_release(&rank->times);
	np_vec_release(&rank->experts);
	if (!source->file[NP_FILE_OP_STATISTIC])
		np_vec_release(&rank->kernels);
	np_activity_release(&rank->activity);
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		rank->comm_steps.item[i].exposed = NP_UNKNOWN;
		rank->comm_steps.item[i].overlapped = NP_UNKNOWN;
	}
	rank->step_source = NP_FROM_NOTHING;
	rank->exposed_source = NP_FROM_NOTHING;
}

/* The rank again without its partial files; their coverage stays. */
static int load_rest(const struct np_source_files *source, uint32_t without,
		     struct np_strtab *strings, struct np_rank **rank, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rest = NULL;
	struct load_coverage coverage = { 0 };
	struct np_err problem = NP_ERR_INIT;
	int rc = load_without(source, without, strings, &coverage, &rest, &problem);

	load_coverage_release(&coverage);
	if (rc == NP_E_NOMEM)
		return np_fail(err, rc, "%s", problem.text);
	if (rc < 0) {
		forget_times(source, *rank);
		return NP_OK;
	}
	memcpy(&rest->coverage, &(*rank)->coverage, sizeof(rest->coverage));
	memset(&(*rank)->coverage, 0, sizeof((*rank)->coverage));
	np_rank_free(*rank);
	*rank = NP_STEAL(rest);
	return NP_OK;
}

/* A rank with nothing but its operators; NULL where its files do not have them by themselves. */
static int load_operators(const struct np_source_files *source, struct np_strtab *strings,
			  struct np_rank **ret, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = NULL;
	struct np_err problem = NP_ERR_INIT;
	int rc;

	*ret = NULL;
	if (source->part != NP_LOAD_OPERATORS || !source->file[NP_FILE_RANK_DB] ||
	    source->kernel_framework_op)
		return NP_OK;
	rank = np_rank_new(source->rank, source->dir);
	if (!rank)
		return np_fail_nomem(err, source->dir);
	rc = np_load_metadata(rank, source, strings, &problem);
	if (rc == NP_OK)
		rc = np_load_rank_db_operators(rank, source->file[NP_FILE_RANK_DB], strings,
					       &problem);
	if (rc == NP_OK)
		rc = take_host(rank, source, strings, &problem);
	if (rc == NP_E_NOMEM)
		return np_fail(err, rc, "%s", problem.text);
	/* What is wrong with it is said best when it is read as a whole. */
	if (rc == NP_OK)
		*ret = NP_STEAL(rank);
	return NP_OK;
}

int np_load_rank(const struct np_source_files *source, struct np_strtab *strings,
		 struct np_rank **ret, struct np_err *err)
{
	NP_CLEANUP(np_rank_freep) struct np_rank *rank = NULL;
	struct load_coverage coverage = { 0 };
	struct np_notes notes = { 0 };
	uint32_t partial = 0;
	int rc = load_operators(source, strings, ret, err);

	if (rc < 0 || *ret)
		return rc;
	rc = load_without(source, 0, strings, &coverage, &rank, err);
	if (rc == NP_OK)
		rc = load_coverage_judge(&coverage, source, strings, rank, &notes, &partial, err);
	if (rc == NP_OK && (partial & coverage.read))
		rc = load_rest(source, partial, strings, &rank, err);
	if (rc == NP_OK)
		np_notes_move(&rank->notes, &notes);
	np_notes_release(&notes);
	load_coverage_release(&coverage);
	if (rc < 0)
		return rc;
	if (rank->device_count > 1)
		np_note_add(
			&rank->notes, NP_NOTE_WARNING, rank->id, rank->path, "devices",
			"has tasks of %zu devices: steps are measured on each of them, operators are"
			" matched over ranks as if they were of one",
			rank->device_count);
	np_rank_forget_places(rank);
	*ret = NP_STEAL(rank);
	return NP_OK;
}
