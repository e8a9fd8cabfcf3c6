/* SPDX-License-Identifier: Apache-2.0 */
/* The matching of a run: a job for each communicator, and one list of what the jobs have found. */
#include "npuprof/align.h"

#include "align_job.h"

#include <assert.h>

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
	np_peers_free(align->peers);
	free(align);
}

void np_align_freep(struct np_align **align)
{
	np_align_free(*align);
	*align = NULL;
}

static void release_build(struct align_build *build)
{
	for (size_t i = 0; build->jobs && i < build->align->communicators.count; i++) {
		np_vec_release(&build->jobs[i].instances);
		np_vec_release(&build->jobs[i].findings);
	}
	np_communicators_release(&build->communicators);
	free(build->rows);
	free(build->ops);
	free(build->row_ops);
	free(build->jobs);
	free(build->errs);
}

/* --- rows ------------------------------------------------------------------------------------- */

static int count_ops(struct align_build *build)
{
	const struct np_run *run = build->run;
	size_t ops = 0;

	build->align->rank_first = malloc((run->sources.count + 1) * sizeof(uint32_t));
	if (!build->align->rank_first)
		return np_fail_nomem(build->err, "matching of operators");
	for (size_t i = 0; i < run->sources.count; i++) {
		build->align->rank_first[i] = (uint32_t)ops;
		ops += run->ranks[i] ? run->ranks[i]->ops.count : 0;
		if (ops >= UINT32_MAX)
			return np_fail(build->err, NP_E_RANGE,
				       "more communication operators than can be matched");
	}
	build->align->rank_first[run->sources.count] = (uint32_t)ops;
	build->align->op_count = (uint32_t)ops;
	return NP_OK;
}

static int add_communicators(struct align_build *build)
{
	struct np_align *align = build->align;
	const struct np_communicators *merged = &build->communicators;
	uint32_t rows = 0;
	uint32_t slots = 0;

	for (size_t i = 0; i < merged->list.count; i++) {
		const struct np_merged_group *group = &merged->list.item[i];
		struct np_align_communicator *communicator =
			np_vec_add(&align->communicators, build->err);

		if (!communicator)
			return NP_E_NOMEM;
		*communicator = (struct np_align_communicator){ .hash = group->hash,
								.members = group->members,
								.member_count = group->member_count,
								.size = group->size,
								.ops = group->ops,
								.sizes = group->sizes,
								.size_known = group->size_known,
								.coverage = rows,
								.first_slot = slots };
		for (uint32_t j = 0; j < group->observed; j++) {
			if (!np_vec_add(&align->coverage, build->err))
				return NP_E_NOMEM;
		}
		rows += group->observed;
		slots += group->ops;
	}
	return NP_OK;
}

/* A row of the coverage for each group of each rank that has operators. */
static int add_rows(struct align_build *build)
{
	struct np_align *align = build->align;
	const struct np_run *run = build->run;
	int rc = add_communicators(build);

	build->rows =
		malloc((build->communicators.first[run->sources.count] + 1) * sizeof(*build->rows));
	if (rc == NP_OK && !build->rows)
		rc = np_fail_nomem(build->err, "matching of operators");
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		for (size_t j = build->communicators.first[i];
		     j < build->communicators.first[i + 1]; j++) {
			const struct np_group_use *use = &build->communicators.uses[j];
			struct np_align_communicator *communicator;

			if (use->ops == 0)
				continue;
			communicator = &align->communicators.item[use->communicator];
			build->rows[j] = communicator->coverage + communicator->observed++;
			/* Until it is matched, the total is that of the lists. */
			align->coverage.item[build->rows[j]] =
				(struct np_coverage){ .communicator = use->communicator,
						      .rank = (uint32_t)i,
						      .total = use->ops };
		}
	}
	return rc;
}

/* Where the operators of each row are listed. */
static int index_rows(struct align_build *build)
{
	struct np_align *align = build->align;
	uint32_t first = 0;

	build->row_ops = malloc((align->coverage.count + 1) * sizeof(uint32_t));
	build->ops = malloc(((size_t)align->op_count + 1) * sizeof(uint32_t));
	if (!build->row_ops || !build->ops)
		return np_fail_nomem(build->err, "matching of operators");
	for (size_t i = 0; i < align->coverage.count; i++) {
		build->row_ops[i] = first;
		first += align->coverage.item[i].total;
	}
	build->row_ops[align->coverage.count] = first;
	return NP_OK;
}

