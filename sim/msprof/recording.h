/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MSP_RECORDING_H
#define MSP_RECORDING_H

#include "npuprof/arena.h"
#include "npuprof/err.h"
#include "npuprof/vec.h"

/*
 * The raw data of one PROF directory, as the simulator wrote them
 * (sim/npusim/raw.h), in memory. Texts live as long as the recording; a text
 * that the mask did not allow is NULL, such a number NP_UNKNOWN.
 */
struct msp_api {
	np_ns start;
	np_ns end;
	int64_t type;
	int64_t thread;
	int64_t connection;
	const char *name;
};

struct msp_mark {
	np_ns start;
	np_ns end;
	int64_t type;
	int64_t range;
	int64_t category;
	int64_t thread;
	int64_t end_thread;
	const char *domain;
	int64_t connection;
	const char *message;
};

struct msp_group {
	const char *name;
	int64_t size;
};

struct msp_task {
	int64_t id;
	np_ns start;
	np_ns end;
	int64_t stream;
	int64_t connection;
	const char *type;
};

struct msp_kernel {
	int64_t task;
	const char *name;
	const char *type;
	const char *core;
	int64_t blocks;
	int64_t mix_blocks;
	const char *input_shapes;
	const char *input_types;
	const char *input_formats;
	const char *output_shapes;
	const char *output_types;
	const char *output_formats;
	const char *state;
	const char *hf32;
	const char *attributes;
};

struct msp_counter {
	int64_t task;
	const char *name;
	double value;
};

struct msp_op {
	int64_t id;
	np_ns start;
	np_ns end;
	int64_t connection;
	const char *group;
	const char *name;
	const char *type;
	int64_t count;
	int64_t data_type;
	const char *algorithm;
	int64_t rank_size;
};

struct msp_sub_task {
	int64_t task;
	int64_t op;
	const char *name;
	int64_t plane;
	int64_t rdma_type;
	int64_t src;
	int64_t dst;
	int64_t bytes;
	int64_t link;
};

struct msp_memcpy {
	int64_t task;
	int64_t bytes;
	int64_t operation;
};

struct msp_frequency {
	np_ns at;
	int64_t mhz;
	int64_t die;
};

/* MEM, MODMEM and OPMEM, told apart by `kind`. */
enum msp_sample_kind {
	MSP_SAMPLE_DEVICE,
	MSP_SAMPLE_MODULE,
	MSP_SAMPLE_OP,
};

struct msp_sample {
	enum msp_sample_kind kind;
	np_ns at;
	int64_t bytes;
	int64_t module;
	int64_t thread;
	const char *name;
	int64_t address;
	int64_t total;
	int64_t reserved;
};

struct msp_recording {
	np_ns start;
	np_ns end;     /* of the last event, if the collection was cut */
	bool complete; /* it ended well */
	int64_t mask;
	int64_t metric;
	int64_t rank;   /* -1: unknown */
	int64_t device; /* -1: none */
	int64_t pid;
	const char *host;
	const char *host_uid;
	const char *soc;
	NP_VEC(struct msp_api) apis;
	NP_VEC(struct msp_mark) marks;
	NP_VEC(struct msp_group) groups;
	NP_VEC(struct msp_task) tasks;
	NP_VEC(struct msp_kernel) kernels;
	NP_VEC(struct msp_counter) counters;
	NP_VEC(struct msp_op) ops;
	NP_VEC(struct msp_sub_task) sub_tasks;
	NP_VEC(struct msp_memcpy) copies;
	NP_VEC(struct msp_frequency) frequencies;
	NP_VEC(struct msp_sample) samples;
	NP_VEC(char *) texts; /* of the slices; everything points into them */
};

/*
 * Read a PROF directory. NP_E_NOTFOUND if it holds nothing of the simulator's,
 * NP_E_FORMAT with file and line where it is damaged. A slice without its end,
 * left by a process that was killed or a full disk, is read as far as it goes.
 */
int msp_recording_read(const char *prof, struct msp_recording *ret, struct np_err *err) NP_MUST_USE;
void msp_recording_release(struct msp_recording *recording);

#endif /* MSP_RECORDING_H */
