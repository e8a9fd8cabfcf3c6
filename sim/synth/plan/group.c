/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the communicators of a run with their names and members (group.h). */
#include "group.h"

#include "rng.h"

static const char *const pg_names[SYN_ROLES] = {
	[SYN_ROLE_WORLD] = "default_group",
	[SYN_ROLE_TP] = "tp",
	[SYN_ROLE_CP] = "cp",
	[SYN_ROLE_DP] = "dp",
	[SYN_ROLE_DP_CP] = "dp_cp",
	[SYN_ROLE_PP] = "pp",
	[SYN_ROLE_EXP] = "exp",
	[SYN_ROLE_MP] = "mp",
};

/* Two ranks share a group of this role when they agree in everything but the free coordinates. */
static bool same_group(enum syn_role role, const struct syn_place *a, const struct syn_place *b,
		       int32_t ep)
{
	bool free_tp = role == SYN_ROLE_TP || role == SYN_ROLE_MP;
	bool free_cp = role == SYN_ROLE_CP || role == SYN_ROLE_DP_CP;
	bool free_dp = role == SYN_ROLE_DP || role == SYN_ROLE_DP_CP;
	bool free_pp = role == SYN_ROLE_PP || role == SYN_ROLE_MP;

	if (role == SYN_ROLE_WORLD)
		return true;
	if (role == SYN_ROLE_EXP)
		free_dp = a->dp / ep == b->dp / ep;
	return (free_tp || a->tp == b->tp) && (free_cp || a->cp == b->cp) &&
	       (free_dp || a->dp == b->dp) && (free_pp || a->pp == b->pp);
}

uint64_t syn_name_hash(const char *name)
{
	uint32_t high = 0;
	uint32_t low = 0;

	for (const char *c = name; *c; c++) {
		high = high * 29 + (unsigned char)*c;
		low = low * 131 + (unsigned char)*c;
	}
	return (uint64_t)high << 32 | low;
}

/* As torch_npu does: address and port of the first member, a counter and a time of creation. */
static void name_group(struct syn_group *group, const struct syn_config *config, size_t index)
{
	struct syn_place root = syn_place_of(config, group->ranks[0]);
	struct syn_key key = { config->name_seed, SYN_FOR_NAME, index, 0, 0 };

	(void)snprintf(group->name, sizeof(group->name), "10.0.%d.%d%%eth0_6%04d_%zu_17364105%08u",
		       root.host / 250, root.host % 250 + 1, root.device, index,
		       (unsigned)(syn_bits(&key) % 100000000));
	group->hash = syn_name_hash(group->name);
}

static int add_group(struct syn_groups *groups, const struct syn_config *config, enum syn_role role,
		     int32_t first, struct np_err *err)
{
	struct syn_place root = syn_place_of(config, first);
	int32_t *ranks = calloc((size_t)config->ranks, sizeof(*ranks));
	struct syn_group *group = ranks ? np_vec_add(&groups->all, err) : NULL;
	int32_t index = (int32_t)groups->all.count - 1;

	if (!group) {
		free(ranks);
		return np_fail_nomem(err, "a communicator");
	}
	*group = (struct syn_group){ .role = role, .pg_name = pg_names[role], .ranks = ranks };
	group->one_host = true;
	for (int32_t rank = first; rank < config->ranks; rank++) {
		struct syn_place place = syn_place_of(config, rank);

		if (!same_group(role, &root, &place, (int32_t)config->ep))
			continue;
		group->ranks[group->size++] = rank;
		groups->of[rank * SYN_ROLES + (int32_t)role] = index;
		group->one_host = group->one_host && place.host == root.host;
	}
	name_group(group, config, (size_t)index);
	return NP_OK;
}

static int32_t size_of(const struct syn_config *config, enum syn_role role)
{
	switch (role) {
	case SYN_ROLE_TP:
		return (int32_t)config->tp;
	case SYN_ROLE_CP:
		return (int32_t)config->cp;
	case SYN_ROLE_DP:
		return (int32_t)config->dp;
	case SYN_ROLE_DP_CP:
		/* Without context parallelism it would be a second name for dp. */
		return config->cp > 1 ? (int32_t)(config->dp * config->cp) : 1;
	case SYN_ROLE_PP:
		return (int32_t)config->pp;
	case SYN_ROLE_EXP:
		return (int32_t)config->ep;
	case SYN_ROLE_MP:
		return config->tp > 1 && config->pp > 1 ? (int32_t)(config->tp * config->pp) : 1;
	case SYN_ROLE_WORLD:
	case SYN_ROLES:
		break;
	}
	return (int32_t)config->ranks;
}

int syn_groups_init(struct syn_groups *groups, const struct syn_config *config, struct np_err *err)
{
	size_t slots = (size_t)config->ranks * SYN_ROLES;

	*groups = (struct syn_groups){ 0 };
	groups->of = calloc(slots, sizeof(*groups->of));
	if (!groups->of)
		return np_fail_nomem(err, "the communicators");
	for (size_t i = 0; i < slots; i++)
		groups->of[i] = -1;
	for (int role = 0; role < SYN_ROLES; role++) {
		if (size_of(config, (enum syn_role)role) < 2)
			continue;
		for (int32_t rank = 0; rank < config->ranks; rank++) {
			int rc = NP_OK;

			if (groups->of[rank * SYN_ROLES + role] < 0)
				rc = add_group(groups, config, (enum syn_role)role, rank, err);
			if (rc < 0)
				return rc;
		}
	}
	return NP_OK;
}

void syn_groups_release(struct syn_groups *groups)
{
	for (size_t i = 0; i < groups->all.count; i++)
		free(groups->all.item[i].ranks);
	np_vec_release(&groups->all);
	free(groups->of);
	groups->of = NULL;
}

int32_t syn_group_of(const struct syn_groups *groups, int32_t rank, enum syn_role role)
{
	return groups->of[rank * SYN_ROLES + (int32_t)role];
}

int32_t syn_local_rank(const struct syn_group *group, int32_t rank)
{
	int32_t low = 0;
	int32_t high = group->size;

	while (low < high) {
		int32_t middle = low + (high - low) / 2;

		if (group->ranks[middle] < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < group->size && group->ranks[low] == rank ? low : -1;
}
