/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a pipeline, found from its communicators. */
#include "npuprof/cluster.h"

#include "npuprof/arena.h"
#include "npuprof/idmap.h"
#include "npuprof/order.h"
#include "npuprof/rank.h"
#include "npuprof/run.h"

#include <strings.h>

/*
 * Stages of a pipeline
 * --------------------
 *
 * Ranks joined by point-to-point communicators of the pipeline form a chain,
 * one rank in each stage. A communicator that meets every chain in at most one
 * rank lies inside a stage; those that share a rank are parts of the same one.
 *
 * Sets are joined by union-find over dense indexes of ranks, which makes the
 * result independent of the order of the communicators.
 */
struct ranks {
	struct np_idmap *index; /* global rank → 0, 1, … */
	NP_VEC(int32_t) ids;
	NP_VEC(uint32_t) chain; /* parents */
	NP_VEC(uint32_t) stage;
	NP_VEC(uint8_t) in_stage;
};

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

static void unite(uint32_t *parent, uint32_t a, uint32_t b)
{
	a = root_of(parent, a);
	b = root_of(parent, b);
	if (a < b)
		parent[b] = a;
	else
		parent[a] = b;
}

static int index_of(struct ranks *ranks, int32_t id, uint32_t *ret, struct np_err *err)
{
	uint32_t known = np_idmap_get(ranks->index, id);
	int32_t *slot;
	uint32_t *chain;
	uint32_t *stage;

	if (known != NP_IDMAP_NONE) {
		*ret = known;
		return NP_OK;
	}
	known = (uint32_t)ranks->ids.count;
	slot = np_vec_add(&ranks->ids, err);
	chain = np_vec_add(&ranks->chain, err);
	stage = np_vec_add(&ranks->stage, err);
	if (!slot || !chain || !stage || !np_vec_add(&ranks->in_stage, err))
		return NP_E_NOMEM;
	*slot = id;
	*chain = known;
	*stage = known;
	*ret = known;
	return np_idmap_set(ranks->index, id, known, err);
}

static const int32_t *members_of(const struct np_communicator *communicator, size_t *ret_count)
{
	*ret_count =
		communicator->members ? communicator->member_count : communicator->observed_count;
	return communicator->members ? communicator->members : communicator->observed;
}

static int index_all(struct ranks *ranks, const struct np_cluster *cluster, struct np_err *err)
{
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		size_t count;
		const int32_t *members = members_of(&cluster->communicators.item[i], &count);

		for (size_t j = 0; j < count; j++) {
			uint32_t index;
			int rc = index_of(ranks, members[j], &index, err);

			if (rc < 0)
				return rc;
		}
	}
	return NP_OK;
}

static bool is_pipeline(const struct np_cluster *cluster,
			const struct np_communicator *communicator)
{
	const char *name = np_run_text(cluster->run, communicator->pg_name);

	return communicator->p2p && name &&
	       (strncasecmp(name, "pp", 2) == 0 || strcasestr(name, "pipe"));
}

static void join(struct ranks *ranks, uint32_t *parent, const struct np_communicator *communicator)
{
	size_t count;
	const int32_t *members = members_of(communicator, &count);

	for (size_t i = 1; i < count; i++)
		unite(parent, np_idmap_get(ranks->index, members[0]),
		      np_idmap_get(ranks->index, members[i]));
}

static const struct np_rank *rank_of(const struct np_cluster *cluster, int32_t id)
{
	size_t index = np_run_index(cluster->run, id);

	return index == SIZE_MAX ? NULL : cluster->run->ranks[index];
}

/* The members by local rank; NULL where not all were profiled, or nobody knows their order. */
static const int32_t *locals_of(const struct np_communicator *communicator)
{
	if (communicator->observed_count != communicator->size)
		return NULL;
	if (communicator->global_count == communicator->size && communicator->members)
		return communicator->global;
	return communicator->members ? NULL : communicator->observed;
}

/* Do all messages of the communicator say where they went? Then those ranks are joined, if wanted.
 */
