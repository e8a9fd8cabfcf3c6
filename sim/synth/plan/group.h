/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_GROUP_H
#define SYN_GROUP_H

#include "config.h"

/*
 * Communicators: who is in them and what they are called.
 */
enum syn_role {
	SYN_ROLE_WORLD,
	SYN_ROLE_TP,
	SYN_ROLE_CP,
	SYN_ROLE_DP,    /* same weights: data-parallel alone */
	SYN_ROLE_DP_CP, /* same weights, over context-parallel ranks too */
	SYN_ROLE_PP,
	SYN_ROLE_EXP,
	SYN_ROLE_MP, /* one copy of the model; known by name, never used */
	SYN_ROLES,
};

struct syn_group {
	enum syn_role role;
	const char *pg_name;
	char name[160];
	uint64_t hash;
	int32_t size;
	int32_t *ranks; /* ascending: position is the rank inside the group */
	bool one_host;  /* all members are joined by HCCS */
};

struct syn_groups {
	NP_VEC(struct syn_group) all;
	int32_t *of; /* [rank * SYN_ROLES + role]: index in `all`, or -1 */
};

/* Groups of a single rank do not exist. */
int syn_groups_init(struct syn_groups *groups, const struct syn_config *config, struct np_err *err)
	NP_MUST_USE;
void syn_groups_release(struct syn_groups *groups);

/* The group in which `rank` plays `role`, or -1. */
int32_t syn_group_of(const struct syn_groups *groups, int32_t rank, enum syn_role role);

/* Position of a rank in a group, or -1. */
int32_t syn_local_rank(const struct syn_group *group, int32_t rank);

/* The hash by which operator names and analysis files know a communicator. */
uint64_t syn_name_hash(const char *name);

#endif /* SYN_GROUP_H */
