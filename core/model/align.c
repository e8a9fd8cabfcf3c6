/* SPDX-License-Identifier: Apache-2.0 */
#include "align_private.h"

#include "npuprof/comm_tasks.h"
#include "npuprof/idmap.h"
#include "npuprof/workers.h"

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

/* --- types ------------------------------------------------------------------------------------ */

const char *np_rule_name(enum np_rule rule)
{
	static const char *const names[] = {
		[NP_RULE_ALL] = "all",           [NP_RULE_FROM_ROOT] = "from root",
		[NP_RULE_TO_ROOT] = "to root",   [NP_RULE_PAIR] = "pair",
		[NP_RULE_PAIRWISE] = "pairwise",
	};

	return names[rule];
}

enum np_rule np_rule_of(const char *type)
{
	static const struct {
		const char *class;
		enum np_rule rule;
	} rules[] = {
		{ "alltoallv", NP_RULE_PAIRWISE },  { "alltoallvc", NP_RULE_PAIRWISE },
		{ "broadcast", NP_RULE_FROM_ROOT }, { "scatter", NP_RULE_FROM_ROOT },
		{ "reduce", NP_RULE_TO_ROOT },      { "gather", NP_RULE_TO_ROOT },
		{ "send", NP_RULE_PAIR },           { "receive", NP_RULE_PAIR },
		{ "batchsendrecv", NP_RULE_PAIR },
	};
	char class[64];

	(void)np_op_class(type, class, sizeof(class));
	for (size_t i = 0; i < NP_COUNT(rules); i++) {
		if (strcmp(class, rules[i].class) == 0)
			return rules[i].rule;
	}
	return NP_RULE_ALL;
}

const struct align_class *align_class(struct align_job *job, np_str type)
{
	struct align_class *found = &job->classes[type % ALIGN_CLASSES];
	char text[64];
	size_t length;

	if (found->type == type && type != NP_STR_NONE)
		return found;
	length = np_op_class(np_strtab_text(job->align->run->strings, type), text, sizeof(text));
	found->type = type;
	found->rule = np_rule_of(text);
	found->receives = strcmp(text, "receive") == 0;
	/* Each member has its own size where the name ends in v, and in a batch. */
	found->sized = found->rule != NP_RULE_PAIRWISE && strcmp(text, "batchsendrecv") != 0 &&
		       !(length > 0 && text[length - 1] == 'v');
	return found;
}

/* --- communicators ---------------------------------------------------------------------------- */

/* What is known of the groups of one rank before they are matched. */
struct rank_groups {
	uint32_t *ops; /* operators of each group */
	bool *sizes;   /* the rank knows a size of this group's operators */
	uint32_t *row; /* of the coverage */
};

struct build {
	struct np_align *align;
	const struct np_run *run;
	struct rank_groups *ranks;
	uint32_t *ops;     /* operators by row of the coverage, then time */
	uint32_t *row_ops; /* first of a row in `ops` */
	struct align_job *jobs;
	struct np_err *errs;
	struct np_workers workers;
	struct np_err *err;
};

static void release_build(struct build *build)
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
	struct build *build = context;
	const struct np_rank *rank = build->run->ranks[index];
	struct rank_groups *groups = &build->ranks[index];

	for (size_t i = 0; rank && i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		groups->ops[op->group]++;
		groups->sizes[op->group] |= op->bytes != NP_UNKNOWN;
	}
}

/* The same name with other members is another communicator: jobs may share names. */
static uint64_t key_of(const struct np_group *group)
{
	uint64_t key = align_mix(group->hash, 0);

	for (size_t i = 0; group->members && i < group->member_count; i++)
		key = align_mix(key, (uint64_t)group->members[i] + 1);
	return key;
}

static int new_communicator(struct build *build, const struct np_group *group, uint32_t *ret)
{
	struct np_align_communicator *communicator =
		np_vec_add(&build->align->communicators, build->err);

	if (!communicator)
		return NP_E_NOMEM;
	communicator->hash = group->hash;
	communicator->members = group->members;
	communicator->member_count = group->members ? group->member_count : 0;
	communicator->size = (uint32_t)communicator->member_count;
	communicator->sizes = true;
	*ret = (uint32_t)(build->align->communicators.count - 1);
	return NP_OK;
}

/*
 * The communicator of a group. One whose members this rank does not know is the
 * first of that name, so ranks that know them come first.
 */
