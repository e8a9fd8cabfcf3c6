/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ERR_H
#define NP_ERR_H

#include "npuprof/base.h"

/*
 * How functions fail
 * ------------------
 *
 * A function that can fail returns 0 or one of the negative codes below and,
 * when it fails, describes the failure in the caller's `struct np_err`. Values
 * come back through the `ret` parameters before it, set on success and
 * untouched on failure.
 *
 * The description is an explicit parameter rather than thread-local state
 * because ranks are loaded on worker threads: the text has to travel with the
 * job back to the thread that prints it.
 *
 * Texts are lower case without a full stop and say what failed, on what, why,
 * and, where there is one, the way out. Nobody branches on the text.
 */
enum np_code {
	NP_OK = 0,
	NP_E_NOMEM = -1,
	NP_E_IO = -2,
	NP_E_FORMAT = -3,   /* the input is not what its name promises */
	NP_E_NOTFOUND = -4, /* a table, rank or file the caller may do without */
	NP_E_RANGE = -5,    /* a value cannot be represented or is out of order */
	NP_E_USAGE = -6,    /* the user asked for something that does not exist */
	NP_E_BUSY = -7,     /* somebody else is writing it at this moment */
};

struct np_err {
	enum np_code code;
	char text[512];
};

#define NP_ERR_INIT ((struct np_err){ .code = NP_OK })

/*
 * Fill `err` and return `code`, so that failing is a single statement. `err`
 * may be NULL when the caller only wants the code. Text that does not fit loses
 * some of it between its ends: a failure must never cause a second one. The arguments may
 * quote err->text, to say what the failure stopped.
 */
int np_fail(struct np_err *err, enum np_code code, const char *fmt, ...) NP_PRINTF(3, 4);

/* np_fail(NP_E_NOMEM) with one wording for all: "out of memory for <what>". */
static inline int np_fail_nomem(struct np_err *err, const char *what)
{
	/* The constant stands here so that those who check callers see that it is a failure. */
	(void)np_fail(err, NP_E_NOMEM, "out of memory for %s", what);
	return NP_E_NOMEM;
}

/*
 * After a call of the C library on a file failed: "cannot <verb> '<path>': <why>", by
 * errno; NP_E_NOTFOUND if there is no such file, else NP_E_IO.
 */
int np_fail_errno(struct np_err *err, const char *verb, const char *path);

#endif /* NP_ERR_H */
