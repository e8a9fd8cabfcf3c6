/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and data types in SQL; what cannot be read gives NULL. */
#include "sql_connection.h"

#include <string.h>

#include "advisor/engine/data/shapes.h"

/* A number that is not known chooses no tensor and no axis. */
static bool number_of(sqlite3_value *value, int64_t *ret)
{
	*ret = sqlite3_value_int64(value);
	return sqlite3_value_type(value) != SQLITE_NULL;
}

static bool text_of(sqlite3_value *value, struct adv_text *ret)
{
	ret->bytes = (const char *)sqlite3_value_text(value);
	ret->length = (size_t)sqlite3_value_bytes(value);
	return ret->bytes != NULL;
}

static void give(sqlite3_context *context, int64_t number)
{
	adv_sql_result_cell(context, np_cell_integer(number), false);
}

/* shape_elems(shapes[, tensor]) */
static void shape_elems(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct adv_text shapes;
	int64_t tensor;

	if (!text_of(argv[0], &shapes) || (argc > 1 && !number_of(argv[1], &tensor)))
		return;
	give(context,
	     argc > 1 ? adv_shape_elements(shapes, tensor) : adv_shape_all_elements(shapes));
}

/* shape_count(shapes): tensors */
static void shape_count(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct adv_text shapes;

	(void)argc;
	if (text_of(argv[0], &shapes))
		give(context, adv_text_parts(shapes, ';'));
}

/* shape_ndim(shapes, tensor) */
static void shape_ndim(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct adv_text shapes;
	int64_t tensor;

	(void)argc;
	if (text_of(argv[0], &shapes) && number_of(argv[1], &tensor))
		give(context, adv_shape_axes(shapes, tensor));
}

/* shape_dim(shapes, tensor, axis): a negative axis counts from the end */
static void shape_dim(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct adv_text shapes;
	int64_t tensor;
	int64_t axis;

	(void)argc;
	if (text_of(argv[0], &shapes) && number_of(argv[1], &tensor) && number_of(argv[2], &axis))
		give(context, adv_shape_size(shapes, tensor, axis));
}

/* dtype_bytes(types[, tensor]): of an element; of the first tensor by default */
static void dtype_bytes(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct adv_text types;
	int64_t tensor = 0;

	if (text_of(argv[0], &types) && (argc == 1 || number_of(argv[1], &tensor)) &&
	    adv_text_part(types, ';', tensor, &types))
		give(context, adv_type_bytes(types));
}

/* shape_bytes(shapes, types): of all tensors together */
static void shape_bytes(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct adv_text shapes;
	struct adv_text types;

	(void)argc;
	if (text_of(argv[0], &shapes) && text_of(argv[1], &types))
		give(context, adv_shape_bytes(shapes, types));
}

/* Is the part among those of `list`, whatever the case? */
static bool listed(const char *list, size_t length, const char *part, size_t part_length)
{
	const char *end = list + length;

	while (list < end) {
		size_t one = strcspn(list, ",;");

		if (one > (size_t)(end - list))
			one = (size_t)(end - list);
		if (one == part_length && strncasecmp(list, part, one) == 0)
			return true;
		list += one + 1;
	}
	return false;
}

/* set_diff(a, b): what of the list `a` is not in `b`, once each, joined by ';' */
static void set_diff(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct np_buf result = NP_BUF_INIT;
	struct adv_text first;
	struct adv_text second;
	const char *end;

	(void)argc;
	if (!text_of(argv[0], &first) || !text_of(argv[1], &second))
		return;
	end = first.bytes + first.length;
	for (const char *a = first.bytes; a < end;) {
		size_t one = strcspn(a, ",;");

		if (one > 0 && !listed(second.bytes, second.length, a, one) &&
		    !listed(result.text, result.length, a, one)) {
			np_buf_add(&result, result.length ? ";" : "");
			np_buf_add_bytes(&result, a, one);
		}
		a += one + 1;
	}
	if (result.failed)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text64(context, result.text, result.length, SQLITE_TRANSIENT,
				      SQLITE_UTF8);
	np_buf_release(&result);
}

int adv_sql_add_shapes(struct adv_sql *sql)
{
	static const struct {
		const char *name;
		int arguments;
		void (*function)(sqlite3_context *, int, sqlite3_value **);
	} functions[] = {
		{ "shape_elems", 1, shape_elems }, { "shape_elems", 2, shape_elems },
		{ "shape_count", 1, shape_count }, { "shape_ndim", 2, shape_ndim },
		{ "shape_dim", 3, shape_dim },     { "shape_bytes", 2, shape_bytes },
		{ "dtype_bytes", 1, dtype_bytes }, { "dtype_bytes", 2, dtype_bytes },
		{ "set_diff", 2, set_diff },
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < NP_COUNT(functions) && rc == SQLITE_OK; i++)
		rc = sqlite3_create_function(sql->db, functions[i].name, functions[i].arguments,
					     SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
					     functions[i].function, NULL, NULL);
	return rc;
}
