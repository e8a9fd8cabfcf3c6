/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_SHAPES_H
#define NP_ADVISOR_SHAPES_H

#include "npuprof/base.h"

/*
 * Shapes and data types as the views write them
 * =============================================
 *
 * Tensors are separated by ';', dimensions by ','. "32,3;64" are two tensors; "32,3;;64" three,
 * of which the second has no dimension. What is not there, or cannot be read, is NP_UNKNOWN.
 */
struct adv_text {
	const char *bytes; /* NULL: there is no text */
	size_t length;
};

/* The part number `index` of a list, false behind the last. */
bool adv_text_part(struct adv_text list, char separator, int64_t index, struct adv_text *ret);

/* How many parts a list has: none if it is empty. */
int64_t adv_text_parts(struct adv_text list, char separator);

/* Of a tensor: its elements, its dimensions, and the size of one of them (of the last for -1). */
int64_t adv_shape_elements(struct adv_text shapes, int64_t tensor);
int64_t adv_shape_axes(struct adv_text shapes, int64_t tensor);
int64_t adv_shape_size(struct adv_text shapes, int64_t tensor, int64_t axis);

/* Elements of all tensors. */
int64_t adv_shape_all_elements(struct adv_text shapes);

/* Bytes of an element of a type by its name, and of all tensors of such types. */
int64_t adv_type_bytes(struct adv_text type);
int64_t adv_shape_bytes(struct adv_text shapes, struct adv_text types);

/*
 * What a kernel does
 * ------------------
 *
 * Multiplications and additions that a kernel of a known type (matrix products, convolutions)
 * needs for its shapes; NAN of other types. `rate` says how fast its inputs are worked on,
 * against numbers of 16 bits: 1, 2 for INT8, and NAN if that is not known.
 */
struct adv_kernel_shapes {
	struct adv_text type;
	struct adv_text in_shapes;
	struct adv_text in_types;
	struct adv_text in_formats;
	struct adv_text out_shapes;
	struct adv_text out_types;
};

double adv_kernel_operations(const struct adv_kernel_shapes *kernel);
double adv_kernel_rate(const struct adv_kernel_shapes *kernel);

#endif /* NP_ADVISOR_SHAPES_H */
