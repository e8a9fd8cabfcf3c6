/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes and data types as the views write them: tensors separated by ';',
 * dimensions by ','. "32,3;64" are two tensors; "32,3;;64" three, of which the
 * second has no dimension. What cannot be read gives NULL.
 */
#include "sql_connection.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "npuprof/text.h"

/* The part of `text` between separators number `index` − 1 and `index`; false behind the last. */
static bool nth_part(const char *text, size_t length, char separator, int64_t index,
		     const char **ret, size_t *ret_length)
{
	const char *end = text + length;

	for (; index >= 0; index--) {
		const char *stop = memchr(text, separator, (size_t)(end - text));

		if (index == 0) {
			*ret = text;
			*ret_length = (size_t)((stop ? stop : end) - text);
			return true;
		}
		if (!stop)
			return false;
		text = stop + 1;
	}
	return false;
}

static int64_t count_parts(const char *text, size_t length, char separator)
{
	int64_t count = 1;

	if (length == 0)
		return 0;
	for (size_t i = 0; i < length; i++)
		count += text[i] == separator;
	return count;
}

/* Elements of one tensor; 1 for one without dimensions, NP_UNKNOWN for what is no shape. */
static int64_t elements_of(const char *text, size_t length)
{
	int64_t product = 1;

	for (int64_t axis = 0; axis < count_parts(text, length, ','); axis++) {
		const char *part;
		size_t part_length;
		int64_t size;

		if (!nth_part(text, length, ',', axis, &part, &part_length) ||
		    !np_text_to_int(part, part_length, &size) || size < 0 ||
		    __builtin_mul_overflow(product, size, &product))
			return NP_UNKNOWN;
	}
	return product;
}

/* A number that is not known chooses no tensor and no axis. */
static bool number_of(sqlite3_value *value, int64_t *ret)
{
	*ret = sqlite3_value_int64(value);
	return sqlite3_value_type(value) != SQLITE_NULL;
}

static bool text_of(sqlite3_value *value, const char **ret, size_t *ret_length)
{
	*ret = (const char *)sqlite3_value_text(value);
	*ret_length = (size_t)sqlite3_value_bytes(value);
	return *ret != NULL;
}

/* shape_elems(shapes[, tensor]) */
static void shape_elems(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text;
	size_t length;
	int64_t wanted = 0;
	int64_t sum = 0;

	if (!text_of(argv[0], &text, &length) || (argc > 1 && !number_of(argv[1], &wanted)))
		return;
	for (int64_t tensor = 0; tensor < count_parts(text, length, ';'); tensor++) {
		const char *part;
		size_t part_length;

		if (argc > 1 && tensor != wanted)
			continue;
		if (nth_part(text, length, ';', tensor, &part, &part_length) && part_length > 0)
			sum = np_plus(sum, elements_of(part, part_length));
		if (argc > 1) {
			adv_sql_result_cell(context, np_cell_integer(sum), false);
			return;
		}
	}
	if (argc == 1)
		adv_sql_result_cell(context, np_cell_integer(sum), false);
}

/* shape_count(shapes): tensors */
static void shape_count(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text;
	size_t length;

	(void)argc;
	if (text_of(argv[0], &text, &length))
		sqlite3_result_int64(context, count_parts(text, length, ';'));
}

/* shape_ndim(shapes, tensor) */
static void shape_ndim(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text;
	size_t length;
	int64_t tensor;

	(void)argc;
	if (text_of(argv[0], &text, &length) && number_of(argv[1], &tensor) &&
	    nth_part(text, length, ';', tensor, &text, &length))
		sqlite3_result_int64(context, count_parts(text, length, ','));
}

/* shape_dim(shapes, tensor, axis): a negative axis counts from the end */
static void shape_dim(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text;
	size_t length;
	int64_t tensor;
	int64_t axis;
	int64_t size;

	(void)argc;
	if (!text_of(argv[0], &text, &length) || !number_of(argv[1], &tensor) ||
	    !number_of(argv[2], &axis) || !nth_part(text, length, ';', tensor, &text, &length))
		return;
	if (axis < 0)
		axis += count_parts(text, length, ',');
	if (axis >= 0 && nth_part(text, length, ',', axis, &text, &length) &&
	    np_text_to_int(text, length, &size))
		sqlite3_result_int64(context, size);
}

static int64_t bytes_of_type(const char *text, size_t length)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} types[] = {
		{ "float", 4 },         { "float32", 4 },     { "fp32", 4 },
		{ "float16", 2 },       { "fp16", 2 },        { "half", 2 },
		{ "bf16", 2 },          { "bfloat16", 2 },    { "double", 8 },
		{ "float64", 8 },       { "fp64", 8 },        { "int8", 1 },
		{ "uint8", 1 },         { "bool", 1 },        { "int16", 2 },
		{ "uint16", 2 },        { "int32", 4 },       { "uint32", 4 },
		{ "int", 4 },           { "int64", 8 },       { "uint64", 8 },
		{ "long", 8 },          { "complex64", 8 },   { "complex128", 16 },
		{ "float8_e4m3fn", 1 }, { "float8_e5m2", 1 }, { "hifloat8", 1 },
	};

	if (length > 3 && strncasecmp(text, "dt_", 3) == 0) {
		text += 3;
		length -= 3;
	}
	for (size_t i = 0; i < NP_COUNT(types); i++) {
		if (strlen(types[i].name) == length &&
		    strncasecmp(types[i].name, text, length) == 0)
			return types[i].bytes;
	}
	return NP_UNKNOWN;
}

/* dtype_bytes(types[, tensor]): of an element; of the first tensor by default */
static void dtype_bytes(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text;
	size_t length;
	int64_t tensor = 0;

	if (text_of(argv[0], &text, &length) && (argc == 1 || number_of(argv[1], &tensor)) &&
	    nth_part(text, length, ';', tensor, &text, &length))
		adv_sql_result_cell(context, np_cell_integer(bytes_of_type(text, length)), false);
}

/* shape_bytes(shapes, types): of all tensors together */
static void shape_bytes(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *shapes;
	const char *types;
	size_t shapes_length;
	size_t types_length;
	int64_t sum = 0;

	(void)argc;
	if (!text_of(argv[0], &shapes, &shapes_length) || !text_of(argv[1], &types, &types_length))
		return;
	for (int64_t i = 0; i < count_parts(shapes, shapes_length, ';'); i++) {
		const char *shape;
		const char *type;
		size_t shape_length;
		size_t type_length;
		int64_t elements;
		int64_t size;

		if (!nth_part(shapes, shapes_length, ';', i, &shape, &shape_length) ||
		    !nth_part(types, types_length, ';', i, &type, &type_length))
			return;
		elements = elements_of(shape, shape_length);
		size = bytes_of_type(type, type_length);
		if (shape_length == 0 && size == NP_UNKNOWN)
			continue; /* an input that was not given */
		if (elements == NP_UNKNOWN || size == NP_UNKNOWN ||
		    __builtin_mul_overflow(elements, size, &size))
			return;
		sum = np_plus(sum, size);
	}
	adv_sql_result_cell(context, np_cell_integer(sum), false);
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
	const char *a;
	const char *b;
	const char *end;
	size_t a_length;
	size_t b_length;

	(void)argc;
	if (!text_of(argv[0], &a, &a_length) || !text_of(argv[1], &b, &b_length))
		return;
	for (end = a + a_length; a < end;) {
		size_t one = strcspn(a, ",;");

		if (one > 0 && !listed(b, b_length, a, one) &&
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
