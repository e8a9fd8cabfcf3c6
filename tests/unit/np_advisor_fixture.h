/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_FIXTURE_H
#define NP_ADVISOR_FIXTURE_H

/* A connection as rules have it, and answers as text: "1|a;2|b" for two rows of two columns. */

#include "np_test.h"

#include <stdlib.h>
#include <string.h>

#include "advisor/engine/sql/sql.h"

static struct adv_sql *open_sql(void)
{
	struct adv_sql *sql = NULL;
	struct np_err err = NP_ERR_INIT;

	assert_ok(adv_sql_open(&sql, &err), err);
	return sql;
}

/* What the SELECT gives, or "error: …"; freed by the caller. */
static char *answer(struct adv_sql *sql, const char *text)
{
	struct adv_sql_stmt *stmt = NULL;
	struct np_buf buf = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;
	char *copy;
	int rc = adv_sql_prepare(sql, text, false, &stmt, &err);

	while (rc >= 0 && (rc = adv_sql_step(stmt, &err)) > 0) {
		np_buf_add(&buf, buf.length ? ";" : "");
		for (size_t i = 0; i < adv_sql_columns(stmt); i++) {
			struct np_cell cell = adv_sql_cell(stmt, i);

			np_buf_add(&buf, i > 0 ? "|" : "");
			adv_cell_format(&buf, &cell);
		}
	}
	if (rc < 0) {
		np_buf_clear(&buf);
		np_buf_printf(&buf, "error: %s", err.text);
	}
	adv_sql_finish(stmt);
	copy = strdup(buf.text);
	np_buf_release(&buf);
	assert_non_null(copy);
	return copy;
}

#define assert_answer(sql, text, expected) \
	do { \
		char *answer_ = answer((sql), (text)); \
		assert_string_equal(answer_, (expected)); \
		free(answer_); \
	} while (0)

#endif /* NP_ADVISOR_FIXTURE_H */
