/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_OPT_VALUE_H
#define NP_OPT_VALUE_H

/* Values of options: the words of a command line become the fields that they stand for. */

#include "opt.h"

/* A row, the field it fills, and how the user wrote it: for messages. */
struct opt_use {
	const struct np_opt *option;
	void *field;
	const char *spelling;
};

/* Fill the field; NP_E_USAGE if the text is no value of this option. */
int opt_set_value(const struct opt_use *use, const char *value, struct np_err *err) NP_MUST_USE;

/* The option takes no value. NP_OK, NP_OPT_WANTS_HELP or NP_OPT_WANTS_VERSION. */
int opt_set_flag(const struct opt_use *use);

void opt_release_value(const struct np_opt *option, void *field);

size_t opt_count_choices(const struct np_opt *option);

#endif /* NP_OPT_VALUE_H */
