/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ADVISOR_FRAMES_H
#define NP_ADVISOR_FRAMES_H

#include "npuprof/base.h"

/*
 * Frames of call stacks: "/home/me/train.py(42): step", separated by line ends or
 * semicolons, the innermost first.
 */

/* The innermost frame outside of python, torch, torch_npu, megatron and deepspeed, or NULL. */
const char *adv_user_frame(const char *stack, size_t *ret_length);

/* The file and line of a frame; false when it has none. The file is not terminated. */
bool adv_frame_position(const char *frame, size_t length, size_t *ret_file_length,
			int64_t *ret_line);

#endif /* NP_ADVISOR_FRAMES_H */
