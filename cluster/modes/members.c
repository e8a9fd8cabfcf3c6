/* SPDX-License-Identifier: Apache-2.0 */
#include "mode.h"

#include "npuprof/idmap.h"

static int by_instance(const void *left, const void *right)
{
	const struct member *a = left;
	const struct member *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	if (a->nth != b->nth)
		return a->nth < b->nth ? -1 : 1;
	return np_order(a->rank, b->rank);
}

/* How often the rank has had this name of this communicator so far. */
static int count_name(struct np_idmap *counts, const struct np_comm_op *op, uint32_t *ret,
		      struct np_err *err)
{
	int64_t id = (int64_t)((uint64_t)op->group << 32 | op->name);
	uint32_t before = np_idmap_get(counts, id);

	*ret = before == NP_IDMAP_NONE ? 0 : before;
	return np_idmap_set(counts, id, *ret + 1, err);
}

static int add_rank(const struct np_modes *modes, uint32_t index, struct np_idmap *counts,
		    struct members *ret, struct np_err *err)
{
	const struct np_rank *rank = modes->run->ranks[index];

	np_idmap_clear(counts);
	for (uint32_t i = 0; i < rank->ops.count; i++) {
		const struct np_comm_op *op = &rank->ops.item[i];
		struct member *member = np_vec_add(&ret->list, err);

		if (!member)
			return NP_E_NOMEM;
		*member = (struct member){ .hash = rank->groups.item[op->group].hash,
					   .name = op->name,
					   .rank = index,
					   .op = i };
		if (count_name(counts, op, &member->nth, err) < 0)
			return NP_E_NOMEM;
	}
	return NP_OK;
}

int members_build(const struct np_modes *modes, struct members *ret, struct np_err *err)
{
	NP_CLEANUP(np_idmap_freep) struct np_idmap *counts = np_idmap_new();
	int rc = counts ? NP_OK : np_fail_nomem(err, "operators");

	for (uint32_t i = 0; i < modes->run->sources.count && rc == NP_OK; i++) {
		if (modes->run->ranks[i])
			rc = add_rank(modes, i, counts, ret, err);
	}
	if (rc == NP_OK && ret->list.count)
		qsort(ret->list.item, ret->list.count, sizeof(ret->list.item[0]), by_instance);
	return rc;
}

void members_release(struct members *members)
{
	np_vec_release(&members->list);
}

size_t members_end(const struct members *members, size_t first)
{
	const struct member *begin = &members->list.item[first];
	size_t end = first + 1;

	while (end < members->list.count && members->list.item[end].hash == begin->hash &&
	       members->list.item[end].name == begin->name &&
	       members->list.item[end].nth == begin->nth)
		end++;
	return end;
}

const struct np_comm_op *member_op(const struct np_modes *modes, const struct member *member)
{
	return &modes->run->ranks[member->rank]->ops.item[member->op];
}

np_ns member_time(const struct np_modes *modes, const struct member *member)
{
	const struct np_comm_op *op = member_op(modes, member);

	return op->end - op->start;
}

bool members_complete(const struct np_modes *modes, const struct members *members, size_t first,
		      size_t end)
{
	const struct np_communicator *communicator =
		np_cluster_communicator(modes->cluster, members->list.item[first].hash);

	return communicator && end - first == communicator->observed_count;
}

struct np_cell mode_group_cell(const struct np_modes *modes, uint64_t hash, char *buffer,
			       size_t size)
{
	const struct np_communicator *communicator = np_cluster_communicator(modes->cluster, hash);
	const char *name = communicator ? np_run_text(modes->run, communicator->name) : NULL;

	(void)snprintf(buffer, size, "%llu", (unsigned long long)hash);
	return np_cell_text(name ? name : buffer);
}
