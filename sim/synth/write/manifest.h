/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_MANIFEST_H
#define SYN_MANIFEST_H

#include "sim/synth/world/timeline.h"

/*
 * Write npuprof_manifest.json as the collector would, with the true offsets of
 * the hosts' clocks. What is wrong with the clock of a single device is not in
 * it: a collector cannot know.
 */
int syn_manifest_write(const struct syn_timeline *timeline, struct np_err *err) NP_MUST_USE;

#endif /* SYN_MANIFEST_H */
