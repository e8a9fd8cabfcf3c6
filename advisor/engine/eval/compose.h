/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_COMPOSE_H
#define NP_ADVISOR_COMPOSE_H

#include "npuprof/buf.h"

#include "advisor/engine/rules/rule.h"

/*
 * SQL put together from pieces of a rule and words of the engine's. It knows where
 * the pieces lie, so that a mistake in one is reported at its place in the rule file.
 */
struct adv_piece {
	const struct adv_rule_sql *sql;
	size_t offset;
	size_t length;
};

struct adv_composed {
	struct np_buf text;
	NP_VEC(struct adv_piece) pieces;
};

#define COMPOSED_INIT ((struct adv_composed){ .text = NP_BUF_INIT })

void adv_composed_release(struct adv_composed *composed);

void adv_compose(struct adv_composed *composed, const char *words);
void adv_compose_name(struct adv_composed *composed, const char *name);
void adv_compose_sql(struct adv_composed *composed, const struct adv_rule_sql *sql);

/* " FROM (…)": put in what was composed before, and release it. */
void adv_compose_inner(struct adv_composed *composed, struct adv_composed *inner);

/* The piece that holds an offset of the text, or the first one; NULL if there are none. */
const struct adv_piece *adv_composed_piece(const struct adv_composed *composed, size_t offset);

#endif /* NP_ADVISOR_COMPOSE_H */
