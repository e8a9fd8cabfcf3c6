/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_FORM_H
#define SYN_FORM_H

#include "npuprof/base.h"

/*
 * In which form a rank's profile is written: who made it, and whether it is a
 * database, text, or both, or lines.
 */
enum syn_maker {
	SYN_TORCH,
	SYN_MINDSPORE,
	SYN_MSPROF,
	SYN_MSMONITOR,
	SYN_NSYS,   /* of a GPU */
	SYN_KINETO, /* PyTorch's own profiler: one trace for each rank */
};

struct syn_form {
	enum syn_maker maker;
	bool db;
	bool text;
	bool lines; /* JSONL */
	bool gpu;   /* as if it had run on one; of a trace of Kineto */
};

/* Forms and their names in the same order; the names are ended by NULL. */
extern const struct syn_form syn_forms[];
extern const char *const syn_form_names[];

/* Does the maker know of the framework: its calls, its steps, its metadata? */
bool syn_has_framework(const struct syn_form *form);

#endif /* SYN_FORM_H */
