/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_MODEL_H
#define SYN_MODEL_H

#include "config.h"

/*
 * The kernels of a transformer layer, with the names, shapes and rough times
 * that CANN 8 shows for them on a 910B.
 */
enum syn_core {
	SYN_CUBE,
	SYN_VECTOR,
	SYN_MIXED,
};

struct syn_kernel_model {
	const char *name;
	const char *type;
	const char *api;   /* the CANN call that launches it */
	const char *torch; /* the torch operator that asked for it */
	enum syn_core core;
	np_ns base_ns;
	bool split;   /* tensor parallelism divides the work */
	bool experts; /* the first dimension is a number of tokens, and so is the time */
	const char *input_shapes;
	const char *output_shapes;
	const char *dtypes;
};

extern const struct syn_kernel_model syn_kernel_models[];

/* Of a kernel that was recorded, rather than made up: what is otherwise the same for all. */
struct syn_kernel_detail {
	const char *core; /* "MIX_AIV": more exactly than enum syn_core */
	int64_t blocks;
	int64_t mix_blocks;
	const char *input_formats;
	const char *output_dtypes;
	const char *output_formats;
	const char *state;
	const char *hf32;
	const char *attributes;
};

enum syn_pass {
	SYN_PASS_OTHER,
	SYN_PASS_FORWARD,
	SYN_PASS_BACKWARD,
};

/* Kernels outside the layers, as indexes of syn_kernel_models. */
enum syn_kernel_id {
	SYN_K_ZERO,
	SYN_K_EMBED,
	SYN_K_HEAD,
	SYN_K_LOSS,
	SYN_K_NORM,
	SYN_K_ADAM,
	SYN_K_CAST,
	SYN_K_GATE,
	SYN_K_EXPERT_UP,
	SYN_K_EXPERT_DOWN,
	SYN_K_UNPERMUTE,
	SYN_K_FORWARD, /* the first of SYN_K_FORWARDS kernels of a forward layer */
	SYN_K_FORWARDS = 12,
	SYN_K_BACKWARD = SYN_K_FORWARD + SYN_K_FORWARDS,
	SYN_K_BACKWARDS = 16,
	SYN_K_RESHAPED =
		SYN_K_BACKWARD + SYN_K_BACKWARDS, /* planted: instead of SYN_K_PROJECTION */
	SYN_K_COUNT,
	SYN_K_PROJECTION = SYN_K_FORWARD + 1,
};

/* Kernel `index` of the `count` that make up a layer in one direction. */
uint16_t syn_layer_kernel(enum syn_pass pass, int64_t index, int64_t count);

/* "AI_VECTOR_CORE": where a kernel runs, in the words of tables. */
const char *syn_core_name(enum syn_core core);

/* Cores a kernel of this kind takes, and those of the other kind if it is mixed. */
int syn_core_blocks(enum syn_core core);
int syn_core_mix_blocks(enum syn_core core);

/* Shapes with the tokens where they have a place for them, else as first dimension if not 0. */
void syn_shape_text(const char *shapes, int32_t tokens, char *text, size_t size);

/* What the counters say about a kernel: times in ns, the rest shares of them. */
struct syn_pmu {
	double aic_time;
	double aic_cycles;
	double aic_mac;
	double aic_mte2;
	double aiv_time;
	double aiv_cycles;
	double aiv_vec;
	double aiv_mte2;
};

/* A counter by its name in TASK_PMU_INFO. */
struct syn_counter {
	const char *name;
	double value;
};

struct syn_pmu syn_pmu_of(enum syn_core core, np_ns time);

/* The units of a core, in the order of columns, and the share of the time that each is busy. */
#define SYN_CUBE_UNITS   5
#define SYN_VECTOR_UNITS 4
extern const char *const syn_cube_units[SYN_CUBE_UNITS];
extern const char *const syn_vector_units[SYN_VECTOR_UNITS];

void syn_pmu_cube(const struct syn_pmu *pmu, double ret[SYN_CUBE_UNITS]);
void syn_pmu_vector(const struct syn_pmu *pmu, double ret[SYN_VECTOR_UNITS]);

/* A part of those that fetch instructions finds them missing. */
#define SYN_ICACHE_MISS_RATE 0.002

#define SYN_TOKENS       INT64_C(4096) /* of one micro-batch on one rank */
#define SYN_HIDDEN       1024
#define SYN_TOKEN_BYTES  (INT64_C(2) * SYN_HIDDEN)
#define SYN_NS_PER_TOKEN 30.0                /* of one expert kernel */
#define SYN_LAYER_BYTES  (INT64_C(24) << 20) /* gradients of one layer before tensor parallelism */

#endif /* SYN_MODEL_H */
