/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_HELP_H
#define NP_HELP_H

#include "cli/command/opt.h"

/* The options that may stand before a command; they fill nothing. */
extern const struct np_opt_table np_help_front;

/* What npuprof alone and npuprof -h print to stdout. */
int np_help_full(void);

#endif /* NP_HELP_H */
