/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_private.h"

#include "npuprof/order.h"

/* Parts while they are summed. */
struct summing {
	const struct np_replay *replay;
	struct np_path_summary *ret;
	NP_VEC(np_ns *) steps; /* by part, then step */
	np_str *roles;         /* by communicator */
	struct np_err *err;
};

static struct np_path_part *part_of(struct summing *summing, const struct np_path_piece *piece,
				    np_ns **ret_steps)
{
	struct np_path_summary *summary = summing->ret;
	np_str role = piece->communicator == UINT32_MAX ? NP_STR_NONE
							: summing->roles[piece->communicator];
	struct np_path_part *part;
	np_ns **steps;

	for (size_t i = 0; i < summary->list.count; i++) {
		part = &summary->list.item[i];
		if ((part->piece.communicator == UINT32_MAX) !=
			    (piece->communicator == UINT32_MAX) ||
		    (piece->communicator == UINT32_MAX ? part->piece.work != piece->work
						       : part->role != role) ||
		    (piece->communicator != UINT32_MAX && role == NP_STR_NONE &&
		     part->piece.communicator != piece->communicator))
			continue;
		*ret_steps = summing->steps.item[i];
		return part;
	}
	part = np_vec_add(&summary->list, summing->err);
	steps = part ? np_vec_add(&summing->steps, summing->err) : NULL;
	if (!steps)
		return NULL;
	*part = (struct np_path_part){ .piece = *piece, .role = role };
	*steps = calloc(summing->replay->cluster->steps.count + 1, sizeof(**steps));
	if (!*steps)
		(void)np_fail_nomem(summing->err, "the critical path");
	*ret_steps = *steps;
	return *steps ? part : NULL;
}

/* Over all ranks with intervals. */
static np_ns mean_work(const struct np_replay *replay, enum np_work work)
{
	np_ns sum = 0;

	for (size_t i = 0; i < replay->cells.count; i++) {
		if (replay->cells.item[i].timed)
			sum += replay->cells.item[i].work[work];
	}
	return replay->timed > 0 ? sum / (np_ns)replay->timed : NP_UNKNOWN;
}

/* Over all ranks that have operators of the same role. */
static int mean_transfer(const struct summing *summing, const struct np_path_part *part, np_ns *ret)
{
	const struct np_replay *replay = summing->replay;
	const struct np_align *align = replay->align;
	bool *has = calloc(align->run->sources.count + 1, sizeof(*has));
	np_ns ranks = 0;
	np_ns sum = 0;

	if (!has)
		return np_fail_nomem(summing->err, "the critical path");
	for (size_t i = 0; i < align->instances.count; i++) {
		const struct np_instance *instance = &align->instances.item[i];
		np_ns last = replay_last_start(replay, instance);

		if (part->role == NP_STR_NONE
			    ? instance->communicator != part->piece.communicator
			    : summing->roles[instance->communicator] != part->role)
			continue;
		for (uint32_t j = 0; j < instance->count; j++) {
			np_ns after;

			(void)replay_wait(replay, instance, instance->first + j, last, &after);
			sum += after > 0 ? after : 0;
			has[align->members[instance->first + j].rank] = true;
		}
	}
	for (size_t i = 0; i < align->run->sources.count; i++)
		ranks += has[i];
	*ret = ranks > 0 ? sum / ranks : NP_UNKNOWN;
	free(has);
	return NP_OK;
}

static int finish_part(const struct summing *summing, struct np_path_part *part, np_ns *steps)
{
	size_t count = summing->replay->cluster->steps.count;
	np_ns all = count > 0 ? (np_ns)count : 1;
	np_ns mean = NP_UNKNOWN;
	int rc = NP_OK;

	part->step = part->total / all;
	if (count > 0)
		qsort(steps, count, sizeof(steps[0]), np_by_int64);
	part->p50 = count > 0 ? steps[(count - 1) / 2] : part->total;
	part->p95 = count > 0 ? steps[(count * 95 + 99) / 100 - 1] : part->total;
	if (part->piece.communicator == UINT32_MAX)
		mean = mean_work(summing->replay, part->piece.work);
	else
		rc = mean_transfer(summing, part, &mean);
	part->imbalance = mean == NP_UNKNOWN ? NP_UNKNOWN : part->step - mean / all;
	return rc;
}

static int longest_first(const void *left, const void *right)
{
	const struct np_path_part *a = left;
	const struct np_path_part *b = right;

	return np_order(b->total, a->total);
}

static int sum_pieces(struct summing *summing, const struct np_path *path)
{
	for (size_t i = 0; i < path->pieces.count; i++) {
		const struct np_path_piece *piece = &path->pieces.item[i];
		size_t step = replay_step_index(summing->replay->cluster, piece->step);
		np_ns *steps = NULL;
		struct np_path_part *part = part_of(summing, piece, &steps);

		if (!part)
			return NP_E_NOMEM;
		part->total += piece->ns;
		if (step != SIZE_MAX)
			steps[step] += piece->ns;
	}
	return NP_OK;
}

static np_str *find_roles(const struct np_replay *replay, struct np_err *err)
{
	const struct np_align *align = replay->align;
	np_str *roles = malloc((align->communicators.count + 1) * sizeof(*roles));

	if (!roles)
		(void)np_fail_nomem(err, "the critical path");
	for (size_t i = 0; roles && i < align->communicators.count; i++) {
		const struct np_communicator *each =
			np_cluster_communicator(replay->cluster, align->communicators.item[i].hash);

		roles[i] = each ? each->pg_name : NP_STR_NONE;
	}
	return roles;
}

int np_path_summarise(const struct np_replay *replay, const struct np_path *path,
		      struct np_path_summary *ret, struct np_err *err)
{
	struct np_path_summary summary = { 0 };
	struct summing summing = { .replay = replay, .ret = &summary, .err = err };
	int rc;

	summing.roles = find_roles(replay, err);
	rc = summing.roles ? sum_pieces(&summing, path) : NP_E_NOMEM;
	for (size_t i = 0; i < summary.list.count && rc == NP_OK; i++)
		rc = finish_part(&summing, &summary.list.item[i], summing.steps.item[i]);
	for (size_t i = 0; i < summing.steps.count; i++)
		free(summing.steps.item[i]);
	np_vec_release(&summing.steps);
	free(summing.roles);
	if (rc < 0) {
		np_vec_release(&summary.list);
		return rc;
	}
	if (summary.list.count > 0)
		qsort(summary.list.item, summary.list.count, sizeof(summary.list.item[0]),
		      longest_first);
	*ret = summary;
	return NP_OK;
}
