/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the communicators of two runs and compares what they did. */
#include "cmp_comparison.h"

#include "npuprof/align.h"
#include "npuprof/buf.h"
#include "npuprof/hash.h"
#include "npuprof/op_times.h"
#include "npuprof/run.h"

#include <inttypes.h>
#include <math.h>

/*
 * Communicators of two runs have nothing in common but what they are for: their
 * strings, and so their hashes, hold the time of their creation. They are matched
 * by the name of the process group, else by their ranks, else by what they did.
 */

/* --- matching -------------------------------------------------------------------------------- */

/* A communicator of one side. */
struct comms_candidate {
	const struct np_communicator *communicator;
	const char *pg_name;
	uint64_t fingerprint; /* of its operators, whoever its members are: types and sizes */
	uint64_t types;       /* of the types alone: Level0 has no sizes */
	size_t comm;          /* SIZE_MAX while not matched */
};

struct comms_candidates {
	NP_VEC(struct comms_candidate) list;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
	return hash * UINT64_C(0xff51afd7ed558ccd);
}

/* "hcom_allReduce": type and name begin with it, and Level0 has names only. */
static uint64_t hash_op(const struct np_run *run, const struct np_comm_op *op)
{
	const char *name = np_run_text(run, op->name);
	const char *text = name ? name : np_run_text(run, op->type);
	size_t length = 0;

	if (!text)
		return 0;
	length = strncmp(text, "hcom_", strlen("hcom_")) == 0 ? strlen("hcom_") : 0;
	length += strcspn(text + length, "_");
	return np_group_hash(text, length);
}

/* What the operators of a communicator are on one rank, in the first step that has any. */
struct fingerprint {
	size_t rank;   /* index + 1; 0 before any */
	uint32_t step; /* index in np_rank.steps */
	bool done;     /* the step is over */
	uint64_t sizes;
	uint64_t types;
};

static void add_print(struct fingerprint *print, const struct np_run *run, size_t rank,
		      const struct np_comm_op *op)
{
	uint64_t hash;

	if (op->step == NP_NO_STEP)
		return;
	if (print->rank != rank + 1)
		*print = (struct fingerprint){ .rank = rank + 1, .step = op->step };
	print->done = print->done || op->step != print->step;
	if (print->done)
		return;
	hash = hash_op(run, op);
	print->types = mix(print->types, hash);
	print->sizes = mix(mix(print->sizes, hash), (uint64_t)op->bytes);
}

/* By the first rank that has operators: types, and types with sizes, in order. */
static int find_fingerprints(const struct np_run *run, struct comms_candidates *candidates,
			     struct np_err *err)
{
	struct np_numbers places = { 0 };
	size_t count = candidates->list.count;
	struct fingerprint *prints = calloc(count + 1, sizeof(*prints));
	int rc = prints ? NP_OK : np_fail_nomem(err, "communicators");

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = np_numbers_add(&places, candidates->list.item[i].communicator->hash,
				    (uint32_t)i, err);
	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];

		for (size_t j = 0; rank && j < rank->ops.count; j++) {
			const struct np_comm_op *op = &rank->ops.item[j];
			uint32_t place = np_numbers_get(&places, rank->groups.item[op->group].hash);

			/* A rank without a print leaves it to the next. */
			if (place != NP_MAP_NONE &&
			    (prints[place].rank == i + 1 || prints[place].sizes == 0))
				add_print(&prints[place], run, i, op);
		}
	}
	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		candidates->list.item[i].fingerprint = prints[i].sizes;
		candidates->list.item[i].types = prints[i].types;
	}
	np_numbers_release(&places);
	free(prints);
	return rc;
}

static int find_candidates(const struct np_analysis *analysis, struct comms_candidates *ret,
			   struct np_err *err)
{
	const struct np_cluster *cluster = analysis->cluster;

	for (size_t i = 0; i < cluster->communicators.count; i++) {
		const struct np_communicator *each = &cluster->communicators.item[i];
		struct comms_candidate *candidate;

		if (each->observed_count == 0)
			continue;
		candidate = np_vec_add(&ret->list, err);
		if (!candidate)
			return NP_E_NOMEM;
		candidate->communicator = each;
		candidate->pg_name = np_run_text(analysis->run, each->pg_name);
		candidate->comm = SIZE_MAX;
	}
	return find_fingerprints(analysis->run, ret, err);
}

