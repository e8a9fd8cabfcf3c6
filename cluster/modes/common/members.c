/* SPDX-License-Identifier: Apache-2.0 */
/* Looks operators up that were matched over ranks. */
#include "members.h"

const struct np_member *mode_members(const struct np_modes *modes,
				     const struct np_instance *instance)
{
	return &modes->align->members[instance->first];
}

const struct np_comm_op *member_op(const struct np_modes *modes, const struct np_member *member)
{
	return &modes->run->ranks[member->rank]->ops.item[member->op];
}

np_ns member_time(const struct np_modes *modes, const struct np_member *member)
{
	const struct np_comm_op *op = member_op(modes, member);

	return op->end - op->start;
}

uint64_t member_hash(const struct np_modes *modes, const struct np_member *member)
{
	const struct np_rank *rank = modes->run->ranks[member->rank];

	return rank->groups.item[member_op(modes, member)->group].hash;
}

bool mode_is_message(const struct np_modes *modes, const struct np_instance *instance)
{
	return member_op(modes, mode_members(modes, instance))->p2p;
}

bool mode_is_complete(const struct np_modes *modes, const struct np_instance *instance)
{
	if (mode_is_message(modes, instance))
		return instance->count >= 2;
	return instance->count == modes->align->communicators.item[instance->communicator].observed;
}

/* Collectives that are missing in some rank, and the ranks where operators of their communicators
 * are. */
static size_t find_missing(const struct np_modes *modes, bool *incomplete)
{
	const struct np_align *align = modes->align;
	size_t left_out = 0;

	for (size_t i = 0; i < align->communicators.count; i++) {
		const struct np_align_communicator *at = &align->communicators.item[i];
		size_t before = left_out;

		for (uint32_t j = at->first; j < at->first + at->count; j++) {
			const struct np_instance *instance = &align->instances.item[j];

			left_out += !mode_is_message(modes, instance) &&
				    !mode_is_complete(modes, instance);
		}
		for (uint32_t j = at->coverage; j < at->coverage + at->observed; j++) {
			const struct np_coverage *row = &align->coverage.item[j];

			if (left_out > before && row->missing + row->edge > 0)
				incomplete[row->rank] = true;
		}
	}
	return left_out;
}

int mode_note_left_out(struct np_modes *modes, const char *mode, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf reason = NP_BUF_INIT;
	bool *incomplete = calloc(modes->run->sources.count + 1, sizeof(*incomplete));

	if (!incomplete)
		return np_fail_nomem(err, mode);
	np_buf_printf(&reason, "collectives are missing (np_coverage): %zu are not compared",
		      find_missing(modes, incomplete));
	mode_note(modes, NP_NOTE_WARNING, mode, incomplete, reason.text);
	free(incomplete);
	return NP_OK;
}

struct np_cell mode_group_cell(const struct np_modes *modes, uint64_t hash, char *buffer,
			       size_t size)
{
	const struct np_communicator *communicator = np_cluster_communicator(modes->cluster, hash);
	const char *name = communicator ? np_run_text(modes->run, communicator->name) : NULL;

	(void)snprintf(buffer, size, "%llu", (unsigned long long)hash);
	return np_cell_text(name ? name : buffer);
}
