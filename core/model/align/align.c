/* SPDX-License-Identifier: Apache-2.0 */
#include "align_private.h"

void np_align_free(struct np_align *align)
{
	if (!align)
		return;
	np_vec_release(&align->communicators);
	np_vec_release(&align->instances);
	np_vec_release(&align->coverage);
	np_vec_release(&align->findings);
	free(align->members);
	free(align->slots);
	free(align->near);
	free(align->rank_first);
	free(align);
}

void np_align_freep(struct np_align **align)
{
	np_align_free(*align);
	*align = NULL;
}

static void release_build(struct align_build *build)
{
	for (size_t i = 0; build->ranks && i < build->run->sources.count; i++) {
		free(build->ranks[i].ops);
		free(build->ranks[i].sizes);
		free(build->ranks[i].row);
	}
	for (size_t i = 0; build->jobs && i < build->align->communicators.count; i++) {
		np_vec_release(&build->jobs[i].instances);
		np_vec_release(&build->jobs[i].findings);
	}
	free(build->ranks);
	free(build->ops);
	free(build->row_ops);
	free(build->jobs);
	free(build->errs);
}

static void count_ops(void *context, size_t index)
{
	struct align_build *build = context;
	const struct np_rank *rank = build->run->ranks[index];
	struct align_groups *groups = &build->ranks[index];

	for (size_t i = 0; rank && i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		groups->ops[op->group]++;
		groups->sizes[op->group] |= op->bytes != NP_UNKNOWN;
	}
}

static int count_all(struct align_build *build)
{
	const struct np_run *run = build->run;
	size_t ops = 0;

	build->align->rank_first = malloc((run->sources.count + 1) * sizeof(uint32_t));
	build->ranks = calloc(run->sources.count + 1, sizeof(*build->ranks));
	if (!build->align->rank_first || !build->ranks)
		return np_fail_nomem(build->err, "matching of operators");
	for (size_t i = 0; i < run->sources.count; i++) {
		size_t groups = run->ranks[i] ? run->ranks[i]->groups.count + 1 : 1;
		struct align_groups *own = &build->ranks[i];

		build->align->rank_first[i] = (uint32_t)ops;
		ops += run->ranks[i] ? run->ranks[i]->ops.count : 0;
		if (ops >= UINT32_MAX)
			return np_fail(build->err, NP_E_RANGE,
				       "more communication operators than can be matched");
		own->ops = calloc(groups, sizeof(*own->ops));
		own->sizes = calloc(groups, sizeof(*own->sizes));
		own->row = calloc(groups, sizeof(*own->row));
		if (!own->ops || !own->sizes || !own->row)
			return np_fail_nomem(build->err, "matching of operators");
	}
	build->align->rank_first[run->sources.count] = (uint32_t)ops;
	build->align->op_count = (uint32_t)ops;
	np_workers_run(&build->workers, run->sources.count, count_ops, build);
	return NP_OK;
}

static void match_one(void *context, size_t index)
{
	struct align_build *build = context;
	struct np_align *align = build->align;
	const struct np_align_communicator *communicator = &align->communicators.item[index];
	struct align_job *job = &build->jobs[index];

	job->align = align;
	job->communicator = communicator;
	job->index = (uint32_t)index;
	job->members = &align->members[communicator->first_slot];
	job->coverage = &align->coverage.item[communicator->coverage];
	job->coverage_count = communicator->observed;
	job->err = &build->errs[index];
	if (align_match_communicator(build, job) < 0)
		return;
	for (uint32_t i = 0; i < communicator->ops; i++) {
		const struct np_member *member = &job->members[i];

		align->slots[align->rank_first[member->rank] + member->op] =
			communicator->first_slot + i;
	}
}

