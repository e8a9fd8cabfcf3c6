/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_RANK_H
#define SYN_RANK_H

#include "program.h"

/*
 * The clockwork of one rank
 * =========================
 *
 * Runs the program of a step: the host launches, the streams execute. The only
 * thing a rank cannot know by itself is when an operator that others take part
 * in will end; for that it asks.
 */
struct syn_rank {
	const struct syn_config *config;
	int32_t rank;
	struct syn_program program;
	np_ns host_ns;  /* the host's own thread has come this far */
	np_ns queue_ns; /* the thread that launches has come this far */
	np_ns tail_ns[SYN_STREAMS];
	uint32_t cursor[SYN_STREAMS]; /* next item of the stream, or SYN_NO_ITEM */
	uint32_t launched;            /* items whose launch is known */
	bool complete;                /* the step is */
	np_ns step_begin_ns;          /* the host's view of the step */
	np_ns data_ns;                /* the data loader has delivered */
	np_ns step_end_ns;
};

/*
 * Ask for the end of an operator that the rank has reached (item->start_ns is
 * set). False: not known yet, others are still to come.
 */
typedef bool syn_end_of(void *context, struct syn_rank *rank, struct syn_item *item);

void syn_rank_init(struct syn_rank *rank, const struct syn_config *config, int32_t number);
void syn_rank_release(struct syn_rank *rank);

/* Load the program of a step and let the host begin it. */
int syn_rank_begin_step(struct syn_rank *rank, const struct syn_groups *groups, int64_t step,
			struct np_err *err) NP_MUST_USE;

/* Go as far as possible. True: the step has just become complete. */
bool syn_rank_advance(struct syn_rank *rank, syn_end_of *end_of, void *context);

#endif /* SYN_RANK_H */
