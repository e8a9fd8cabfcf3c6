/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_OP_NAMES_H
#define CMP_OP_NAMES_H

#include "npuprof/err.h"

/*
 * Operators that have another name on the other side (--op-name-map): what is written as a JSON
 * object of texts, or as a dictionary of Python, renames those on its left wherever operators of
 * the framework are compared.
 */
struct cmp_op_names {
	struct cmp_op_name {
		char *from;
		char *to;
	} * item;
	size_t count;
	size_t capacity;
};

/* NP_E_USAGE with what is wrong. In every case the release is due. */
int cmp_op_names_parse(const char *text, struct cmp_op_names *ret, struct np_err *err) NP_MUST_USE;
void cmp_op_names_release(struct cmp_op_names *names);

/* The name as it is compared. */
const char *cmp_op_names_map(const struct cmp_op_names *names, const char *name);

#endif /* CMP_OP_NAMES_H */