/* The name of a process group that is looked for on a side. */
struct wanted_candidate {
	const struct comms_candidates *side;
	const char *name;
};

/* A name that is looked for. */
struct wanted_name {
	const struct comparison *comparison;
	const char *name;
};

static bool has_name(const void *what, uint32_t value)
{
	const struct wanted_name *wanted = what;

	return strcmp(wanted->comparison->comms.item[value].name, wanted->name) == 0;
}

static uint64_t hash_name(const char *name)
{
	return np_hash(0, name, strlen(name));
}

static size_t find_comm(const struct comparison *comparison, const char *name)
{
	const struct wanted_name wanted = { comparison, name };
	uint32_t found = np_map_find(&comparison->comm_names, hash_name(name), has_name, &wanted);

	return found == NP_MAP_NONE ? SIZE_MAX : found;
}

static int add_comm(struct comparison *comparison, const struct np_buf *name,
		    const char *matched_by, size_t *ret, struct np_err *err)
{
	struct cmp_comm *comm = np_vec_add(&comparison->comms, err);

	if (!comm)
		return NP_E_NOMEM;
	comm->name = cmp_keep(comparison, name);
	comm->matched_by = matched_by;
	*ret = comparison->comms.count - 1;
	if (!comm->name)
		return np_fail_nomem(err, "communicators");
	return np_map_add(&comparison->comm_names, hash_name(comm->name), (uint32_t)*ret, err);
}

/* The names of process groups on a side. */
static bool is_called(const void *what, uint32_t value)
{
	const struct wanted_candidate *wanted = what;

	return strcmp(wanted->side->list.item[value].pg_name, wanted->name) == 0;
}

static bool has_pg_name(const struct np_map *names, const struct comms_candidates *side,
			const char *name)
{
	const struct wanted_candidate wanted = { side, name };

	return np_map_find(names, hash_name(name), is_called, &wanted) != NP_MAP_NONE;
}

static int index_names(const struct comms_candidates *side, struct np_map *names,
		       struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < side->list.count && rc == NP_OK; i++) {
		const char *name = side->list.item[i].pg_name;

		if (name && !has_pg_name(names, side, name))
			rc = np_map_add(names, hash_name(name), (uint32_t)i, err);
	}
	return rc;
}

/* All communicators of one name are one: a tensor parallel run has many called "tp". */
static int match_side_names(struct comparison *comparison, struct comms_candidates *side,
			    const struct comms_candidates *other, struct np_err *err)
{
	struct np_map names = { 0 };
	int rc = index_names(other, &names, err);

	for (size_t i = 0; i < side->list.count && rc == NP_OK; i++) {
		struct comms_candidate *each = &side->list.item[i];
		NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

		if (!each->pg_name || !has_pg_name(&names, other, each->pg_name))
			continue;
		np_buf_add(&name, each->pg_name);
		each->comm = find_comm(comparison, each->pg_name);
		if (each->comm == SIZE_MAX)
			rc = add_comm(comparison, &name, "pg_name", &each->comm, err);
	}
	np_map_release(&names);
	return rc;
}

static int match_names(struct comparison *comparison, struct comms_candidates sides[CMP_SIDES],
		       struct np_err *err)
{
	int rc = match_side_names(comparison, &sides[CMP_BASE], &sides[CMP_NEW], err);

	return rc < 0 ? rc : match_side_names(comparison, &sides[CMP_NEW], &sides[CMP_BASE], err);
}

static bool same_ranks(const struct np_communicator *a, const struct np_communicator *b)
{
	if (!a->members || !b->members || a->member_count != b->member_count ||
	    a->collective != b->collective)
		return false;
	return memcmp(a->members, b->members, a->member_count * sizeof(*a->members)) == 0;
}

/* How communicators are matched, the surest first. */
enum comms_way {
	BY_RANKS,
	BY_WORK,
	BY_TYPES,
};

static bool is_match(const struct comms_candidate *a, const struct comms_candidate *b,
		     enum comms_way way)
{
	if (way == BY_RANKS)
		return same_ranks(a->communicator, b->communicator);
	if (way == BY_WORK)
		return a->fingerprint != 0 && a->fingerprint == b->fingerprint &&
		       a->communicator->size == b->communicator->size;
	return a->types != 0 && a->types == b->types;
}

