/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_COMPOSE_H
#define NP_ADVISOR_COMPOSE_H

#include "npuprof/buf.h"

#include "advisor/engine/rules/rule.h"

/*
 * SQL put together from pieces of a rule and words of the engine's. It knows where
 * the pieces lie, so that a mistake in one is reported at its place in the rule file.
 */
struct piece {
	const struct rule_sql *sql;
	size_t offset;
	size_t length;
};

struct composed {
	struct np_buf text;
	NP_VEC(struct piece) pieces;
};

#define COMPOSED_INIT ((struct composed){ .text = NP_BUF_INIT })

void composed_release(struct composed *composed);

void compose(struct composed *composed, const char *words);
void compose_name(struct composed *composed, const char *name);
void compose_sql(struct composed *composed, const struct rule_sql *sql);

/* " FROM (…)": put in what was composed before, and release it. */
void compose_inner(struct composed *composed, struct composed *inner);

/* The piece that holds an offset of the text, or the first one; NULL if there are none. */
const struct piece *composed_piece(const struct composed *composed, size_t offset);

#endif /* NP_ADVISOR_COMPOSE_H */
