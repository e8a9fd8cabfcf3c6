/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_HELP_H
#define NP_HELP_H

#include "cli/command/opt.h"

/* The options that may stand before a command; they fill nothing. */
extern const struct np_opt_table np_help_front;

/* What npuprof -h prints to stdout. */
int np_help_full(void);

/* What npuprof alone says on stderr; returns NP_EXIT_USAGE. */
int np_help_short(void);

#endif /* NP_HELP_H */