static bool join_by_peers(struct ranks *ranks, const struct np_cluster *cluster,
			  const struct np_communicator *communicator, bool joins)
{
	const int32_t *locals = locals_of(communicator);
	size_t count = 0;

	for (size_t i = 0; locals && i < communicator->size; i++) {
		const struct np_rank *rank = rank_of(cluster, locals[i]);

		for (size_t j = 0; rank && j < rank->ops.count; j++) {
			const struct np_comm_op *op = &rank->ops.item[j];

			if (!op->p2p || rank->groups.item[op->group].hash != communicator->hash)
				continue;
			if (op->peer == 0 || op->peer > communicator->size)
				return false;
			if (joins)
				unite(ranks->chain.item, np_idmap_get(ranks->index, locals[i]),
				      np_idmap_get(ranks->index, locals[op->peer - 1]));
			count++;
		}
	}
	return count > 0;
}

static bool join_chains(struct ranks *ranks, const struct np_cluster *cluster)
{
	bool found = false;

	for (size_t i = 0; i < cluster->communicators.count; i++) {
		if (!is_pipeline(cluster, &cluster->communicators.item[i]))
			continue;
		/* One communicator may be that of many pipelines. */
		if (join_by_peers(ranks, cluster, &cluster->communicators.item[i], false))
			join_by_peers(ranks, cluster, &cluster->communicators.item[i], true);
		else
			join(ranks, ranks->chain.item, &cluster->communicators.item[i]);
		found = true;
	}
	return found;
}

/* --- chains that have no name ------------------------------------------------------------------
 */

/*
 * Where no communicator is called that of a pipeline, those that have its pattern are
 * taken for one: the ranks that exchange messages form a row, of which both ends have one
 * neighbour. In a communicator of all of the row they have half of the messages of those
 * between them; of two ranks one sends twice before it gets anything, and the other gets first.
 * In a ring, as that of interleaved stages, neighbours send to each other both ways; where parts
 * of a sequence go around they do so one way.
 */
struct rank_row {
	struct ranks *ranks;
	const struct np_cluster *cluster;
	uint32_t *parent; /* of ranks that exchange messages */
	uint32_t *neighbours;
	uint32_t *members; /* by root: ranks, those with one neighbour, those with more than two */
	uint32_t *ends;
	uint32_t *crossings;
	int *sent;        /* by root: product of first_way() of both ranks */
	bool pairs;       /* most rows of two are of a sender and a receiver */
	uint8_t *one_way; /* by root: of a ring, somebody sends to a neighbour and gets nothing */
	struct np_idmap *known; /* pairs: | 1: the first sends, | 2: the other one does */
};

static bool has_messages(const struct np_communicator *communicator)
{
	return communicator->p2p && communicator->observed_count == communicator->size &&
	       communicator->size > 1;
}

static size_t count_messages(const struct np_rank *rank, uint64_t hash)
{
	size_t count = 0;

	for (size_t i = 0; i < rank->ops.count; i++)
		count += rank->ops.item[i].p2p &&
			 rank->groups.item[rank->ops.item[i].group].hash == hash;
	return count;
}

/* Do two members have half of the messages that each of the others has? */
static bool is_row(const struct np_cluster *cluster, const struct np_communicator *communicator)
{
	size_t most = 0;
	size_t ends = 0;
	size_t inner = 0;

	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < communicator->observed_count; i++) {
			const struct np_rank *rank = rank_of(cluster, communicator->observed[i]);
			size_t count = rank ? count_messages(rank, communicator->hash) : 0;

			most = count > most ? count : most;
			ends += pass == 1 && 10 * count <= 6 * most && count > 0;
			inner += pass == 1 && 10 * count >= 9 * most;
		}
	}
	return ends == 2 && ends + inner == communicator->observed_count;
}

static int64_t key_of(const struct rank_row *row, const struct np_communicator *pair)
{
	return (int64_t)np_idmap_get(row->ranks->index, pair->observed[0]) << 32 |
	       np_idmap_get(row->ranks->index, pair->observed[1]);
}

