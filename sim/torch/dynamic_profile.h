/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_DYNAMIC_PROFILE_H
#define SIM_DYNAMIC_PROFILE_H

#include "npuprof/base.h"

/*
 * A stand-in for torch_npu's dynamic_profile
 * ==========================================
 *
 * What a training script under torch_npu does by itself when PROF_CONFIG_PATH names a
 * directory, as far as a collector sees it:
 *
 *  - every rank leaves log/dp_<host>_<pid>_rank_<r>.log in the directory, and a
 *    profiler_config.json is made if there is none;
 *  - the first rank of a host makes the shared memory DynamicProfileNpuShm<YYYYmmddHH>, 1 MiB:
 *    the time of the file in seconds (u32), then its text; and forks a process that looks at
 *    the file every two seconds, after the tenth step once a step (1 s to 50 s). A second job of
 * the same hour finds the memory of the first;
 *  - a rank follows the text if its time is later than the last it has seen, which at first is
 *    the second in which the rank began;
 *  - at the step start_step (-1: the next one) it profiles `active` steps, into
 *    <prof_dir>/<host>_<pid>_<time>_ascend_pt; a start_step that is over is refused in the log;
 *  - with is_rank only the ranks of rank_list do so.
 *
 * The log says "Start Dynamic Profiler at N step." and "Stop Dynamic Profiler at M step." as
 * torch_npu's does. Left out: what the framework itself records, and the formats of its files.
 */

/* Without PROF_CONFIG_PATH, or without RANK, nothing happens here or later. */
void sim_dynamic_profile_init(void);

/* A step begins. */
void sim_dynamic_profile_step(int64_t step);

/* The process ends: what is open is closed. */
void sim_dynamic_profile_end(void);

#endif /* SIM_DYNAMIC_PROFILE_H */
