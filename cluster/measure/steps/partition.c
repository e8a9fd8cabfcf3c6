/* SPDX-License-Identifier: Apache-2.0 */
/* The time of every step of every rank, divided into leaves that sum to it. */
#include "npuprof/partition.h"

#include "npuprof/activity.h"
#include "npuprof/align.h"
#include "npuprof/buf.h"
#include "npuprof/idmap.h"
#include "npuprof/rank.h"

#include <inttypes.h>

/* What becomes of the exposed part of an operator. */
enum comm_part {
	COMM_WHOLE,
	COMM_WAIT,
	COMM_TRANSFER,
	COMM_PARTS,
};

/* The leaves of one communicator. */
struct comm_leaves {
	np_str part[COMM_PARTS];
};

/* How much of what is exposed of an operator lies behind the iteration. */
struct left_out {
	uint32_t op;
	np_ns ns;
};

/* Leaves are interned paths. */
struct partition_builder {
	const struct np_cluster *cluster;
	const struct np_align *align;
	const struct np_waits *waits;
	struct np_partition *partition;
	struct np_err *err;
	np_str fixed[NP_LEAF_KINDS]; /* of kinds that have one leaf; of others for nobody */
	np_str between[NP_BETWEEN_KINDS];
	struct np_idmap *type_leaf;  /* np_str of a type → leaf */
	struct np_idmap *comm_index; /* hash of a communicator → comms */
	NP_VEC(struct comm_leaves) comms;
	/* The cell in work: what each leaf has got, and which of them have something. */
	NP_VEC(np_ns) got;
	NP_VEC(np_str) touched;
	NP_VEC(struct left_out) left_out;
};

/* --- leaves ---------------------------------------------------------------------------------- */

static int add_leaf(struct partition_builder *build, const char *path, np_str *ret)
{
	int rc = np_strtab_add(build->partition->leaves, path, strlen(path), ret, build->err);

	while (rc == NP_OK && build->got.count <= *ret) {
		if (!np_vec_add(&build->got, build->err))
			rc = NP_E_NOMEM;
	}
	return rc;
}

static int add_path(struct partition_builder *build, const char *kind, const char *name,
		    const char *part, np_str *ret)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	np_buf_printf(&path, "%s/%s%s", kind, name, part);
	rc = np_buf_check(&path, build->err);
	return rc < 0 ? rc : add_leaf(build, path.text, ret);
}

static int add_fixed_leaves(struct partition_builder *build)
{
	static const char *const paths[NP_LEAF_KINDS] = {
		[NP_LEAF_COMPUTE] = "compute/unknown",
		[NP_LEAF_COMM] = "comm/unknown",
		[NP_LEAF_MEMCPY] = "memcpy",
		[NP_LEAF_FREE_HOST] = "free/host",
		[NP_LEAF_FREE_DATALOADER] = "free/dataloader",
		[NP_LEAF_FREE_OTHER] = "free/other",
		[NP_LEAF_FREE_UNKNOWN] = "free/unknown",
	};
	int rc = NP_OK;

	for (int i = 0; i < NP_LEAF_KINDS && rc == NP_OK; i++)
		rc = add_leaf(build, paths[i], &build->fixed[i]);
	for (int i = 0; i < NP_BETWEEN_KINDS && rc == NP_OK; i++)
		rc = add_leaf(build, np_between_leaf((enum np_between)i), &build->between[i]);
	return rc;
}

static int type_leaf(struct partition_builder *build, np_str type, np_str *ret)
{
	uint32_t known = np_idmap_get(build->type_leaf, type);
	int rc;

	if (known != NP_IDMAP_NONE) {
		*ret = known;
		return NP_OK;
	}
	rc = add_path(build, "compute", np_run_text(build->cluster->run, type), "", ret);
	return rc < 0 ? rc : np_idmap_set(build->type_leaf, type, *ret, build->err);
}

static int name_comm(struct partition_builder *build, uint64_t hash, struct comm_leaves *leaves)
{
	static const char *const parts[COMM_PARTS] = {
		[COMM_WHOLE] = "", [COMM_WAIT] = "/wait", [COMM_TRANSFER] = "/transfer"
	};
	const struct np_communicator *each = np_cluster_communicator(build->cluster, hash);
	const char *name = each ? np_run_text(build->cluster->run, each->pg_name) : NULL;
	char number[24];
	int rc = NP_OK;

	(void)snprintf(number, sizeof(number), "%" PRIu64, hash);
	for (int i = 0; i < COMM_PARTS && rc == NP_OK; i++)
		rc = add_path(build, "comm", name ? name : number, parts[i], &leaves->part[i]);
	return rc;
}

