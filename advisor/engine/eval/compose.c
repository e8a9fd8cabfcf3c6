/* SPDX-License-Identifier: Apache-2.0 */
/* Puts SQL together from pieces of a rule and remembers where they lie. */
#include "compose.h"

#include <string.h>

#include "advisor/engine/sql/sql.h"

void composed_release(struct composed *composed)
{
	np_buf_release(&composed->text);
	np_vec_release(&composed->pieces);
}

void compose(struct composed *composed, const char *words)
{
	np_buf_add(&composed->text, words);
}

void compose_name(struct composed *composed, const char *name)
{
	sql_quote(&composed->text, name);
}

void compose_sql(struct composed *composed, const struct rule_sql *sql)
{
	struct piece *piece = np_vec_add(&composed->pieces, NULL);

	if (piece) {
		piece->sql = sql;
		piece->offset = composed->text.length;
		piece->length = strlen(sql->text);
	}
	np_buf_add(&composed->text, sql->text);
	/* A comment at the end of a piece must not swallow what follows. */
	np_buf_add(&composed->text, "\n");
}

void compose_inner(struct composed *composed, struct composed *inner)
{
	size_t moved;

	compose(composed, " FROM (");
	moved = composed->text.length;
	compose(composed, inner->text.text);
	compose(composed, ")");
	for (size_t i = 0; i < inner->pieces.count; i++) {
		struct piece *piece = np_vec_add(&composed->pieces, NULL);

		if (!piece)
			break;
		*piece = inner->pieces.item[i];
		piece->offset += moved;
	}
	composed_release(inner);
}

const struct piece *composed_piece(const struct composed *composed, size_t offset)
{
	for (size_t i = 0; i < composed->pieces.count; i++) {
		const struct piece *piece = &composed->pieces.item[i];

		if (offset >= piece->offset && offset <= piece->offset + piece->length)
			return piece;
	}
	return composed->pieces.count > 0 ? &composed->pieces.item[0] : NULL;
}