/* A name that does not depend on which side is the base. */
static void name_pair(struct np_buf *name, const struct comms_candidate *a,
		      const struct comms_candidate *b, bool by_ranks)
{
	const struct np_communicator *each = a->communicator;
	const struct np_communicator *other = b->communicator;
	int64_t *ranks = by_ranks ? malloc((each->member_count + 1) * sizeof(*ranks)) : NULL;

	if (a->pg_name || b->pg_name) {
		const char *x = a->pg_name ? a->pg_name : b->pg_name;
		const char *y = b->pg_name ? b->pg_name : a->pg_name;

		np_buf_add(name, strcmp(x, y) < 0 ? x : y);
	} else if (ranks) {
		for (size_t i = 0; i < each->member_count; i++)
			ranks[i] = each->members[i];
		np_buf_add(name, "ranks ");
		np_ranges_format(name, ranks, each->member_count);
	} else {
		np_buf_printf(name, "%" PRIu64,
			      each->hash < other->hash ? each->hash : other->hash);
	}
	free(ranks);
}

/* A name that several have, and the last number that told them apart. */
struct used_name {
	const char *name;
	int last;
};

struct used_names {
	struct np_map map; /* → list */
	NP_VEC(struct used_name) list;
};

struct wanted_use {
	const struct used_names *names;
	const char *name;
};

static bool is_used(const void *what, uint32_t value)
{
	const struct wanted_use *wanted = what;

	return strcmp(wanted->names->list.item[value].name, wanted->name) == 0;
}

/* Names are never given back, so that numbers that were taken stay so. */
static int make_unique(struct comparison *comparison, struct used_names *names, struct np_buf *name,
		       struct np_err *err)
{
	const struct wanted_use wanted = { names, name->text };
	size_t length = name->length;
	struct used_name *used;
	uint32_t at;
	int rc;

	if (name->failed || find_comm(comparison, name->text) == SIZE_MAX)
		return NP_OK;
	at = np_map_find(&names->map, hash_name(name->text), is_used, &wanted);
	if (at == NP_MAP_NONE) {
		used = np_vec_add(&names->list, err);
		if (!used)
			return NP_E_NOMEM;
		*used = (struct used_name){ cmp_keep(comparison, name), 1 };
		at = (uint32_t)names->list.count - 1;
		rc = used->name ? np_map_add(&names->map, hash_name(used->name), at, err)
				: np_fail_nomem(err, "communicators");
		if (rc < 0)
			return rc;
	}
	used = &names->list.item[at];
	do {
		name->length = length;
		name->text[length] = '\0';
		np_buf_printf(name, " #%d", ++used->last);
	} while (!name->failed && find_comm(comparison, name->text) != SIZE_MAX);
	return NP_OK;
}

/* What two communicators that match have in common; false for one that matches none. */
static bool key_of(const struct comms_candidate *each, enum comms_way way, uint64_t *ret)
{
	const struct np_communicator *communicator = each->communicator;

	switch (way) {
	case BY_RANKS:
		*ret = communicator->members
			       ? np_hash(communicator->collective, communicator->members,
					 communicator->member_count *
						 sizeof(*communicator->members))
			       : 0;
		return communicator->members != NULL;
	case BY_WORK:
		*ret = mix(each->fingerprint, communicator->size);
		return each->fingerprint != 0;
	case BY_TYPES:
	default:
		*ret = each->types;
		return each->types != 0;
	}
}

/* Those of a side that are not matched: of each key the first, and behind each the next. */
struct comms_index {
	struct np_numbers keys; /* → first */
	NP_VEC(uint32_t) first; /* NP_MAP_NONE: all are matched by now */
	uint32_t *next;         /* by candidate; NP_MAP_NONE behind the last */
};

static void release_index(struct comms_index *index)
{
	np_numbers_release(&index->keys);
	np_vec_release(&index->first);
	free(index->next);
}

static int index_candidates(const struct comms_candidates *side, enum comms_way way,
			    struct comms_index *ret, struct np_err *err)
{
	int rc = NP_OK;