static int comm_leaves(struct partition_builder *build, uint64_t hash,
		       const struct comm_leaves **ret)
{
	uint32_t known = np_idmap_get(build->comm_index, (int64_t)hash);
	struct comm_leaves *leaves;
	int rc;

	if (known != NP_IDMAP_NONE) {
		*ret = &build->comms.item[known];
		return NP_OK;
	}
	leaves = np_vec_add(&build->comms, build->err);
	if (!leaves)
		return NP_E_NOMEM;
	*ret = leaves;
	rc = name_comm(build, hash, leaves);
	return rc < 0 ? rc
		      : np_idmap_set(build->comm_index, (int64_t)hash,
				     (uint32_t)(build->comms.count - 1), build->err);
}

/* --- one cell -------------------------------------------------------------------------------- */

static int give(struct partition_builder *build, np_str leaf, np_ns ns)
{
	np_str *touched;

	if (ns == 0)
		return NP_OK;
	if (build->got.item[leaf] == 0) {
		touched = np_vec_add(&build->touched, build->err);
		if (!touched)
			return NP_E_NOMEM;
		*touched = leaf;
	}
	build->got.item[leaf] += ns;
	return NP_OK;
}

static int leave_out(struct partition_builder *build, uint32_t op, np_ns ns)
{
	struct left_out *left;

	if (ns == 0)
		return NP_OK;
	left = np_vec_add(&build->left_out, build->err);
	if (!left)
		return NP_E_NOMEM;
	*left = (struct left_out){ op, ns };
	return NP_OK;
}

/*
 * The first `most` ns of a share of a segment; what operators got is taken from
 * their exposed pieces, but for what is left out here.
 */
static int give_share(struct partition_builder *build, const struct np_share *share, np_ns most)
{
	enum np_leaf_kind kind = np_leaf_kind(share->leaf);
	uint32_t of = np_leaf_of(share->leaf);
	np_str leaf = build->fixed[kind];
	np_ns ns = share->ns < most ? share->ns : most;
	int rc = NP_OK;

	if (kind == NP_LEAF_COMM && of != NP_LEAF_NOBODY)
		return leave_out(build, of, share->ns - ns);
	if (kind == NP_LEAF_COMPUTE && of != NP_STR_NONE && ns > 0)
		rc = type_leaf(build, of, &leaf);
	return rc < 0 ? rc : give(build, leaf, ns);
}

/*
 * What runs on when the next step has begun is computing, else communication,
 * else a copy, and nothing of the step starts any more: the kinds of a segment's
 * shares are in the order of time there. A segment ends where the window of the
 * next step begins (activity.h), so it is only such a one that is cut apart.
 */
static int give_segment(struct partition_builder *build, const struct np_activity *activity,
			const struct np_segment *segment, np_ns until)
{
	np_ns most = until > segment->begin ? until - segment->begin : 0;
	int rc = NP_OK;

	for (uint32_t i = segment[0].first; i < segment[1].first && rc == NP_OK; i++) {
		const struct np_share *share = &activity->shares.item[i];

		rc = give_share(build, share, most);
		most = most > share->ns ? most - share->ns : 0;
	}
	return rc;
}

/* The end of a piece without what is left out of its operator. */
static np_ns end_of_piece(struct partition_builder *build, const struct np_exposed *piece)
{
	np_ns end = piece->end;

	for (size_t i = 0; i < build->left_out.count && end > piece->begin; i++) {
		struct left_out *left = &build->left_out.item[i];
		np_ns ns = end - piece->begin < left->ns ? end - piece->begin : left->ns;

		if (left->op != piece->op)
			continue;
		end -= ns;
		left->ns -= ns;
	}
	return end;
}

/* What comes behind the wait is transfer, unless it may be waiting for who was not profiled. */
static enum comm_part moves_data(const struct partition_builder *build, uint32_t slot)
{
	return np_align_hides_waits(build->align, np_align_instance(build->align, slot))
		       ? COMM_WHOLE
		       : COMM_TRANSFER;
}

static int give_exposed(struct partition_builder *build, size_t rank_index,
			const struct np_exposed *piece)
{
	const struct np_rank *rank = build->cluster->run->ranks[rank_index];
	const struct np_comm_op *op = &rank->ops.item[piece->op];
	uint32_t slot = np_align_slot(build->align, rank_index, piece->op);
	np_ns wait = build->waits->wait[slot];
	const struct comm_leaves *leaves;
	np_ns until = piece->begin;
	np_ns end = end_of_piece(build, piece);
	int rc = comm_leaves(build, rank->groups.item[op->group].hash, &leaves);

	if (rc < 0)
		return rc;
	if (wait == NP_UNKNOWN)
		return give(build, leaves->part[COMM_WHOLE], end - piece->begin);
	if (op->start + wait > until)
		until = op->start + wait < end ? op->start + wait : end;
	rc = give(build, leaves->part[COMM_WAIT], until - piece->begin);
	return rc < 0 ? rc : give(build, leaves->part[moves_data(build, slot)], end - until);
}

