/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_IO_H
#define SYN_IO_H

#include "npuprof/err.h"

/* Fail with NP_E_IO: "cannot <verb> '<path>': <errno as text>". */
int syn_io_fail(struct np_err *err, const char *verb, const char *path);

/* Make a directory and those above it. One that exists is fine. */
int syn_make_dirs(const char *path, struct np_err *err) NP_MUST_USE;

#endif /* SYN_IO_H */
