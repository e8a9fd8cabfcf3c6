/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_CONFIG_H
#define SYN_CONFIG_H

#include "form.h"
#include "layout.h"
#include "npuprof/err.h"
#include "npuprof/ranges.h"
#include "npuprof/vec.h"

/*
 * What to simulate: everything the user chose, completed and checked once.
 * After syn_config_complete() it is only read.
 */
enum syn_schedule {
	SYN_DP,
	SYN_TP,
	SYN_PP,
	SYN_EP,
	SYN_3D,
};

/* Names of the schedules in the order of the enum, ended by NULL. */
extern const char *const syn_schedule_names[];

/* The true time at which the simulated job begins: any fixed moment will do. */
#define SYN_EPOCH_NS INT64_C(1736410576000000000)

#define SYN_HOST_MAX 8 /* NPUs of one host, all joined by HCCS */

struct syn_plant_kind;

/* One planted fault. Fields a kind does not use keep the values of SYN_PLANT_INIT. */
struct syn_plant {
	const struct syn_plant_kind *kind;
	const char *argument;
	int64_t rank;
	int64_t peer;
	int64_t stage;
	int64_t host;
	int64_t every; /* of so many steps, one */
	double factor;
	double amount;
	double drift_ppm;
	np_ns offset_ns;
};

/* A rank that is written in another form than the rest. */
struct syn_form_choice {
	int64_t rank;
	int64_t form;
};

/* What carries out communication, and so where its sub-tasks are written. */
enum syn_engine {
	SYN_ENGINE_STARS, /* tasks of the NPU: COMMUNICATION_TASK_INFO */
	SYN_ENGINE_CCU,
	SYN_ENGINE_DPU,
};

struct syn_config {
	const char *out;
	uint64_t seed;
	double noise;
	int64_t threads;
	bool quiet;
	bool force;

	int64_t ranks;
	int64_t hosts;
	int64_t per_host; /* derived */
	int64_t steps;
	int64_t first_step;
	int64_t schedule;
	int64_t tp;
	int64_t pp;
	int64_t dp;
	int64_t ep;
	int64_t cp;
	int64_t micro_batches;
	int64_t layers;
	int64_t stage_layers; /* derived */
	int64_t kernels;
	int64_t shapes; /* that kernels of one kind have */
	int64_t buckets;
	double size_mb;
	int64_t batched_p2p; /* 0: hcom_send and hcom_receive, 1: hcom_batchSendRecv */
	int64_t shard_grads; /* 0: all-reduce, 1: reduce-scatter and all-gather */

	int64_t layout;     /* index in syn_layouts */
	int64_t part;       /* of the layout, which is written now */
	uint64_t name_seed; /* of what is the same in all parts */
	int64_t form;       /* index in syn_forms */
	NP_VEC(struct syn_form_choice) form_choices;
	bool gzip;
	bool unclosed_trace;
	bool no_rank_id;
	int64_t slices; /* of a trace of msprof; 0: one file without a number */

	int64_t level;
	int64_t schema; /* 0: 1.0.0, 1: 1.2.0 */
	int64_t engine; /* enum syn_engine */
	bool pmu;
	bool memory;
	bool snapshot;
	/* These the generator itself never has: marks of mstx, memory that CANN recorded. */
	bool marks;
	bool samples;
	bool no_analysis;
	bool no_steps;
	bool no_instances;
	bool manifest;
	const char *omit_text;
	struct np_ranges *omit;

	NP_VEC(struct syn_plant) plants;
};

void syn_config_init(struct syn_config *config);
void syn_config_release(struct syn_config *config);

/* Fill what was left open and refuse what does not fit together (NP_E_USAGE). */
int syn_config_complete(struct syn_config *config, struct np_err *err) NP_MUST_USE;

/* Where a rank stands in the job: tp runs fastest, then cp, dp, and pp slowest. */
struct syn_place {
	int32_t rank;
	int32_t host;
	int32_t device;
	int32_t tp;
	int32_t cp;
	int32_t dp;
	int32_t pp;
};

struct syn_place syn_place_of(const struct syn_config *config, int32_t rank);

/* The form in which a rank is written. */
const struct syn_form *syn_form_of(const struct syn_config *config, int32_t rank);

bool syn_is_written(const struct syn_config *config, int32_t rank);

#endif /* SYN_CONFIG_H */
