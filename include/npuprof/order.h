/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ORDER_H
#define NP_ORDER_H

#include "npuprof/base.h"

/* For qsort() and bsearch(): arrays of plain numbers and of texts, from small to large. */
int np_by_int32(const void *left, const void *right);
int np_by_uint32(const void *left, const void *right);
int np_by_int64(const void *left, const void *right); /* also np_ns */
int np_by_double(const void *left, const void *right);
int np_by_text(const void *left, const void *right); /* char * */

#endif /* NP_ORDER_H */
