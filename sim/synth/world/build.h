/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_BUILD_H
#define SYN_BUILD_H

#include "program.h"

/*
 * Putting a program together
 * ==========================
 *
 * The calls mirror what torch does: communication starts on its own stream
 * after the kernels launched so far; waiting for it holds back the kernels
 * launched from then on. A failure (out of memory) is kept in `rc` and makes
 * later calls do nothing.
 */
struct syn_build {
	struct syn_program *program;
	const struct syn_config *config;
	const struct syn_groups *groups;
	struct syn_place place;
	int64_t step;
	double work;                 /* factor on all kernels of this rank and step */
	np_ns layer_delay;           /* planted: the host stops before each layer */
	uint32_t kernels;            /* so far: names the random draw */
	uint32_t waits[SYN_STREAMS]; /* what the next kernel waits for, per stream */
	uint32_t host_after;         /* what the host waits for before the next launch */
	np_ns delay_ns;              /* and how long it then stops */
	enum syn_pass pass;
	uint16_t layer;
	uint16_t micro;
	int rc;
	struct np_err *err;
};

uint32_t syn_build_kernel(struct syn_build *build, uint16_t model, int32_t tokens);
uint32_t syn_build_memcpy(struct syn_build *build, np_ns duration);

/* A collective of the group in which the rank plays `role`. */
struct syn_collective {
	enum syn_role role;
	enum syn_stream stream;
	enum syn_op op;
	int64_t bytes;
	bool fp32;
	bool combine;
};

/* Gives SYN_NO_ITEM, and does nothing, where there is no such group. */
uint32_t syn_build_collective(struct syn_build *build, const struct syn_collective *collective);

struct syn_message {
	enum syn_stream stream;
	enum syn_op op;
	int32_t peer_stage;
	uint32_t instance;
	int64_t send_bytes;
	int64_t receive_bytes;
};

uint32_t syn_build_message(struct syn_build *build, const struct syn_message *message);

/* Kernels from now on wait for the item; SYN_NO_ITEM is allowed. */
void syn_build_wait(struct syn_build *build, uint32_t item);

/* Kernels from now on wait for all communication launched so far. */
void syn_build_wait_all(struct syn_build *build);

/* The host waits for the item before it launches anything else. */
void syn_build_host_wait(struct syn_build *build, uint32_t item, np_ns then_delay);

/* One whole step (schedule.c). */
void syn_schedule_step(struct syn_build *build);

#endif /* SYN_BUILD_H */