/* A job: list the operators of one rank in its rows. */
static void list_ops(void *context, size_t index)
{
	struct align_build *build = context;
	const struct np_rank *rank = build->run->ranks[index];
	struct np_group_use *uses = np_communicators_of(&build->communicators, index);
	const uint32_t *rows = &build->rows[build->communicators.first[index]];

	/* How many there are is known by now: the place of the next one stands there instead. */
	for (size_t i = 0; rank && i < rank->groups.count; i++)
		uses[i].ops = uses[i].ops ? build->row_ops[rows[i]] : 0;
	for (size_t i = 0; rank && i < rank->ops.count; i++)
		build->ops[uses[rank->ops.item[i].group].ops++] = (uint32_t)i;
}

/* --- jobs ------------------------------------------------------------------------------------- */

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
	for (size_t i = 0; i < job->coverage_count; i++)
		job->coverage[i] = (struct np_coverage){ .communicator = (uint32_t)index,
							 .rank = job->coverage[i].rank };
	if (align_match_communicator(build, job) < 0)
		return;
	for (uint32_t i = 0; i < communicator->ops; i++) {
		const struct np_member *member = &job->members[i];

		align->slots[align->rank_first[member->rank] + member->op] =
			communicator->first_slot + i;
	}
}

static int first_error(const struct align_build *build)
{
	for (size_t i = 0; i < build->align->communicators.count; i++) {
		if (build->errs[i].code != NP_OK)
			return np_fail(build->err, build->errs[i].code, "%s", build->errs[i].text);
	}
	return NP_OK;
}

static int add_jobs(struct align_build *build)
{
	size_t count = build->align->communicators.count;

	build->jobs = calloc(count + 1, sizeof(*build->jobs));
	build->errs = calloc(count + 1, sizeof(*build->errs));
	return build->jobs && build->errs ? NP_OK
					  : np_fail_nomem(build->err, "matching of operators");
}

static int match_all(struct align_build *build)
{
	struct np_align *align = build->align;

	align->members = malloc(((size_t)align->op_count + 1) * sizeof(*align->members));
	align->slots = malloc(((size_t)align->op_count + 1) * sizeof(*align->slots));
	if (!align->members || !align->slots)
		return np_fail_nomem(build->err, "matching of operators");
	if (add_jobs(build) < 0)
		return NP_E_NOMEM;
	np_workers_run(&build->workers, build->run->sources.count, list_ops, build);
	np_workers_run(&build->workers, align->communicators.count, match_one, build);
	return first_error(build);
}

/* --- one list of instances -------------------------------------------------------------------- */

static int add_finding(struct np_align *align, const struct np_align_finding *from, uint32_t first,
		       struct np_err *err)
{
	struct np_align_finding *finding = np_vec_add(&align->findings, err);

	if (!finding)
		return NP_E_NOMEM;
	*finding = *from;
	finding->instance += first;
	return NP_OK;
}

/* Append what a job has found; its slots become those of the run. */
static int take_job(struct np_align *align, struct np_align_communicator *communicator,
		    struct align_job *job, struct np_err *err)
{
	uint32_t first = (uint32_t)align->instances.count;
	int rc = NP_OK;

	communicator->first = first;
	communicator->count = (uint32_t)job->instances.count;
	for (size_t i = 0; i < job->instances.count; i++) {
		struct np_instance *instance = &align->instances.item[first + i];

		*instance = job->instances.item[i];
		instance->first += communicator->first_slot;
		if (instance->root != NP_NO_ROOT)
			instance->root += communicator->first_slot;
	}
	align->instances.count += job->instances.count;
	for (size_t i = 0; i < job->findings.count && rc == NP_OK; i++)
		rc = add_finding(align, &job->findings.item[i], first, err);
	np_vec_release(&job->instances);
	return rc;
}

/* Append what the lists held before of a communicator that was not matched again. */
static int take_old(struct np_align *align, uint32_t index, const struct np_align *old,
		    struct np_err *err)
{
	struct np_align_communicator *communicator = &align->communicators.item[index];
	uint32_t first = (uint32_t)align->instances.count;
	uint32_t moved = first - communicator->first; /* modulo 2^32, as the sums below */
	int rc = NP_OK;