	ret->next = malloc((side->list.count + 1) * sizeof(*ret->next));
	if (!ret->next)
		return np_fail_nomem(err, "communicators");
	for (size_t i = side->list.count; i-- > 0 && rc == NP_OK;) {
		uint64_t key;
		uint32_t at;

		if (side->list.item[i].comm != SIZE_MAX || !key_of(&side->list.item[i], way, &key))
			continue;
		at = np_numbers_get(&ret->keys, key);
		if (at == NP_MAP_NONE) {
			uint32_t *first = np_vec_add(&ret->first, err);

			if (!first)
				return NP_E_NOMEM;
			*first = NP_MAP_NONE;
			at = (uint32_t)ret->first.count - 1;
			rc = np_numbers_add(&ret->keys, key, at, err);
		}
		ret->next[i] = ret->first.item[at];
		ret->first.item[at] = (uint32_t)i;
	}
	return rc;
}

/* The first of a side that is not matched and is like `a`; NULL for none. */
static struct comms_candidate *find_match(struct comms_index *index, struct comms_candidates *side,
					  const struct comms_candidate *a, enum comms_way way)
{
	uint64_t key;
	uint32_t at = key_of(a, way, &key) ? np_numbers_get(&index->keys, key) : NP_MAP_NONE;
	uint32_t *first = at == NP_MAP_NONE ? NULL : &index->first.item[at];

	while (first && *first != NP_MAP_NONE && side->list.item[*first].comm != SIZE_MAX)
		*first = index->next[*first];
	for (uint32_t i = first ? *first : NP_MAP_NONE; i != NP_MAP_NONE; i = index->next[i]) {
		struct comms_candidate *b = &side->list.item[i];

		if (b->comm == SIZE_MAX && is_match(a, b, way))
			return b;
	}
	return NULL;
}

static int match_pair(struct comparison *comparison, struct used_names *names,
		      struct comms_candidate *a, struct comms_candidate *b, enum comms_way way,
		      struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	int rc;

	name_pair(&name, a, b, way == BY_RANKS);
	rc = make_unique(comparison, names, &name, err);
	if (rc == NP_OK)
		rc = add_comm(comparison, &name, way == BY_RANKS ? "ranks" : "fingerprint",
			      &a->comm, err);
	b->comm = a->comm;
	return rc;
}

static int match_pairs(struct comparison *comparison, struct comms_candidates sides[CMP_SIDES],
		       struct used_names *names, enum comms_way way, struct np_err *err)
{
	struct comms_index index = { 0 };
	int rc = index_candidates(&sides[CMP_NEW], way, &index, err);

	for (size_t i = 0; i < sides[CMP_BASE].list.count && rc == NP_OK; i++) {
		struct comms_candidate *a = &sides[CMP_BASE].list.item[i];
		struct comms_candidate *b =
			a->comm == SIZE_MAX ? find_match(&index, &sides[CMP_NEW], a, way) : NULL;

		if (b)
			rc = match_pair(comparison, names, a, b, way, err);
	}
	release_index(&index);
	return rc;
}

static int take_rest(struct comparison *comparison, struct comms_candidates sides[CMP_SIDES],
		     struct np_err *err)
{
	int rc = NP_OK;

	for (int i = 0; i < CMP_SIDES; i++) {
		for (size_t j = 0; j < sides[i].list.count && rc == NP_OK; j++) {
			struct comms_candidate *each = &sides[i].list.item[j];
			NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

			if (each->comm == SIZE_MAX) {
				if (each->pg_name)
					np_buf_add(&name, each->pg_name);
				else
					np_buf_printf(&name, "%" PRIu64, each->communicator->hash);
				each->comm = find_comm(comparison, name.text);
			}
			if (each->comm == SIZE_MAX)
				rc = add_comm(comparison, &name, NULL, &each->comm, err);
			if (rc == NP_OK)
				rc = np_idmap_set(comparison->comm_index[i],
						  (int64_t)each->communicator->hash,
						  (uint32_t)each->comm, err);
			if (rc == NP_OK)
				comparison->comms.item[each->comm].side[i].communicators++;
		}
	}
	return rc;
}

