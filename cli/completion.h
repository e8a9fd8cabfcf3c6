/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMPLETION_H
#define NP_COMPLETION_H

#include "npuprof/buf.h"

/*
 * Completion scripts, made from the table of commands and their option tables.
 * They name every command, option and choice, so they are complete without
 * running npuprof again.
 */
void np_completion_bash(struct np_buf *buf);
void np_completion_zsh(struct np_buf *buf);
void np_completion_fish(struct np_buf *buf);

#endif /* NP_COMPLETION_H */