	memcpy(&align->instances.item[first], &old->instances.item[communicator->first],
	       communicator->count * sizeof(struct np_instance));
	align->instances.count += communicator->count;
	communicator->first = first;
	for (size_t i = 0; i < old->findings.count && rc == NP_OK; i++) {
		if (old->findings.item[i].communicator == index)
			rc = add_finding(align, &old->findings.item[i], moved, err);
	}
	return rc;
}

static int make_room(struct np_align *align, size_t total, struct np_err *err)
{
	align->instances.count = 0;
	align->instances.capacity = total + 1;
	align->instances.item = malloc((total + 1) * sizeof(*align->instances.item));
	return align->instances.item ? NP_OK : np_fail_nomem(err, "matching of operators");
}

/*
 * Put the instances of all communicators behind each other: of those that had a job
 * what it found, of the others what `old` has.
 */
static int join(struct align_build *build, const struct np_align *old)
{
	struct np_align *align = build->align;
	size_t total = 0;
	int rc;

	for (size_t i = 0; i < align->communicators.count; i++)
		total += build->jobs[i].align ? build->jobs[i].instances.count
					      : align->communicators.item[i].count;
	rc = make_room(align, total, build->err);
	for (uint32_t i = 0; i < align->communicators.count && rc == NP_OK; i++)
		rc = build->jobs[i].align ? take_job(align, &align->communicators.item[i],
						     &build->jobs[i], build->err)
					  : take_old(align, i, old, build->err);
	align->matched = 0;
	for (size_t i = 0; i < align->coverage.count; i++)
		align->matched += align->coverage.item[i].matched;
	return rc;
}

/* Slots are handed out in the order of the instances. */
static int index_instances(struct np_align *align, struct np_err *err)
{
	size_t at = 0;

	free(align->near);
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
	rc = count_ops(&build);
	if (rc == NP_OK)
		rc = np_communicators_merge(run, threads, &build.communicators, err);
	if (rc == NP_OK)
		rc = add_rows(&build);
	if (rc == NP_OK)
		rc = index_rows(&build);
	if (rc == NP_OK)
		rc = match_all(&build);
	if (rc == NP_OK)
		rc = join(&build, NULL);
	if (rc == NP_OK)
		rc = index_instances(align, err);
	release_build(&build);
	if (rc < 0)
		return rc;
	*ret = NP_STEAL(align);
	return NP_OK;
}

/* --- peers ------------------------------------------------------------------------------------ */

struct np_peers *np_peers_new(const struct np_run *run)
{
	struct np_peers *peers = calloc(1, sizeof(*peers));

	if (peers) {
		peers->run = run;
		peers->of_rank = calloc(run->sources.count + 1, sizeof(*peers->of_rank));
	}
	if (!peers || !peers->of_rank) {
		np_peers_free(peers);
		return NULL;
	}
	return peers;
}

void np_peers_free(struct np_peers *peers)
{
	if (!peers)
		return;
	for (size_t i = 0; peers->of_rank && i < peers->run->sources.count; i++)
		free(peers->of_rank[i]);
	free(peers->of_rank);
	free(peers);
}

void np_peers_freep(struct np_peers **peers)
{
	np_peers_free(*peers);
	*peers = NULL;
}

int np_peers_set(struct np_peers *peers, size_t rank, size_t op, uint16_t peer, struct np_err *err)
{
	uint16_t **own = &peers->of_rank[rank];

	assert(op < peers->run->ranks[rank]->ops.count && peer != NP_PEERS);
	if (!*own)
		*own = calloc(peers->run->ranks[rank]->ops.count, sizeof(**own));
	if (!*own)
		return np_fail_nomem(err, "peers of messages");
	(*own)[op] = peer;
	return NP_OK;
}

/* What is matched again. */
struct again {
	struct align_build *build;
	NP_VEC(uint32_t) list; /* communicators */
};