static int join_pair(struct rank_row *row, const struct np_communicator *pair, struct np_err *err)
{
	int64_t key = key_of(row, pair);
	uint32_t both[2] = { (uint32_t)(key >> 32), (uint32_t)key };

	if (np_idmap_get(row->known, key) != NP_IDMAP_NONE)
		return NP_OK;
	unite(row->parent, both[0], both[1]);
	row->neighbours[both[0]]++;
	row->neighbours[both[1]]++;
	return np_idmap_set(row->known, key, 0, err);
}

static int join_pairs(struct rank_row *row, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < row->cluster->communicators.count && rc == NP_OK; i++) {
		const struct np_communicator *each = &row->cluster->communicators.item[i];

		if (has_messages(each) && each->size == 2)
			rc = join_pair(row, each, err);
	}
	return rc;
}

/* The first step of a rank in which it has messages; NP_NO_STEP: they are in none. */
static uint32_t step_of_messages(const struct np_rank *rank)
{
	uint32_t first = NP_NO_STEP;

	for (size_t i = 0; i < rank->ops.count; i++) {
		if (rank->ops.item[i].p2p && rank->ops.item[i].step < first)
			first = rank->ops.item[i].step;
	}
	return first;
}

/* The first messages of a rank: those that it sent, and the one that it got. */
struct first_messages {
	np_ns sent[2]; /* starts; NP_NS_MAX: none */
	np_ns got;     /* end, likewise */
	bool batches;
};

static void see_message(struct first_messages *first, const struct np_comm_op *op, const char *type)
{
	if (!type || strcasestr(type, "batch")) {
		first->batches = true;
	} else if (strcasestr(type, "rec")) {
		first->got = op->end < first->got ? op->end : first->got;
	} else if (op->start < first->sent[0]) {
		first->sent[1] = first->sent[0];
		first->sent[0] = op->start;
	} else if (op->start < first->sent[1]) {
		first->sent[1] = op->start;
	}
}

/*
 * +1: it sends the second message before it has got any, as the first stage does; -1: it sends
 * none before it has got one; 0: neither, as where two send in turns, or nobody can tell.
 */
static int first_way(const struct np_cluster *cluster, const struct np_rank *rank)
{
	struct first_messages first = { { NP_NS_MAX, NP_NS_MAX }, NP_NS_MAX, false };
	uint32_t step = step_of_messages(rank);

	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];

		if (op->p2p && op->step == step)
			see_message(&first, op, np_run_text(cluster->run, op->type));
	}
	if (first.batches)
		return 0;
	if (first.sent[1] < first.got)
		return 1;
	return first.got < first.sent[0] ? -1 : 0;
}

/* Where lengths of micro-batches differ, some send back what they got before the second comes. */
static bool most_send_one_way(const struct rank_row *row)
{
	size_t pairs = 0;
	size_t one_way = 0;

	for (uint32_t i = 0; i < row->ranks->ids.count; i++) {
		pairs += row->members[i] == 2;
		one_way += row->members[i] == 2 && row->sent[i] < 0;
	}
	return one_way > pairs - one_way;
}

static void see_rows(struct rank_row *row)
{
	for (uint32_t i = 0; i < row->ranks->ids.count; i++) {
		uint32_t root = root_of(row->parent, i);

		row->members[root]++;
		row->ends[root] += row->neighbours[i] == 1;
		row->crossings[root] += row->neighbours[i] > 2;
	}
	for (uint32_t i = 0; i < row->ranks->ids.count; i++) {
		const struct np_rank *rank = rank_of(row->cluster, row->ranks->ids.item[i]);
		uint32_t root = root_of(row->parent, i);

		if (row->members[root] == 2 && rank)
			row->sent[root] = i == root
						  ? first_way(row->cluster, rank)
						  : row->sent[root] * first_way(row->cluster, rank);
	}
	row->pairs = most_send_one_way(row);
}

static bool sends_to(const struct rank_row *row, const struct np_communicator *pair, size_t member)
{
	const struct np_rank *rank = rank_of(row->cluster, pair->observed[member]);

	for (size_t i = 0; rank && i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		const char *type = np_run_text(row->cluster->run, op->type);

		if (op->p2p && type && strcasestr(type, "send") && !strcasestr(type, "batch") &&
		    rank->groups.item[op->group].hash == pair->hash)
			return true;
	}
	return false;
}

