/* SPDX-License-Identifier: Apache-2.0 */
/* Reads shapes and data types, and what kernels of known types do with them. */
#include "shapes.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "npuprof/text.h"

bool adv_text_part(struct adv_text list, char separator, int64_t index, struct adv_text *ret)
{
	const char *at = list.bytes;
	const char *end = list.bytes + list.length;

	for (; at && index >= 0; index--) {
		const char *stop = memchr(at, separator, (size_t)(end - at));

		if (index == 0) {
			*ret = (struct adv_text){ at, (size_t)((stop ? stop : end) - at) };
			return true;
		}
		if (!stop)
			return false;
		at = stop + 1;
	}
	return false;
}

int64_t adv_text_parts(struct adv_text list, char separator)
{
	int64_t count = 1;

	if (list.length == 0)
		return 0;
	for (size_t i = 0; i < list.length; i++)
		count += list.bytes[i] == separator;
	return count;
}

/* Take the first part off a list that is not at its end; what is left of the last is NULL. */
static struct adv_text take_part(struct adv_text *list, char separator)
{
	const char *stop = memchr(list->bytes, separator, list->length);
	struct adv_text part = { list->bytes, stop ? (size_t)(stop - list->bytes) : list->length };

	list->bytes = stop ? stop + 1 : NULL;
	list->length -= part.length + (stop != NULL);
	return part;
}

/* A size, mostly of a few digits. */
static bool read_size(struct adv_text part, int64_t *ret)
{
	int64_t value = 0;

	if (part.length == 0 || part.length > 18)
		return np_text_to_int(part.bytes, part.length, ret);
	for (size_t i = 0; i < part.length; i++) {
		unsigned digit = (unsigned char)part.bytes[i] - (unsigned)'0';

		if (digit > 9)
			return np_text_to_int(part.bytes, part.length, ret);
		value = 10 * value + digit;
	}
	*ret = value;
	return true;
}

/* Elements of one tensor; 1 for one without dimensions. */
static int64_t elements_of(struct adv_text shape)
{
	int64_t product = 1;

	if (shape.length == 0)
		return product;
	while (shape.bytes) {
		int64_t size;

		if (!read_size(take_part(&shape, ','), &size) || size < 0 ||
		    __builtin_mul_overflow(product, size, &product))
			return NP_UNKNOWN;
	}
	return product;
}

int64_t adv_shape_elements(struct adv_text shapes, int64_t tensor)
{
	struct adv_text shape;

	if (shapes.length == 0 || !adv_text_part(shapes, ';', tensor, &shape))
		return NP_UNKNOWN;
	return shape.length > 0 ? elements_of(shape) : 0;
}

int64_t adv_shape_all_elements(struct adv_text shapes)
{
	int64_t sum = 0;

	while (shapes.bytes && shapes.length > 0) {
		struct adv_text shape = take_part(&shapes, ';');

		if (shape.length > 0)
			sum = np_plus(sum, elements_of(shape));
	}
	return sum;
}

int64_t adv_shape_axes(struct adv_text shapes, int64_t tensor)
{
	struct adv_text shape;

	return adv_text_part(shapes, ';', tensor, &shape) ? adv_text_parts(shape, ',') : NP_UNKNOWN;
}

int64_t adv_shape_size(struct adv_text shapes, int64_t tensor, int64_t axis)
{
	struct adv_text part;
	int64_t size;

	if (!adv_text_part(shapes, ';', tensor, &part))
		return NP_UNKNOWN;
	if (axis < 0)
		axis += adv_text_parts(part, ',');
	return axis >= 0 && adv_text_part(part, ',', axis, &part) && read_size(part, &size)
		       ? size
		       : NP_UNKNOWN;
}

int64_t adv_type_bytes(struct adv_text type)
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

	if (type.length > 3 && strncasecmp(type.bytes, "dt_", 3) == 0) {
		type.bytes += 3;
		type.length -= 3;
	}
	for (size_t i = 0; i < NP_COUNT(types); i++) {
		if (strlen(types[i].name) == type.length &&
		    strncasecmp(types[i].name, type.bytes, type.length) == 0)
			return types[i].bytes;
	}
	return NP_UNKNOWN;
}

int64_t adv_shape_bytes(struct adv_text shapes, struct adv_text types)
{
	int64_t sum = 0;
	struct adv_text last = { NULL, 0 };
	int64_t last_size = NP_UNKNOWN;

	if (!shapes.bytes || !types.bytes)
		return NP_UNKNOWN;
	if (shapes.length == 0)
		return 0;
	while (shapes.bytes) {
		struct adv_text shape = take_part(&shapes, ';');
		struct adv_text type;
		int64_t elements;
		int64_t size;

		if (!types.bytes)
			return NP_UNKNOWN;
		type = take_part(&types, ';');
		elements = elements_of(shape);
		/* Tensors are mostly of the type of the one before. */
		if (!last.bytes || last.length != type.length ||
		    memcmp(last.bytes, type.bytes, type.length) != 0)
			last_size = adv_type_bytes(type);
		last = type;
		size = last_size;
		if (shape.length == 0 && size == NP_UNKNOWN)
			continue; /* an input that was not given */
		if (elements == NP_UNKNOWN || size == NP_UNKNOWN ||
		    __builtin_mul_overflow(elements, size, &size))
			return NP_UNKNOWN;
		sum = np_plus(sum, size);
	}
	return sum;
}

