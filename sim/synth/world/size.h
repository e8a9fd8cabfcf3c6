/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_SIZE_H
#define SYN_SIZE_H

#include "sim/synth/plan/config.h"

/*
 * Choose the kernels per layer so that a rank's database, or trace if there is
 * one, has about config->size_mb, if that is set.
 */
int syn_size_fit(struct syn_config *config, struct np_err *err) NP_MUST_USE;

#endif /* SYN_SIZE_H */