static bool may_be_ring(const struct rank_row *row, uint32_t root)
{
	return row->members[root] > 2 && row->ends[root] == 0 && row->crossings[root] == 0;
}

/* Who sends to whom in rings. */
static int see_rings(struct rank_row *row, struct np_err *err)
{
	const struct np_cluster *cluster = row->cluster;
	int rc = NP_OK;

	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < cluster->communicators.count && rc == NP_OK; i++) {
			const struct np_communicator *each = &cluster->communicators.item[i];
			uint32_t root;
			int64_t key;

			if (!has_messages(each) || each->size != 2)
				continue;
			key = key_of(row, each);
			root = root_of(row->parent, (uint32_t)key);
			if (!may_be_ring(row, root))
				continue;
			if (pass == 0)
				rc = np_idmap_set(row->known, key,
						  np_idmap_get(row->known, key) |
							  (uint32_t)sends_to(row, each, 0) |
							  (uint32_t)sends_to(row, each, 1) << 1,
						  err);
			else if (np_idmap_get(row->known, key) != 3)
				row->one_way[root] = true;
		}
	}
	return rc;
}

static bool is_nameless_row(const struct rank_row *row, const struct np_communicator *communicator)
{
	const char *name = np_run_text(row->cluster->run, communicator->pg_name);
	uint32_t root;

	if (!has_messages(communicator) || (name && strncasecmp(name, "cp", 2) == 0))
		return false;
	if (communicator->size > 2)
		return is_row(row->cluster, communicator);
	root = root_of(row->parent, np_idmap_get(row->ranks->index, communicator->observed[0]));
	if (may_be_ring(row, root))
		return !row->one_way[root];
	return row->ends[root] == 2 && row->crossings[root] == 0 &&
	       (row->members[root] > 2 || row->sent[root] == -1 ||
		(row->pairs && row->sent[root] == 0));
}

static void row_release(struct rank_row *row)
{
	free(row->parent);
	free(row->neighbours);
	free(row->members);
	free(row->ends);
	free(row->crossings);
	free(row->sent);
	free(row->one_way);
	np_idmap_free(row->known);
}

static int row_begin(struct rank_row *row, struct np_err *err)
{
	size_t count = row->ranks->ids.count + 1;

	row->parent = malloc(count * sizeof(*row->parent));
	row->neighbours = calloc(count, sizeof(*row->neighbours));
	row->members = calloc(count, sizeof(*row->members));
	row->ends = calloc(count, sizeof(*row->ends));
	row->crossings = calloc(count, sizeof(*row->crossings));
	row->sent = calloc(count, sizeof(*row->sent));
	row->one_way = calloc(count, sizeof(*row->one_way));
	row->known = np_idmap_new();
	if (!row->parent || !row->neighbours || !row->members || !row->ends || !row->crossings ||
	    !row->sent || !row->one_way || !row->known)
		return np_fail_nomem(err, "stages");
	for (uint32_t i = 0; i + 1 < count; i++)
		row->parent[i] = i;
	return NP_OK;
}

static int join_nameless(struct ranks *ranks, const struct np_cluster *cluster, bool *ret,
			 struct np_err *err)
{
	struct rank_row row = { .ranks = ranks, .cluster = cluster };
	int rc = row_begin(&row, err);

	if (rc == NP_OK)
		rc = join_pairs(&row, err);
	if (rc == NP_OK)
		see_rows(&row);
	if (rc == NP_OK)
		rc = see_rings(&row, err);
	*ret = false;
	for (size_t i = 0; i < cluster->communicators.count && rc == NP_OK; i++) {
		if (!is_nameless_row(&row, &cluster->communicators.item[i]))
			continue;
		join(ranks, ranks->chain.item, &cluster->communicators.item[i]);
		*ret = true;
	}
	row_release(&row);
	return rc;
}

/* --- stages ------------------------------------------------------------------------------------
 */