/* The communicators with a message whose other end was found, in their order. */
static int list_found(struct again *again)
{
	const struct np_align *align = again->build->align;
	bool *found = calloc(align->communicators.count + 1, sizeof(*found));
	int rc = found ? NP_OK : np_fail_nomem(again->build->err, "peers of messages");

	for (size_t i = 0; i < align->run->sources.count && rc == NP_OK; i++) {
		const uint16_t *own = align->peers->of_rank[i];

		for (size_t j = 0; own && j < align->run->ranks[i]->ops.count; j++) {
			if (own[j] != 0)
				found[np_align_instance(align, np_align_slot(align, i, j))
					      ->communicator] = true;
		}
	}
	for (uint32_t i = 0; i < align->communicators.count && rc == NP_OK; i++) {
		uint32_t *slot = found[i] ? np_vec_add(&again->list, again->build->err) : NULL;

		if (slot)
			*slot = i;
		else if (found[i])
			rc = NP_E_NOMEM;
	}
	free(found);
	return rc;
}

/* The slots of a communicator say which operators are its own. */
static void list_again(void *context, size_t index)
{
	const struct again *again = context;
	const struct align_build *build = again->build;
	const struct np_align *align = build->align;
	const struct np_align_communicator *communicator =
		&align->communicators.item[again->list.item[index]];

	for (uint32_t i = 0; i < communicator->observed; i++) {
		uint32_t row = communicator->coverage + i;
		uint32_t rank = align->coverage.item[row].rank;
		uint32_t to = build->row_ops[row];

		for (uint32_t j = 0; j < align->run->ranks[rank]->ops.count; j++) {
			if (np_align_slot(align, rank, j) - communicator->first_slot <
			    communicator->ops)
				build->ops[to++] = j;
		}
		assert(to == build->row_ops[row + 1]);
	}
}

static void match_again(void *context, size_t index)
{
	const struct again *again = context;

	match_one(again->build, again->list.item[index]);
}

static int join_again(struct align_build *build)
{
	struct np_align *align = build->align;
	struct np_align old = { .instances.item = align->instances.item };
	int rc;

	old.findings.item = align->findings.item;
	old.findings.count = align->findings.count;
	align->findings.item = NULL;
	align->findings.count = 0;
	align->findings.capacity = 0;
	rc = join(build, &old);
	free(old.instances.item);
	free(old.findings.item);
	return rc;
}

int np_align_set_peers(struct np_align *align, struct np_peers *peers, size_t threads,
		       struct np_err *err)
{
	struct align_build build = { .align = align, .run = align->run, .err = err };
	struct again again = { .build = &build };
	int rc;

	assert(!align->peers);
	align->peers = peers;
	build.workers.threads = threads;
	rc = list_found(&again);
	if (rc == NP_OK && again.list.count > 0) {
		rc = index_rows(&build);
		if (rc == NP_OK)
			rc = add_jobs(&build);
		if (rc == NP_OK) {
			np_workers_run(&build.workers, again.list.count, list_again, &again);
			np_workers_run(&build.workers, again.list.count, match_again, &again);
			rc = first_error(&build);
		}
		if (rc == NP_OK)
			rc = join_again(&build);
		if (rc == NP_OK)
			rc = index_instances(align, err);
	}
	np_vec_release(&again.list);
	release_build(&build);
	return rc;
}

/* --- what sub-tasks tell ---------------------------------------------------------------------- */

np_ns np_align_transfer(const struct np_align *align, const struct np_instance *instance)
{
	np_ns most = NP_UNKNOWN;

	if (instance->rule != NP_RULE_ALL)
		return NP_UNKNOWN;
	for (uint32_t i = instance->first; i < instance->first + instance->count; i++) {
		np_ns own = np_rank_length(align->run->ranks[align->members[i].rank],
					   np_align_op(align, i)->transfer);

		if (own != NP_UNKNOWN && own > 0 && (most == NP_UNKNOWN || own > most))
			most = own;
	}
	return most;
}

static bool all_have_tasks(const struct np_align *align, const struct np_instance *instance)
{
	for (uint32_t i = instance->first; i < instance->first + instance->count; i++) {
		if (np_align_op(align, i)->transfer == NP_LENGTH_UNKNOWN)
			return false;
	}
	return true;
}

bool np_align_hides_waits(const struct np_align *align, const struct np_instance *instance)
{
	const struct np_align_communicator *own =
		&align->communicators.item[instance->communicator];

	return own->observed < own->size && !np_instance_complete(instance) &&
	       !all_have_tasks(align, instance) && np_align_transfer(align, instance) == NP_UNKNOWN;
}
