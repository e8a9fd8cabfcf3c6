/* SPDX-License-Identifier: Apache-2.0 */
/* Puts SQL together from pieces of a rule and remembers where they lie. */
#include "compose.h"

#include <string.h>

#include "advisor/engine/sql/sql.h"

void adv_composed_release(struct adv_composed *composed)
{
	np_buf_release(&composed->text);
	np_vec_release(&composed->pieces);
}

void adv_compose(struct adv_composed *composed, const char *words)
{
	np_buf_add(&composed->text, words);
}

void adv_compose_name(struct adv_composed *composed, const char *name)
{
	adv_sql_quote(&composed->text, name);
}

void adv_compose_sql(struct adv_composed *composed, const struct adv_rule_sql *sql)
{
	struct adv_piece *piece = np_vec_add(&composed->pieces, NULL);

	if (piece) {
		piece->sql = sql;
		piece->offset = composed->text.length;
		piece->length = strlen(sql->text);
	}
	np_buf_add(&composed->text, sql->text);
	/* A comment at the end of a piece must not swallow what follows. */
	np_buf_add(&composed->text, "\n");
}

void adv_compose_inner(struct adv_composed *composed, struct adv_composed *inner)
{
	size_t moved;

	adv_compose(composed, " FROM (");
	moved = composed->text.length;
	adv_compose(composed, inner->text.text);
	adv_compose(composed, ")");
	for (size_t i = 0; i < inner->pieces.count; i++) {
		struct adv_piece *piece = np_vec_add(&composed->pieces, NULL);

		if (!piece)
			break;
		*piece = inner->pieces.item[i];
		piece->offset += moved;
	}
	adv_composed_release(inner);
}

const struct adv_piece *adv_composed_piece(const struct adv_composed *composed, size_t offset)
{
	for (size_t i = 0; i < composed->pieces.count; i++) {
		const struct adv_piece *piece = &composed->pieces.item[i];

		if (offset >= piece->offset && offset <= piece->offset + piece->length)
			return piece;
	}
	return composed->pieces.count > 0 ? &composed->pieces.item[0] : NULL;
}