static int by_time(const void *left, const void *right)
{
	const struct np_part *a = left;
	const struct np_part *b = right;

	return a->ns != b->ns ? np_order(b->ns, a->ns) : strcmp(a->leaf, b->leaf);
}

/* What the leaves have got becomes the parts of the cell. */
static int close_cell(struct partition_builder *build)
{
	struct np_partition *partition = build->partition;
	struct np_partition_cell *cell = np_vec_add(&partition->cells, build->err);

	if (!cell)
		return NP_E_NOMEM;
	*cell = (struct np_partition_cell){ partition->parts.count, build->touched.count };
	for (size_t i = 0; i < build->touched.count; i++) {
		np_str leaf = build->touched.item[i];
		struct np_part *part = np_vec_add(&partition->parts, build->err);

		if (!part)
			return NP_E_NOMEM;
		*part = (struct np_part){ np_strtab_text(partition->leaves, leaf),
					  build->got.item[leaf] };
		build->got.item[leaf] = 0;
	}
	build->touched.count = 0;
	if (cell->count)
		qsort(&partition->parts.item[cell->first], cell->count, sizeof(struct np_part),
		      by_time);
	return NP_OK;
}

static int give_between(struct partition_builder *build, const struct np_step_time *time)
{
	int rc = NP_OK;

	for (int i = 0; i < NP_BETWEEN_KINDS && rc == NP_OK; i++)
		rc = give(build, build->between[i], time->between[i]);
	return rc;
}

static int add_cell(struct partition_builder *build, size_t rank_index, size_t index)
{
	const struct np_rank *rank = build->cluster->run->ranks[rank_index];
	const struct np_step_time *time = &rank->times.item[index];
	const struct np_activity *activity = &rank->activity;
	const struct np_activity_cell *cell = &activity->cells.item[index];
	np_ns iteration = np_step_iteration(time);
	np_ns until = iteration == NP_UNKNOWN ? NP_NS_MAX : cell->begin + iteration;
	int rc = NP_OK;

	build->left_out.count = 0;
	for (uint32_t i = 0; i < cell->segments && rc == NP_OK; i++)
		rc = give_segment(build, activity,
				  &activity->segments.item[cell->first_segment + i], until);
	/* What lies behind the iteration is the last of its operator. */
	for (uint32_t i = cell->exposed; i > 0 && rc == NP_OK; i--)
		rc = give_exposed(build, rank_index,
				  &activity->exposed.item[cell->first_exposed + i - 1]);
	if (rc == NP_OK && iteration != NP_UNKNOWN)
		rc = give_between(build, time);
	return rc < 0 ? rc : close_cell(build);
}

/* --- everything ------------------------------------------------------------------------------ */

static int add_ranks(struct partition_builder *build)
{
	const struct np_run *run = build->cluster->run;
	int rc = add_fixed_leaves(build);

	for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		const struct np_rank *rank = run->ranks[i];
		bool known = rank && rank->activity.cells.count > 0;

		build->partition->rank_first[i] = known ? build->partition->cells.count : SIZE_MAX;
		for (size_t j = 0; known && j < rank->activity.cells.count && rc == NP_OK; j++)
			rc = add_cell(build, i, j);
	}
	return rc;
}

void np_partition_release(struct np_partition *partition)
{
	np_vec_release(&partition->parts);
	np_vec_release(&partition->cells);
	free(partition->rank_first);
	np_strtab_free(partition->leaves);
	*partition = (struct np_partition){ 0 };
}

const struct np_partition_cell *np_partition_of(const struct np_partition *partition, size_t rank,
						size_t time)
{
	if (partition->rank_first[rank] == SIZE_MAX)
		return NULL;
	return &partition->cells.item[partition->rank_first[rank] + time];
}

int np_partition_measure(const struct np_cluster *cluster, const struct np_align *align,
			 const struct np_waits *waits, struct np_partition *ret, struct np_err *err)
{
	struct np_partition partition = { .leaves = np_strtab_new() };
	struct partition_builder build = { .cluster = cluster,
					   .align = align,
					   .waits = waits,
					   .partition = &partition,
					   .err = err,
					   .type_leaf = np_idmap_new(),
					   .comm_index = np_idmap_new() };
	int rc;

	partition.rank_first =
		malloc((cluster->run->sources.count + 1) * sizeof(*partition.rank_first));
	if (partition.leaves && partition.rank_first && build.type_leaf && build.comm_index)
		rc = add_ranks(&build);
	else
		rc = np_fail_nomem(err, "the partition");
	np_idmap_free(build.type_leaf);
	np_idmap_free(build.comm_index);
	np_vec_release(&build.comms);
	np_vec_release(&build.got);
	np_vec_release(&build.touched);
	np_vec_release(&build.left_out);
	if (rc < 0) {
		np_partition_release(&partition);
		return rc;
	}
	*ret = partition;
	return NP_OK;
}
