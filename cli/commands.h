/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMMANDS_H
#define NP_COMMANDS_H

#include "cli/command/cmd.h"

/* The commands in the order of help; ends with NULL. */
extern const struct np_cmd *const np_commands[];

const struct np_cmd *np_cmd_find(const char *name);

/* Say that there is no such command, and which was meant; returns NP_EXIT_USAGE. */
int np_cmd_unknown(const char *name);

#endif /* NP_COMMANDS_H */