/* How waiting was measured: by the arrivals of all members, of some, or by sub-tasks. */
static void see_estimators(struct comparison *comparison)
{
	for (int i = 0; i < CMP_SIDES; i++) {
		const struct np_comm_sums *sums = &comparison->sides[i].analysis->sums;

		for (size_t j = 0; j < sums->list.count; j++) {
			const struct np_comm_sum *sum = &sums->list.item[j];
			const struct np_communicator *each = sum->communicator;
			size_t comm = cmp_comm_of(comparison, (enum cmp_which)i, each->hash);
			struct cmp_comm_side *side;

			if (comm == SIZE_MAX)
				continue;
			side = &comparison->comms.item[comm].side[i];
			side->incomplete |= each->observed_count < each->size;
			side->tasks |= strcmp(sum->estimator, "tasks") == 0;
		}
	}
	for (size_t i = 0; i < comparison->comms.count; i++) {
		struct cmp_comm *comm = &comparison->comms.item[i];
		const struct cmp_comm_side *base = &comm->side[CMP_BASE];
		const struct cmp_comm_side *new_ = &comm->side[CMP_NEW];

		comm->unlike = base->communicators > 0 && new_->communicators > 0 &&
			       (base->incomplete != new_->incomplete || base->tasks != new_->tasks);
	}
}

int cmp_match_communicators(struct comparison *comparison, struct np_err *err)
{
	struct comms_candidates sides[CMP_SIDES] = { 0 };
	struct used_names names = { 0 };
	int rc = NP_OK;

	for (int i = 0; i < CMP_SIDES && rc == NP_OK; i++) {
		comparison->comm_index[i] = np_idmap_new();
		if (!comparison->comm_index[i])
			rc = np_fail_nomem(err, "communicators");
		if (rc == NP_OK)
			rc = find_candidates(comparison->sides[i].analysis, &sides[i], err);
	}
	if (rc == NP_OK)
		rc = match_names(comparison, sides, err);
	for (int way = BY_RANKS; way <= BY_TYPES && rc == NP_OK; way++)
		rc = match_pairs(comparison, sides, &names, (enum comms_way)way, err);
	if (rc == NP_OK)
		rc = take_rest(comparison, sides, err);
	if (rc == NP_OK)
		see_estimators(comparison);
	np_map_release(&names.map);
	np_vec_release(&names.list);
	np_vec_release(&sides[CMP_BASE].list);
	np_vec_release(&sides[CMP_NEW].list);
	return rc;
}

size_t cmp_comm_of(const struct comparison *comparison, enum cmp_which which, uint64_t hash)
{
	uint32_t index = np_idmap_get(comparison->comm_index[which], (int64_t)hash);

	return index == NP_IDMAP_NONE ? SIZE_MAX : index;
}

/* --- measuring ------------------------------------------------------------------------------- */

/* Sums over the cells of the paired ranks. */
struct sums {
	size_t ops;
	int64_t bytes;
	int64_t moved;
	np_ns moved_time;
	np_ns elapsed;
	np_ns wait;
	np_ns exposed;
	np_ns overlapped;
};

static void add_rank_steps(const struct comparison *comparison, enum cmp_which which,
			   const struct np_rank *rank, struct sums *sums)
{
	for (size_t i = 0; i < rank->comm_steps.count; i++) {
		const struct np_comm_step *each = &rank->comm_steps.item[i];
		size_t comm;

		if (!cmp_has_cell(&comparison->sides[which], rank, each->step))
			continue;
		comm = cmp_comm_of(comparison, which, rank->groups.item[each->group].hash);
		if (comm == SIZE_MAX)
			continue;
		sums[comm].ops += each->ops;
		sums[comm].bytes = np_plus(sums[comm].bytes, each->bytes);
		sums[comm].moved = np_plus(sums[comm].moved, each->moved_bytes);
		sums[comm].moved_time = np_plus(sums[comm].moved_time, each->moved_time);
		sums[comm].elapsed = np_plus(sums[comm].elapsed, each->elapsed);
		sums[comm].exposed = np_plus(sums[comm].exposed, each->exposed);
		sums[comm].overlapped = np_plus(sums[comm].overlapped, each->overlapped);
	}
}

