/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_STREAM_H
#define SYN_STREAM_H

#include "device_memory.h"
#include "sim/synth/plan/plants.h"
#include "timeline.h"

/*
 * What a profiler on one rank sees
 * ================================
 *
 * A rank is run once more against the finished timeline, and everything a
 * profiler would record is handed to sinks as it happens. Times are those of
 * the rank's own clock; planted losses (dropped operators, cuts, shifted
 * ordinals) have been applied. A sink is one form of output; none knows of the
 * others, and the stream knows of none.
 *
 * Events of a step come in the order of launching and are followed by a call of
 * step(). Without step marks there is one such call, at the end.
 */
enum syn_api_level {
	SYN_API_TORCH,
	SYN_API_ACL,
	SYN_API_NODE,
	SYN_API_COMM,
	SYN_API_RUNTIME,
};

struct syn_api {
	enum syn_api_level level;
	const char *name;
	np_ns start_ns;
	np_ns end_ns;
	int64_t connection; /* of a torch operator: of the call it leads to, or -1 */
	const struct syn_kernel_model *model; /* of a torch operator with a kernel */
	int64_t thread; /* that makes the call; 0: the one that takes from the queue */
};

enum syn_task_kind {
	SYN_TASK_KERNEL,
	SYN_TASK_MEMCPY,
	SYN_TASK_EVENT_RECORD,
	SYN_TASK_EVENT_WAIT,
	SYN_TASK_MARKER, /* of mstx */
};

struct syn_task {
	enum syn_task_kind kind;
	np_ns start_ns;
	np_ns end_ns;
	int32_t stream;
	int64_t connection;
	int64_t id;
	const struct syn_kernel_model *model;
	int32_t tokens;
	int64_t bytes;     /* NP_UNKNOWN: not recorded */
	int64_t direction; /* of a copy, a number of ENUM_MEMCPY_OPERATION */
	/* What counters said of a kernel, in short and in full; NULL: what is usual. */
	const struct syn_pmu *pmu;
	const struct syn_counter *counters;
	size_t counter_count;
};

/* An operator with its tasks. */
struct syn_comm_event {
	const char *name;
	const struct syn_group *group;
	const struct syn_instance *instance;
	enum syn_op op;
	const char *type;      /* "hcom_allReduce_"; NULL: by `op` */
	const char *algorithm; /* NULL: that of the group */
	int64_t step;          /* id of the step it will belong to, or NP_UNKNOWN */
	np_ns start_ns;
	np_ns end_ns;
	int64_t connection;
	int64_t op_id;
	int64_t count;          /* elements; NP_UNKNOWN: not recorded */
	uint8_t data_type;      /* of the elements, a number of ENUM_HCCL_DATA_TYPE */
	int32_t stream;         /* of plane 0; plane p is on stream + p */
	const int32_t *streams; /* of each task, where it is not so; else NULL */
	int64_t first_id;       /* of its first task; the others follow */
	const struct syn_sub_task *tasks;
	size_t task_count;
};

struct syn_step_event {
	int64_t index; /* from 0 */
	int64_t id;    /* NP_UNKNOWN: no step marks */
	np_ns start_ns;
	np_ns end_ns;
};

/* A mark or range of mstx. */
struct syn_mark {
	np_ns start_ns;
	np_ns end_ns;
	int64_t type; /* a number of ENUM_MSTX_EVENT_TYPE */
	int64_t range;
	int64_t category;
	int64_t thread;
	int64_t end_thread;
	const char *domain;
	const char *message;
	int64_t connection;
};

struct syn_frequency {
	np_ns at_ns;
	int64_t mhz;
	int64_t die;
};

/* Memory of the device, of a module of CANN on it, or an allocation by an operator. */
enum syn_sample_kind {
	SYN_SAMPLE_DEVICE,
	SYN_SAMPLE_MODULE,
	SYN_SAMPLE_OP,
};

struct syn_sample {
	enum syn_sample_kind kind;
	np_ns at_ns;
	int64_t bytes; /* in use or reserved; of an operator: taken, or negative, given back */
	int64_t module;
	const char *name; /* these are of an operator alone */
	int64_t thread;
	int64_t address;
	int64_t total;
	int64_t reserved;
};

/* What a recording says where the generator has something plausible. */
struct syn_recorded {
	const char *soc;
	np_ns session_start_ns;
	np_ns session_end_ns;
	const struct syn_frequency *frequencies;
	size_t frequency_count;
	const struct syn_sample *samples;
	size_t sample_count;
	const struct syn_kernel_detail *details; /* one for each of the models */
};

struct syn_rank_info {
	const struct syn_config *config;
	const struct syn_groups *groups;
	struct syn_place place;
	char host[256];
	char host_uid[64];
	int64_t pid;
	struct syn_clock clock;

	/* What kernels there may be: task->model points into this array. */
	const struct syn_kernel_model *models;
	size_t model_count;
	const struct syn_recorded *recorded; /* NULL: all of it is made up */

	/* Where and how it is written, for those who write. */
	const struct syn_form *form;
	const char *dir;    /* of the rank */
	const char *output; /* what was exported, below it */
	const char *stamp;  /* the 14 digits of a time in names of files; NULL: a fixed one */
};

struct syn_sink {
	int (*api)(struct syn_sink *sink, const struct syn_api *api, struct np_err *err);
	int (*task)(struct syn_sink *sink, const struct syn_task *task, struct np_err *err);
	int (*comm)(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err);
	int (*memory)(struct syn_sink *sink, const struct syn_memory_event *memory,
		      struct np_err *err);
	/* What the allocator of the rank did, with --snapshot, at the end. */
	int (*caching)(struct syn_sink *sink, const struct syn_caching *caching,
		       struct np_err *err);
	int (*step)(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err);
	int (*mark)(struct syn_sink *sink, const struct syn_mark *mark, struct np_err *err);
};

/* Of a model of a rank: what was recorded, or NULL. */
const struct syn_kernel_detail *syn_detail_of(const struct syn_rank_info *info,
					      const struct syn_kernel_model *model);

/* "AI_VECTOR_CORE", and the cores a kernel takes. */
const char *syn_kernel_core(const struct syn_rank_info *info, const struct syn_kernel_model *model);
int64_t syn_kernel_blocks(const struct syn_rank_info *info, const struct syn_kernel_model *model);
int64_t syn_kernel_mix_blocks(const struct syn_rank_info *info,
			      const struct syn_kernel_model *model);

struct syn_rank_info syn_rank_info_of(const struct syn_timeline *timeline, int32_t rank);

/* Show what happened on a rank to `count` sinks. Functions a sink does not have are skipped. */
int syn_stream_rank(const struct syn_timeline *timeline, int32_t rank,
		    struct syn_sink *const *sinks, size_t count, struct np_err *err) NP_MUST_USE;

#endif /* SYN_STREAM_H */
