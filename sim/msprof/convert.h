/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MSP_CONVERT_H
#define MSP_CONVERT_H

#include "recording.h"
#include "sim/synth/write/backend.h"

/*
 * From a recording to the events that npuprof-synth's writers take, so that a
 * simulated run and a generated one are written by the same code.
 */
struct msp_conversion {
	struct syn_config config;
	struct syn_groups groups;
	struct syn_recorded recorded;
	struct syn_form form;
	struct syn_rank_info info;
	struct np_arena *arena;
	char stamp[16];

	/* The recording, joined and in the order of launching. */
	NP_VEC(struct syn_kernel_model) models;
	NP_VEC(struct syn_kernel_detail) details;
	NP_VEC(struct syn_frequency) frequencies;
	NP_VEC(struct syn_sample) samples;
	NP_VEC(struct msp_launch) launches;
	struct msp_recording *recording;
};

/* Something to tell: a call, a task or an operator. */
struct msp_launch {
	np_ns at; /* when its turn is */
	uint8_t kind;
	uint32_t index; /* in the recording's calls, or in `tasks` or `ops` here */
	uint32_t number;
	union {
		struct syn_task task;
		struct syn_comm_event comm;
	};
};

/*
 * Prepare a recording, which must outlive the conversion. `text`: names are made
 * fit for JSON and csv files, which are written without looking at them.
 */
int msp_conversion_init(struct msp_conversion *conversion, struct msp_recording *recording,
			bool text, struct np_err *err) NP_MUST_USE;
void msp_conversion_release(struct msp_conversion *conversion);

/* Give everything to the sinks. */
int msp_conversion_tell(const struct msp_conversion *conversion, struct syn_sink *const *sinks,
			size_t count, struct np_err *err) NP_MUST_USE;

#endif /* MSP_CONVERT_H */