static int match_all(struct align_build *build)
{
	struct np_align *align = build->align;
	size_t count = align->communicators.count;

	align->members = malloc(((size_t)align->op_count + 1) * sizeof(*align->members));
	align->slots = malloc(((size_t)align->op_count + 1) * sizeof(*align->slots));
	build->jobs = calloc(count + 1, sizeof(*build->jobs));
	build->errs = calloc(count + 1, sizeof(*build->errs));
	if (!align->members || !align->slots || !build->jobs || !build->errs)
		return np_fail_nomem(build->err, "matching of operators");
	np_workers_run(&build->workers, build->run->sources.count, align_list_ops, build);
	np_workers_run(&build->workers, count, match_one, build);
	for (size_t i = 0; i < count; i++) {
		if (build->errs[i].code != NP_OK)
			return np_fail(build->err, build->errs[i].code, "%s", build->errs[i].text);
	}
	return NP_OK;
}

static int join_findings(struct np_align *align, const struct align_job *job, uint32_t first,
			 struct np_err *err)
{
	for (size_t i = 0; i < job->findings.count; i++) {
		struct np_align_finding *finding = np_vec_add(&align->findings, err);

		if (!finding)
			return NP_E_NOMEM;
		*finding = job->findings.item[i];
		finding->instance += first;
	}
	return NP_OK;
}

/* Put the instances of all jobs behind each other; slots become those of the run. */
static int join(struct align_build *build)
{
	struct np_align *align = build->align;
	size_t total = 0;
	size_t first = 0;
	int rc = NP_OK;

	for (size_t i = 0; i < align->communicators.count; i++)
		total += build->jobs[i].instances.count;
	align->instances.item = malloc((total + 1) * sizeof(*align->instances.item));
	if (!align->instances.item)
		return np_fail_nomem(build->err, "matching of operators");
	align->instances.count = total;
	align->instances.capacity = total + 1;
	for (size_t i = 0; i < align->communicators.count && rc == NP_OK; i++) {
		struct np_align_communicator *communicator = &align->communicators.item[i];
		struct align_job *job = &build->jobs[i];

		communicator->first = (uint32_t)first;
		communicator->count = (uint32_t)job->instances.count;
		for (size_t j = 0; j < job->instances.count; j++) {
			struct np_instance *instance = &align->instances.item[first + j];

			*instance = job->instances.item[j];
			instance->first += communicator->first_slot;
			if (instance->root != NP_NO_ROOT)
				instance->root += communicator->first_slot;
		}
		rc = join_findings(align, job, (uint32_t)first, build->err);
		first += job->instances.count;
		np_vec_release(&job->instances);
	}
	for (size_t i = 0; i < align->coverage.count; i++)
		align->matched += align->coverage.item[i].matched;
	return rc;
}

/* Slots are handed out in the order of the instances. */
static int index_instances(struct np_align *align, struct np_err *err)
{
	size_t at = 0;

	align->near = malloc(((size_t)align->op_count / NP_ALIGN_NEAR + 1) * sizeof(*align->near));
	if (!align->near)
		return np_fail_nomem(err, "matching of operators");
	for (uint32_t slot = 0; slot < align->op_count; slot += NP_ALIGN_NEAR) {
		while (slot - align->instances.item[at].first >= align->instances.item[at].count)
			at++;
		align->near[slot / NP_ALIGN_NEAR] = (uint32_t)at;
	}
	return NP_OK;
}

int np_align_build(const struct np_run *run, size_t threads, struct np_align **ret,
		   struct np_err *err)
{
	NP_CLEANUP(np_align_freep) struct np_align *align = calloc(1, sizeof(*align));
	struct align_build build = { .align = align, .run = run, .err = err };
	int rc;

	if (!align)
		return np_fail_nomem(err, "matching of operators");
	align->run = run;
	build.workers.threads = threads;
	rc = count_all(&build);
	if (rc == NP_OK)
		rc = align_find_communicators(&build);
	if (rc == NP_OK)
		rc = align_add_rows(&build);
	if (rc == NP_OK)
		rc = align_index_rows(&build);
	if (rc == NP_OK)
		rc = match_all(&build);
	if (rc == NP_OK)
		rc = join(&build);
	if (rc == NP_OK)
		rc = index_instances(align, err);
	release_build(&build);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(align);
	return NP_OK;
}
