/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for qsort() and bsearch(). */
#include "npuprof/order.h"

int np_by_int32(const void *left, const void *right)
{
	return np_order(*(const int32_t *)left, *(const int32_t *)right);
}

int np_by_uint32(const void *left, const void *right)
{
	return np_order(*(const uint32_t *)left, *(const uint32_t *)right);
}

int np_by_int64(const void *left, const void *right)
{
	return np_order(*(const int64_t *)left, *(const int64_t *)right);
}

int np_by_double(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;

	return (a > b) - (a < b);
}

int np_by_text(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}