static int communicator_of(struct build *build, struct np_idmap *known,
			   const struct np_group *group, uint32_t *ret)
{
	int64_t by_name = (int64_t)align_mix(group->hash, 0);
	int64_t key = (int64_t)key_of(group);
	int rc;

	*ret = np_idmap_get(known, key);
	if (*ret != NP_IDMAP_NONE)
		return NP_OK;
	rc = new_communicator(build, group, ret);
	if (rc == NP_OK)
		rc = np_idmap_set(known, key, *ret, build->err);
	if (rc == NP_OK && np_idmap_get(known, by_name) == NP_IDMAP_NONE)
		rc = np_idmap_set(known, by_name, *ret, build->err);
	return rc;
}

static int find_of_rank(struct build *build, struct np_idmap *known, size_t index,
			bool members_known)
{
	const struct np_rank *rank = build->run->ranks[index];
	int rc = NP_OK;

	for (size_t i = 0; rank && i < rank->groups.count && rc == NP_OK; i++) {
		struct rank_groups *groups = &build->ranks[index];
		struct np_align_communicator *communicator;

		if (groups->ops[i] == 0 || (rank->groups.item[i].members != NULL) != members_known)
			continue;
		rc = communicator_of(build, known, &rank->groups.item[i], &groups->row[i]);
		if (rc < 0)
			break;
		communicator = &build->align->communicators.item[groups->row[i]];
		communicator->observed++;
		communicator->ops += groups->ops[i];
		communicator->sizes &= groups->sizes[i];
	}
	return rc;
}

/* A local rank beyond any cluster is damage, not a peer. */
#define MOST_LOCAL (1 << 24)

static void widen(struct np_align_communicator *communicator, int32_t local)
{
	if (!communicator->members && local >= 0 && local < MOST_LOCAL &&
	    (uint32_t)local >= communicator->size)
		communicator->size = (uint32_t)local + 1;
}

/* Without a list of members the links tell how many there are at least. */
static void size_by_links(struct build *build)
{
	for (size_t i = 0; i < build->run->sources.count; i++) {
		const struct np_rank *rank = build->run->ranks[i];

		for (size_t j = 0; rank && j < rank->links.count; j++) {
			const struct np_link *link = &rank->links.item[j];
			uint32_t row = build->ranks[i].row[link->group];

			if (build->ranks[i].ops[link->group] == 0)
				continue;
			widen(&build->align->communicators.item[row], link->src);
			widen(&build->align->communicators.item[row], link->dst);
		}
	}
	for (size_t i = 0; i < build->align->communicators.count; i++) {
		struct np_align_communicator *communicator = &build->align->communicators.item[i];

		communicator->size_known = communicator->size > 0;
		if (communicator->size < communicator->observed)
			communicator->size = communicator->observed;
	}
}

static int find_communicators(struct build *build)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *known = np_idmap_new();
	int rc = NP_OK;

	if (!known)
		return np_fail_nomem(build->err, "communicators");
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < build->run->sources.count && rc == NP_OK; i++)
			rc = find_of_rank(build, known, i, pass == 0);
	}
	if (rc == NP_OK)
		size_by_links(build);
	return rc;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int add_rows(struct build *build)
{
	struct np_align *align = build->align;
	uint32_t rows = 0;
	uint32_t slots = 0;

	for (size_t i = 0; i < align->communicators.count; i++) {
		struct np_align_communicator *communicator = &align->communicators.item[i];

		communicator->coverage = rows;
		communicator->first_slot = slots;
		for (uint32_t j = 0; j < communicator->observed; j++) {
			if (!np_vec_add(&align->coverage, build->err))
				return NP_E_NOMEM;
		}
		rows += communicator->observed;
		slots += communicator->ops;
		communicator->observed = 0;
	}
	for (size_t i = 0; i < build->run->sources.count; i++) {
		const struct np_rank *rank = build->run->ranks[i];

		for (size_t j = 0; rank && j < rank->groups.count; j++) {
			uint32_t *row = &build->ranks[i].row[j];
			struct np_align_communicator *communicator;

			if (build->ranks[i].ops[j] == 0)
				continue;
			communicator = &align->communicators.item[*row];
			rows = communicator->coverage + communicator->observed++;
			align->coverage.item[rows].communicator = *row;
			align->coverage.item[rows].rank = (uint32_t)i;
			/* Until it is matched, the total is that of the lists. */
			align->coverage.item[rows].total = build->ranks[i].ops[j];
			*row = rows;
		}
	}
	return NP_OK;
}

static int index_rows(struct build *build)
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
		align->coverage.item[i].total = 0;
	}
	build->row_ops[align->coverage.count] = first;
	return NP_OK;
}

static void list_ops(void *context, size_t index)
{
	struct build *build = context;
	const struct np_rank *rank = build->run->ranks[index];
	struct rank_groups *groups = &build->ranks[index];

	for (size_t i = 0; rank && i < rank->groups.count; i++)
		groups->ops[i] = groups->ops[i] ? build->row_ops[groups->row[i]] : 0;
	for (size_t i = 0; rank && i < rank->ops.count; i++)
		build->ops[groups->ops[rank->ops.item[i].group]++] = (uint32_t)i;
}