static void add_rank_waits(const struct comparison *comparison, enum cmp_which which, size_t index,
			   struct sums *sums)
{
	const struct np_analysis *analysis = comparison->sides[which].analysis;
	const struct np_rank *rank = analysis->run->ranks[index];

	for (size_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		size_t comm;

		if (!cmp_has_cell(&comparison->sides[which], rank, op->step))
			continue;
		comm = cmp_comm_of(comparison, which, rank->groups.item[op->group].hash);
		if (comm != SIZE_MAX)
			sums[comm].wait = np_plus(
				sums[comm].wait,
				analysis->waits.wait[np_align_slot(analysis->align, index, i)]);
	}
}

static int64_t per_cell(int64_t sum, size_t cells)
{
	return sum == NP_UNKNOWN || cells == 0 ? NP_UNKNOWN : llround((double)sum / (double)cells);
}

static int measure_side(struct comparison *comparison, enum cmp_which which, struct np_err *err)
{
	size_t cells = comparison->sides[which].cells;
	struct sums *sums = calloc(comparison->comms.count + 1, sizeof(*sums));

	if (!sums)
		return np_fail_nomem(err, "communicators");
	for (size_t i = 0; i < comparison->pairs.count; i++) {
		const struct cmp_pair *pair = &comparison->pairs.item[i];

		add_rank_steps(comparison, which, cmp_rank(comparison, pair, which), sums);
		add_rank_waits(comparison, which, pair->rank[which], sums);
	}
	for (size_t i = 0; i < comparison->comms.count; i++) {
		struct cmp_comm_side *side = &comparison->comms.item[i].side[which];

		side->ops = sums[i].ops;
		side->bytes = per_cell(sums[i].bytes, cells);
		side->elapsed = per_cell(sums[i].elapsed, cells);
		side->wait = per_cell(sums[i].wait, cells);
		side->transit = side->elapsed == NP_UNKNOWN || side->wait == NP_UNKNOWN
					? NP_UNKNOWN
					: side->elapsed - side->wait;
		side->exposed = per_cell(sums[i].exposed, cells);
		side->overlapped = per_cell(sums[i].overlapped, cells);
		side->gb_per_s = np_gb_per_s(sums[i].moved, sums[i].moved_time);
	}
	free(sums);
	return NP_OK;
}

/* What leaves changed by is what their communicators did. */
static void sum_leaves(struct comparison *comparison)
{
	for (size_t i = 0; i < comparison->leaves.count; i++) {
		const struct cmp_leaf *leaf = &comparison->leaves.item[i];

		if (leaf->comm == SIZE_MAX)
			continue;
		comparison->comms.item[leaf->comm].delta += leaf->change.delta;
		if (leaf->kind == CMP_LEAF_WAIT)
			comparison->comms.item[leaf->comm].wait_effect += leaf->change.delta;
	}
}

/* delta = bytes + bandwidth + wait + overlap, to the nanosecond. */
static void divide_delta(struct cmp_comm *comm)
{
	const struct cmp_comm_side *base = &comm->side[CMP_BASE];
	const struct cmp_comm_side *new_ = &comm->side[CMP_NEW];

	comm->bytes_effect = NP_UNKNOWN;
	comm->bandwidth_effect = NP_UNKNOWN;
	comm->overlap_effect = comm->delta - comm->wait_effect;
	if (comm->unlike || base->bytes == NP_UNKNOWN || new_->bytes == NP_UNKNOWN ||
	    base->bytes <= 0 || base->transit == NP_UNKNOWN || new_->transit == NP_UNKNOWN)
		return;
	comm->bytes_effect = llround((double)(new_->bytes - base->bytes) * (double)base->transit /
				     (double)base->bytes);
	comm->bandwidth_effect = new_->transit - base->transit - comm->bytes_effect;
	comm->overlap_effect -= comm->bytes_effect + comm->bandwidth_effect;
}

int cmp_measure_comms(struct comparison *comparison, struct np_err *err)
{
	int rc = measure_side(comparison, CMP_BASE, err);

	if (rc == NP_OK)
		rc = measure_side(comparison, CMP_NEW, err);
	if (rc == NP_OK)
		sum_leaves(comparison);
	for (size_t i = 0; i < comparison->comms.count && rc == NP_OK; i++)
		divide_delta(&comparison->comms.item[i]);
	return rc;
}