/* --- what kernels do ------------------------------------------------------------------------ */

static bool is_text(struct adv_text text, const char *wanted)
{
	return text.bytes && text.length == strlen(wanted) &&
	       memcmp(text.bytes, wanted, text.length) == 0;
}

static bool begins(struct adv_text *text, const char *with)
{
	size_t length = strlen(with);

	if (text->length < length || strncasecmp(text->bytes, with, length) != 0)
		return false;
	text->bytes += length;
	text->length -= length;
	return true;
}

/* [Batch]MatMul, with a V and a digit or without, or Gemm; whatever the case. */
static bool is_matrix_product(struct adv_text type)
{
	struct adv_text gemm = type;

	if (!type.bytes)
		return false;
	if (begins(&gemm, "gemm"))
		return gemm.length == 0;
	(void)begins(&type, "batch");
	if (!begins(&type, "matmul"))
		return false;
	return type.length == 0 || (type.length == 2 && (type.bytes[0] | 0x20) == 'v' &&
				    type.bytes[1] >= '0' && type.bytes[1] <= '9');
}

/* Matrices that are multiplied, each with its own. */
static int64_t batches_of(const struct adv_kernel_shapes *kernel)
{
	int64_t out = adv_shape_axes(kernel->out_shapes, 0);
	int64_t size;

	if (out == 3 && adv_shape_axes(kernel->in_shapes, 0) == 3 &&
	    adv_shape_axes(kernel->in_shapes, 1) == 3)
		return adv_shape_size(kernel->out_shapes, 0, 0);
	/* Four dimensions of a fractal format are those of one matrix. */
	if (out == 4 && adv_shape_axes(kernel->in_shapes, 1) == 4 && kernel->in_formats.bytes &&
	    !memmem(kernel->in_formats.bytes, kernel->in_formats.length, "NZ", 2)) {
		int64_t rows = adv_shape_size(kernel->out_shapes, 0, 1);

		size = adv_shape_size(kernel->out_shapes, 0, 0);
		return size == NP_UNKNOWN || rows == NP_UNKNOWN ||
				       __builtin_mul_overflow(size, rows, &size)
			       ? NP_UNKNOWN
			       : size;
	}
	return 1;
}

/* What is divided by nothing, or by what is not known, is not known. */
static double divided(double by_what, int64_t by)
{
	return by == NP_UNKNOWN || by == 0 ? (double)NAN : by_what / (double)by;
}

/* Channels of a tensor: NCHW, or NC1HWC0 with the fifth. */
static int64_t channels_of(struct adv_text shapes, int64_t tensor)
{
	int64_t channels = adv_shape_size(shapes, tensor, 1);
	int64_t fifth = adv_shape_axes(shapes, tensor) == 5 ? adv_shape_size(shapes, tensor, 4) : 1;

	return channels == NP_UNKNOWN || fifth == NP_UNKNOWN ||
			       __builtin_mul_overflow(channels, fifth, &channels)
		       ? NP_UNKNOWN
		       : channels;
}

/* 2 × a × b / channels. */
static double convolution(int64_t a, int64_t b, int64_t channels)
{
	return a == NP_UNKNOWN || b == NP_UNKNOWN ? (double)NAN
						  : divided(2.0 * (double)a * (double)b, channels);
}

double adv_kernel_operations(const struct adv_kernel_shapes *kernel)
{
	const struct adv_text in = kernel->in_shapes;
	const struct adv_text out = kernel->out_shapes;

	if (is_matrix_product(kernel->type)) {
		int64_t a = adv_shape_elements(in, 0);
		int64_t b = adv_shape_elements(in, 1);
		int64_t c = adv_shape_elements(out, 0);

		if (a <= 0 || b <= 0 || c <= 0)
			return (double)NAN;
		/* m·k, k·n and m·n elements: 2·m·n·k. */
		return 2.0 * (double)c *
		       sqrt(divided((double)a * (double)b / (double)c, batches_of(kernel)));
	}
	if (is_text(kernel->type, "Conv2D") && adv_shape_elements(out, 0) > 0)
		return convolution(adv_shape_elements(out, 0), adv_shape_elements(in, 1),
				   channels_of(out, 0));
	if (is_text(kernel->type, "Conv2DBackpropInput") && adv_shape_elements(in, 1) > 0)
		return convolution(adv_shape_elements(in, 2), adv_shape_elements(in, 1),
				   channels_of(in, 2));
	if (is_text(kernel->type, "Conv2DBackpropFilter") && adv_shape_elements(out, 0) > 0)
		return convolution(adv_shape_elements(in, 2), adv_shape_elements(out, 0),
				   channels_of(in, 2));
	return (double)NAN;
}

double adv_kernel_rate(const struct adv_kernel_shapes *kernel)
{
	static const char *const halves[] = { "FLOAT16;", "BF16;", "BFLOAT16;" };
	struct adv_text types = kernel->in_types;

	if (!types.bytes)
		return (double)NAN;
	if (types.length > 3 && memcmp(types.bytes, "DT_", 3) == 0) {
		types.bytes += 3;
		types.length -= 3;
	}
	for (size_t i = 0; i < NP_COUNT(halves); i++) {
		size_t length = strlen(halves[i]);

		if (types.length >= length && memcmp(types.bytes, halves[i], length) == 0)
			return 1.0;
	}
	return types.length >= 5 && memcmp(types.bytes, "INT8;", 5) == 0 ? 2.0 : (double)NAN;
}
