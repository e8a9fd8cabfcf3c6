/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_OPTIONS_H
#define SYN_OPTIONS_H

#include "config.h"

/* The command line of npuprof-synth: from words to a configuration. */
enum syn_action {
	SYN_ACT_RUN,
	SYN_ACT_HELP,
	SYN_ACT_VERSION,
};

/* Read the command line into a config that has been initialised. NP_E_USAGE says what is wrong. */
int syn_options_parse(int argc, char **argv, struct syn_config *config, enum syn_action *ret,
		      struct np_err *err) NP_MUST_USE;

/* Print the help to stdout. */
void syn_options_help(void);

#endif /* SYN_OPTIONS_H */
