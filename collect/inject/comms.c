/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "inject.h"

static const struct np_comm_info *find(const struct np_inject *inject, HcclComm handle)
{
	for (size_t i = inject->comms.count; i-- > 0;)
		if (inject->comms.item[i].handle == handle)
			return &inject->comms.item[i];
	return NULL;
}

static bool has_name(const struct np_inject *inject, const char *name)
{
	for (size_t i = 0; i < inject->comms.count; i++)
		if (strcmp(inject->comms.item[i].name, name) == 0)
			return true;
	return false;
}

/*
 * What a communicator is for: what the application says, or the name it gave without the
 * number behind it: "tp_3" is one of those called "tp".
 */
static void find_role(struct np_comm_info *comm)
{
	size_t length = strlen(comm->given_name);

	if (comm->pg_name[0] || length == 0)
		return;
	while (length > 0 && strchr("0123456789", comm->given_name[length - 1]))
		length--;
	while (length > 0 && strchr("_-:", comm->given_name[length - 1]))
		length--;
	memcpy(comm->pg_name, comm->given_name, length);
	comm->pg_name[length] = '\0';
}

static uint32_t *no_ranks(const struct np_comm_info *comm)
{
	return comm->size > 0 ? calloc(comm->size, sizeof(uint32_t)) : NULL;
}

/* Members that were given as ranks of a communicator whose members are known. */
static void members_of_parent(struct np_comm_info *comm, const struct np_comm_info *parent,
			      const uint32_t *ranks)
{
	uint32_t *list;

	if (!parent || !parent->ranks)
		return;
	for (uint32_t i = 0; i < comm->size; i++)
		if (ranks[i] >= parent->size)
			return;
	list = no_ranks(comm);
	for (uint32_t i = 0; list && i < comm->size; i++)
		list[i] = parent->ranks[ranks[i]];
	comm->ranks = list;
}

/* A communicator as large as the job has everybody in it. */
static void members_everybody(const struct np_inject *inject, struct np_comm_info *comm)
{
	comm->ranks = no_ranks(comm);
	for (uint32_t i = 0; comm->ranks && i < comm->size; i++)
		comm->ranks[i] = i;
	if (!comm->pg_name[0])
		(void)snprintf(comm->pg_name, sizeof(comm->pg_name), "default_group");
	if (inject->rank >= 0 && comm->group_rank != (uint32_t)inject->rank)
		np_control_say(
			inject, NP_MSG_PROF_ERROR, NP_UNKNOWN, NP_UNKNOWN,
			"the rank in the communicator of all is not the rank of the launcher");
}

static void find_members(const struct np_inject *inject, struct np_comm_info *comm,
			 const struct np_comm_info *parent, const uint32_t *ranks)
{
	int32_t world = inject->config.world_size;

	if (ranks) {
		members_of_parent(comm, parent, ranks);
	} else if (world > 0 && comm->size == (uint32_t)world) {
		members_everybody(inject, comm);
	} else if (comm->size == 1 && inject->rank >= 0) {
		comm->ranks = no_ranks(comm);
		if (comm->ranks)
			comm->ranks[0] = (uint32_t)inject->rank;
	}
}

void np_comms_add(struct np_inject *inject, const struct np_comm_info *info, HcclComm parent,
		  const uint32_t *ranks)
{
	char text[2 * HCCL_COMM_NAME_BYTES + 1];
	struct np_comm_info comm = *info;
	struct np_comm_info *slot;

	if (info->size == 0 || has_name(inject, info->name))
		return;
	comm.ranks = NULL;
	find_role(&comm);
	find_members(inject, &comm, find(inject, parent), ranks);
	slot = np_vec_add(&inject->comms, NULL);
	if (!slot) {
		free(comm.ranks);
		return;
	}
	*slot = comm;
	(void)snprintf(text, sizeof(text), "%s\n%s", comm.name, comm.pg_name);
	np_control_say(inject, NP_MSG_COMM, comm.group_rank, comm.size, text);
}