/* Does it meet every chain in at most one rank? */
static int inside_a_stage(struct ranks *ranks, const struct np_communicator *communicator,
			  bool *ret, struct np_err *err)
{
	size_t count;
	const int32_t *members = members_of(communicator, &count);
	NP_CLEANUP(np_idmap_freep) struct np_idmap *met = np_idmap_new();

	if (!met)
		return np_fail_nomem(err, "stages");
	*ret = false;
	for (size_t i = 0; i < count; i++) {
		uint32_t chain = root_of(ranks->chain.item, np_idmap_get(ranks->index, members[i]));
		int rc;

		if (np_idmap_get(met, chain) != NP_IDMAP_NONE)
			return NP_OK;
		rc = np_idmap_set(met, chain, 1, err);
		if (rc < 0)
			return rc;
	}
	*ret = true;
	return NP_OK;
}

static int join_stages(struct ranks *ranks, const struct np_cluster *cluster, struct np_err *err)
{
	for (size_t i = 0; i < cluster->communicators.count; i++) {
		const struct np_communicator *communicator = &cluster->communicators.item[i];
		size_t count;
		const int32_t *members = members_of(communicator, &count);
		bool inside = false;
		int rc = NP_OK;

		if (communicator->collective)
			rc = inside_a_stage(ranks, communicator, &inside, err);
		if (rc < 0)
			return rc;
		if (!inside)
			continue;
		join(ranks, ranks->stage.item, communicator);
		for (size_t j = 0; j < count; j++)
			ranks->in_stage.item[np_idmap_get(ranks->index, members[j])] = 1;
	}
	return NP_OK;
}

/* --- places in pipelines -----------------------------------------------------------------------
 */

/* Where ranks are in their chains. */
struct chain_places {
	uint32_t *sizes; /* of chains, by root */
	uint32_t *place; /* by rank */
	uint32_t *first; /* rank, by place */
};

static void places_release(struct chain_places *places)
{
	free(places->sizes);
	free(places->place);
	free(places->first);
}

static size_t count_stages(struct ranks *ranks)
{
	size_t count = 0;

	for (uint32_t i = 0; i < ranks->ids.count; i++)
		count += ranks->in_stage.item[i] && root_of(ranks->stage.item, i) == i;
	return count;
}

static int by_id(const void *left, const void *right, void *ids)
{
	const uint32_t *a = left;
	const uint32_t *b = right;

	return np_by_int32((const int32_t *)ids + *a, (const int32_t *)ids + *b);
}

/* Stages are numbered as ranks are, unless a communicator of the whole chain has another order. */
static int places_begin(struct chain_places *places, struct ranks *ranks, struct np_err *err)
{
	size_t count = ranks->ids.count;

	places->sizes = calloc(count + 1, sizeof(*places->sizes));
	places->place = calloc(count + 1, sizeof(*places->place));
	places->first = calloc(count + 1, sizeof(*places->first));
	if (!places->sizes || !places->place || !places->first)
		return np_fail_nomem(err, "stages");
	for (uint32_t i = 0; i < count; i++)
		places->first[i] = i;
	qsort_r(places->first, count, sizeof(*places->first), by_id, ranks->ids.item);
	for (size_t i = 0; i < count; i++) {
		uint32_t root = root_of(ranks->chain.item, places->first[i]);

		places->place[places->first[i]] = places->sizes[root]++;
	}
	return NP_OK;
}

static bool are_neighbours(const struct chain_places *places, struct ranks *ranks,
			   const int32_t *members, size_t count, size_t length)
{
	for (size_t i = 1; i < count; i++) {
		uint32_t a = places->place[np_idmap_get(ranks->index, members[i - 1])];
		uint32_t b = places->place[np_idmap_get(ranks->index, members[i])];
		uint32_t apart = a < b ? b - a : a - b;

		if (apart != 1 && apart + 1 != length)
			return false;
	}
	return true;
}

/* The length of chains that are all as long as each other, one rank next to the other; 0: not so.
 */
