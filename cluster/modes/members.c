/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

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

struct np_cell mode_group_cell(const struct np_modes *modes, uint64_t hash, char *buffer,
			       size_t size)
{
	const struct np_communicator *communicator = np_cluster_communicator(modes->cluster, hash);
	const char *name = communicator ? np_run_text(modes->run, communicator->name) : NULL;

	(void)snprintf(buffer, size, "%llu", (unsigned long long)hash);
	return np_cell_text(name ? name : buffer);
}