/* --- one communicator ------------------------------------------------------------------------- */

/* A message of a communicator: the key says between whom. */
struct message {
	uint64_t key;
	uint32_t row;
	uint32_t op;
};

enum {
	KEY_BATCH,
	KEY_FROM_LOW,
	KEY_FROM_HIGH,
	KEY_RING, /* batches with several ranks each, in all of the communicator */
	KEY_ALONE,
};

/* One communicator while it is split into what is matched separately. */
struct split {
	struct build *build;
	struct align_job *job;
	struct align_lane *lanes;
	uint32_t *collectives; /* operators, by row */
	NP_VEC(struct message) messages;
	bool ring;
};

static const struct np_rank *rank_of_row(const struct split *split, uint32_t row)
{
	return split->build->run->ranks[split->job->coverage[row].rank];
}

static uint32_t local_of(const struct split *split, uint32_t row)
{
	const struct np_rank *rank = rank_of_row(split, row);
	const struct np_align_communicator *communicator = split->job->communicator;
	uint32_t group = ALIGN_NONE;

	for (size_t i = 0; i < communicator->member_count; i++) {
		if (communicator->members[i] == rank->id)
			return (uint32_t)i + 1;
	}
	for (uint32_t i = 0; i < rank->groups.count; i++) {
		if (rank->groups.item[i].hash == communicator->hash)
			group = i;
	}
	if (group != ALIGN_NONE && rank->groups.item[group].group_rank >= 0)
		return (uint32_t)rank->groups.item[group].group_rank + 1;
	for (size_t i = 0; i < rank->links.count; i++) {
		const struct np_link *link = &rank->links.item[i];

		if (link->group == group && link->src == link->dst && link->src >= 0)
			return (uint32_t)link->src + 1;
	}
	return 0;
}

static uint64_t make_key(unsigned kind, uint64_t low, uint64_t high)
{
	return (uint64_t)kind << 60 | low << 30 | high;
}

static uint64_t message_key(const struct split *split, uint32_t row, const struct np_comm_op *op)
{
	const struct align_class *class = align_class(split->job, op->type);
	uint64_t own = split->lanes[row].local;
	uint64_t peer = op->peer;
	uint64_t low;
	uint64_t high;
	unsigned kind = class->sized ? KEY_FROM_LOW : KEY_BATCH;

	/* Of two, the other one is meant, whether the tasks say so or not. */
	if (split->job->communicator->size == 2) {
		own = row + 1;
		peer = 2 - row;
	} else if (peer == NP_PEERS) {
		return split->ring ? make_key(KEY_RING, 0, 0) : make_key(KEY_ALONE, 0, row);
	}
	if (peer == 0 || own == 0)
		return make_key(KEY_ALONE, 0, row);
	low = own < peer ? own : peer;
	high = own < peer ? peer : own;
	if (class->sized && (class->receives ? peer : own) == high)
		kind = KEY_FROM_HIGH;
	return make_key(kind, low, high);
}

/* Sort the operators of a row into collectives and messages. */
static int split_row(struct split *split, uint32_t row)
{
	const struct build *build = split->build;
	const struct np_rank *rank = rank_of_row(split, row);
	uint32_t global = split->job->communicator->coverage + row;
	struct align_lane *lane = &split->lanes[row];

	lane->rank = split->job->coverage[row].rank;
	lane->local = local_of(split, row);
	for (uint32_t i = build->row_ops[global]; i < build->row_ops[global + 1]; i++) {
		const struct np_comm_op *op = &rank->ops.item[build->ops[i]];
		struct message *message;

		if (!op->p2p) {
			split->collectives[lane->count++] = build->ops[i];
			continue;
		}
		message = np_vec_add(&split->messages, split->job->err);
		if (!message)
			return NP_E_NOMEM;
		message->row = row;
		message->op = build->ops[i];
		split->ring &= op->peer == NP_PEERS;
	}
	lane->ops = split->collectives;
	split->collectives += lane->count;
	return NP_OK;
}

static int by_key(const void *left, const void *right)
{
	const struct message *a = left;
	const struct message *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->row != b->row)
		return a->row < b->row ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

/* Match the messages of one key, which are by row: one lane for each row. */
static int match_key(struct split *split, const struct message *message, size_t count,
		     uint32_t *ops, struct align_lane *lanes)
{
	size_t lane_count = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || message[i].row != message[i - 1].row) {
			const struct align_lane *row = &split->lanes[message[i].row];

			lanes[lane_count++] = (struct align_lane){ .rank = row->rank,
								   .local = row->local,
								   .ops = &ops[i] };
		}
		ops[i] = message[i].op;
		lanes[lane_count - 1].count++;
	}
	return align_match(split->job, lanes, lane_count, true);
}