static size_t chain_length(struct chain_places *places, struct ranks *ranks,
			   const struct np_cluster *cluster)
{
	size_t length = 0;

	for (size_t i = 0; i < cluster->communicators.count; i++) {
		const struct np_communicator *each = &cluster->communicators.item[i];
		size_t count;
		const int32_t *members = members_of(each, &count);
		uint32_t size;

		if (!each->p2p)
			continue;
		size = places->sizes[root_of(ranks->chain.item,
					     np_idmap_get(ranks->index, members[0]))];
		if (count < 2 || count != each->size || (length > 0 && size != length))
			return 0;
		length = size;
		for (size_t j = 0; j < count && count == length; j++)
			places->place[np_idmap_get(ranks->index, members[j])] = (uint32_t)j;
		if (count != length && !are_neighbours(places, ranks, members, count, length))
			return 0;
	}
	return length;
}

/*
 * Ranks of a stage that never meet in a collective, as those of a tensor parallel group
 * of which nothing was recorded, have the same place in pipelines of the same length.
 */
static int join_places(struct ranks *ranks, const struct np_cluster *cluster, struct np_err *err)
{
	struct chain_places places = { 0 };
	int rc = places_begin(&places, ranks, err);
	size_t length = rc == NP_OK ? chain_length(&places, ranks, cluster) : 0;

	if (length > 0 && count_stages(ranks) > length) {
		for (size_t i = 0; i < length; i++)
			places.first[i] = UINT32_MAX;
		for (uint32_t i = 0; i < ranks->ids.count; i++) {
			uint32_t *first = &places.first[places.place[i]];

			if (places.sizes[root_of(ranks->chain.item, i)] != length)
				continue;
			if (*first == UINT32_MAX)
				*first = i;
			unite(ranks->stage.item, *first, i);
		}
	}
	places_release(&places);
	return rc;
}

static int by_first_rank(const void *left, const void *right)
{
	const struct np_stage *a = left;
	const struct np_stage *b = right;

	return np_by_int32(a->ranks, b->ranks);
}

/* One stage: the ranks whose root is `root`. */
static int add_stage(struct np_cluster *cluster, struct ranks *ranks, uint32_t root,
		     struct np_err *err)
{
	struct np_stage stage = { 0 };
	struct np_stage *slot;

	stage.ranks = np_arena_array(cluster->arena, ranks->ids.count, sizeof(int32_t));
	if (!stage.ranks)
		return np_fail_nomem(err, "stages");
	for (uint32_t i = 0; i < ranks->ids.count; i++) {
		if (ranks->in_stage.item[i] && root_of(ranks->stage.item, i) == root)
			stage.ranks[stage.count++] = ranks->ids.item[i];
	}
	qsort(stage.ranks, stage.count, sizeof(int32_t), np_by_int32);
	slot = np_vec_add(&cluster->stages, err);
	if (!slot)
		return NP_E_NOMEM;
	*slot = stage;
	return NP_OK;
}

static int collect_stages(struct np_cluster *cluster, struct ranks *ranks, struct np_err *err)
{
	int rc = NP_OK;

	for (uint32_t i = 0; i < ranks->ids.count && rc == NP_OK; i++) {
		if (ranks->in_stage.item[i] && root_of(ranks->stage.item, i) == i)
			rc = add_stage(cluster, ranks, i, err);
	}
	if (cluster->stages.count)
		qsort(cluster->stages.item, cluster->stages.count, sizeof(struct np_stage),
		      by_first_rank);
	return rc;
}

int np_cluster_find_stages(struct np_cluster *cluster, struct np_err *err)
{
	struct ranks ranks = { .index = np_idmap_new() };
	bool found = false;
	int rc;

	if (!ranks.index)
		return np_fail_nomem(err, "stages");
	rc = index_all(&ranks, cluster, err);
	if (rc == NP_OK)
		found = join_chains(&ranks, cluster);
	if (rc == NP_OK && !found)
		rc = join_nameless(&ranks, cluster, &found, err);
	if (rc == NP_OK && found) {
		rc = join_stages(&ranks, cluster, err);
		if (rc == NP_OK)
			rc = join_places(&ranks, cluster, err);
		if (rc == NP_OK)
			rc = collect_stages(cluster, &ranks, err);
	}
	np_vec_release(&ranks.ids);
	np_vec_release(&ranks.chain);
	np_vec_release(&ranks.stage);
	np_vec_release(&ranks.in_stage);
	np_idmap_free(ranks.index);
	return rc;
}