static int match_messages(struct split *split)
{
	struct message *message = split->messages.item;
	size_t count = split->messages.count;
	uint32_t *ops = malloc((count + 1) * sizeof(*ops));
	struct align_lane *lanes = calloc(split->job->coverage_count, sizeof(*lanes));
	int rc = NP_OK;

	if (!ops || !lanes)
		rc = np_fail_nomem(split->job->err, "matching of messages");
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		const struct np_rank *rank = rank_of_row(split, message[i].row);

		message[i].key = message_key(split, message[i].row, &rank->ops.item[message[i].op]);
	}
	if (rc == NP_OK && count > 0)
		qsort(message, count, sizeof(*message), by_key);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		while (to < count && message[to].key == message[from].key)
			to++;
		rc = match_key(split, &message[from], to - from, ops, lanes);
	}
	free(ops);
	free(lanes);
	return rc;
}

static int match_collectives(struct split *split)
{
	size_t kept = 0;

	/* The lanes by row are needed again: messages ask them for local ranks. */
	struct align_lane *lanes = malloc(split->job->coverage_count * sizeof(*lanes));
	int rc;

	if (!lanes)
		return np_fail_nomem(split->job->err, "matching of operators");
	for (size_t i = 0; i < split->job->coverage_count; i++) {
		if (split->lanes[i].count > 0)
			lanes[kept++] = split->lanes[i];
	}
	rc = align_match(split->job, lanes, kept, false);
	free(lanes);
	return rc;
}

static int match_communicator(struct build *build, struct align_job *job)
{
	struct split split = { .build = build, .job = job, .ring = true };
	uint32_t *collectives = malloc(((size_t)job->communicator->ops + 1) * sizeof(uint32_t));
	int rc = NP_OK;

	split.collectives = collectives;
	split.lanes = calloc(job->coverage_count, sizeof(*split.lanes));
	if (!collectives || !split.lanes)
		rc = np_fail_nomem(job->err, "matching of operators");
	for (uint32_t i = 0; i < job->coverage_count && rc == NP_OK; i++)
		rc = split_row(&split, i);
	if (rc == NP_OK)
		rc = match_collectives(&split);
	if (rc == NP_OK && split.messages.count > 0)
		rc = match_messages(&split);
	free(collectives);
	free(split.lanes);
	np_vec_release(&split.messages);
	return rc;
}

static void match_one(void *context, size_t index)
{
	struct build *build = context;
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
	if (match_communicator(build, job) < 0)
		return;
	for (uint32_t i = 0; i < communicator->ops; i++) {
		const struct np_member *member = &job->members[i];

		align->slots[align->rank_first[member->rank] + member->op] =
			communicator->first_slot + i;
	}
}

/* --- everything ------------------------------------------------------------------------------- */

static int count_all(struct build *build)
{
	const struct np_run *run = build->run;
	size_t ops = 0;

	build->align->rank_first = malloc((run->sources.count + 1) * sizeof(uint32_t));
	build->ranks = calloc(run->sources.count + 1, sizeof(*build->ranks));
	if (!build->align->rank_first || !build->ranks)
		return np_fail_nomem(build->err, "matching of operators");
	for (size_t i = 0; i < run->sources.count; i++) {
		size_t groups = run->ranks[i] ? run->ranks[i]->groups.count + 1 : 1;
		struct rank_groups *own = &build->ranks[i];

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

static int match_all(struct build *build)
{
	struct np_align *align = build->align;
	size_t count = align->communicators.count;

	align->members = malloc(((size_t)align->op_count + 1) * sizeof(*align->members));
	align->slots = malloc(((size_t)align->op_count + 1) * sizeof(*align->slots));
	build->jobs = calloc(count + 1, sizeof(*build->jobs));
	build->errs = calloc(count + 1, sizeof(*build->errs));
	if (!align->members || !align->slots || !build->jobs || !build->errs)
		return np_fail_nomem(build->err, "matching of operators");
	np_workers_run(&build->workers, build->run->sources.count, list_ops, build);
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
static int join(struct build *build)
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
	struct build build = { .align = align, .run = run, .err = err };
	int rc;

	if (!align)
		return np_fail_nomem(err, "matching of operators");
	align->run = run;
	build.workers.threads = threads;
	rc = count_all(&build);
	if (rc == NP_OK)
		rc = find_communicators(&build);
	if (rc == NP_OK)
		rc = add_rows(&build);
	if (rc == NP_OK)
		rc = index_rows(&build);
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
