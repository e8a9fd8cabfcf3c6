/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_DETAIL_H
#define NP_DETAIL_H

#include "npuprof/notes.h"
#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * Everything one rank recorded, row by row
 * ========================================
 *
 * A struct np_rank is what is left of a profile; this is what was in it:
 * kernels, calls, marks, sub-tasks, memory, samples. One form for database and
 * text. It is loaded on demand, for one rank at a time and only the sections
 * asked for, and freed when its user has reduced it, so that memory is bounded
 * by the number of workers and the largest rank:
 *
 *	for each rank, on a pool of threads (workers.h):
 *		np_detail_load(run, i, NP_DETAIL_KERNELS | NP_DETAIL_CALLS, &detail, err);
 *		reduce(detail);
 *		np_detail_free(detail);
 *
 * Times are whole ns of the rank's own clock, sizes bytes, texts ids in the
 * detail's own table (np_detail_text()). What was not recorded is NP_UNKNOWN
 * (integers), NaN (reals) or NP_STR_NONE (texts), never zero. `step` is an index
 * in np_rank.steps of the same rank, or NP_NO_STEP: device rows belong to the
 * step whose window holds their start, host rows to the one that the host was in.
 * Where the user chose steps (--steps), rows of the others have NP_NO_STEP.
 *
 * A section is empty where nothing was recorded; `has` says which sections the
 * files could fill at all, so that "none happened" and "not recorded" differ.
 * Rows with impossible times are left out and counted in a note. Every section
 * is sorted by start, then end (calls and operators of the framework, and marks: the longest
 * first, so that what is around comes before what is inside), then by what else
 * distinguishes rows, so that it does not depend on the order of the input.
 *
 * A detail belongs to one thread; several may be loaded at once.
 */

struct np_arena;
struct np_rank;
struct np_run;

/* Sections, as bits of `wants` and `has`. */
enum np_detail_section {
	NP_DETAIL_KERNELS = 1 << 0,
	NP_DETAIL_PMU = 1 << 1,       /* counters of the AI cores, columns of the kernels */
	NP_DETAIL_TASKS = 1 << 2,     /* all tasks of the device */
	NP_DETAIL_CALLS = 1 << 3,     /* of CANN */
	NP_DETAIL_FRAMEWORK = 1 << 4, /* operators of the framework, its queue, links to kernels */
	NP_DETAIL_PYTHON = 1 << 5,    /* python functions, as rows of the framework's section */
	NP_DETAIL_STACKS = 1 << 6,    /* call stacks of framework rows */
	NP_DETAIL_MARKS = 1 << 7,     /* mstx */
	NP_DETAIL_OPS = 1 << 8,       /* communication operators with all columns */
	NP_DETAIL_SUB_TASKS = 1 << 9, /* their sub-tasks; brings the operators too */
	NP_DETAIL_FREQUENCY = 1 << 10,
	NP_DETAIL_GC = 1 << 11,
	NP_DETAIL_MEMORY_OPS = 1 << 12,    /* allocations of operators */
	NP_DETAIL_MEMORY_CURVE = 1 << 13,  /* what each component held, over time */
	NP_DETAIL_MEMORY_EVENTS = 1 << 14, /* single allocations and releases (database only) */
	NP_DETAIL_DEVICE = 1 << 15,        /* chip, cores, clock */
	NP_DETAIL_ENVIRONMENT = 1 << 16,   /* metadata and settings, by name */
	/*
	 * The connections of kernels. Databases have them at hand; with text they cost
	 * reading the trace beside the table of kernels.
	 */
	NP_DETAIL_LAUNCHES = 1 << 17,
	NP_DETAIL_INPUTS = 1 << 18,     /* shapes and types of the inputs of framework rows */
	NP_DETAIL_DEPTH = 1 << 19,      /* how operators of the framework lie in each other */
	NP_DETAIL_DISPATCHES = 1 << 20, /* of NP_DETAIL_FRAMEWORK a little that is often enough */
	NP_DETAIL_OPERATORS = 1 << 21,  /* likewise: when which operator ran */
	NP_DETAIL_STATIC_MEMORY = 1 << 22, /* what compiled graphs plan for their operators */
	NP_DETAIL_ALL = (1 << 23) - 1,
};

/* Of indexes of rows in other sections. */
#define NP_NO_ROW UINT32_MAX

/* The core of kernels that ran on a GPU: their type is their name in short. */
#define NP_CORE_GPU "GPU"

/* A kernel, of COMPUTE_TASK_INFO or a row of kernel_details.csv that is no collective. */
struct np_kernel {
	np_ns start;
	np_ns end;
	/*
	 * Between this start and the end of the kernel or operator that started before it
	 * on the device, 0 where they overlap: the vendor's "Wait Time".
	 */
	np_ns wait;
	int64_t stream;
	int64_t task_id;
	int64_t connection; /* of the call that launched it; see NP_DETAIL_LAUNCHES */
	int64_t block_dim;
	int64_t mix_block_dim;
	np_str name;
	np_str type;  /* "MatMulV2"; NONE at Level0 */
	np_str core;  /* "AI_CORE", "MIX_AIC", "AI_CPU" …, NP_CORE_GPU; NONE at Level0 */
	np_str state; /* "dynamic", "static" */
	np_str in_shapes;
	np_str in_dtypes;
	np_str in_formats;
	np_str out_shapes; /* shapes are written "32,3;64", without the quotes of the files */
	np_str out_dtypes;
	np_str out_formats;
	uint32_t step;
	int32_t device;
	bool schedule; /* it carries out a collective: COMMUNICATION_SCHEDULE_TASK_INFO */
	bool serves;   /* likewise, by its name: the vendor lists it with others */
};

/* Is it computing, and not the work of a communication operator? */
static inline bool np_kernel_computes(const struct np_kernel *kernel)
{
	return !kernel->schedule && !kernel->serves;
}

enum np_task_role {
	NP_ROLE_OTHER, /* memory copies, events, markers … */
	NP_ROLE_KERNEL,
	NP_ROLE_COMMUNICATION, /* a sub-task of an operator */
};

/* Any task of the device. */
struct np_device_task {
	np_ns start;
	np_ns end;
	int64_t stream;
	int64_t task_id;
	int64_t connection;
	/*
	 * "MEMCPY_ASYNC", "EVENT_WAIT", "Notify Wait", of kernels "KERNEL_AICORE". Text
	 * files call kernels by their core, and nothing else differently.
	 */
	np_str type;
	uint32_t step;
	int32_t device;
	enum np_task_role role;
};

enum np_call_level {
	NP_CALL_OTHER,
	NP_CALL_ACL,
	NP_CALL_MODEL,
	NP_CALL_NODE, /* launches tasks */
	NP_CALL_COMMUNICATION,
	NP_CALL_RUNTIME,
	NP_CALL_LEVELS,
};

/* "acl" … and the prefix that traces write before the name: "AscendCL@" … */
const char *np_call_level_name(enum np_call_level level);
const char *np_call_level_prefix(enum np_call_level level);

/* A call of CANN on the host. */
struct np_call {
	np_ns start;
	np_ns end;
	int64_t tid;
	int64_t connection;
	np_str name; /* without the prefix of its level */
	enum np_call_level level;
	uint32_t step;
};

enum np_framework_kind {
	NP_FRAMEWORK_OP,    /* aten::add and whatever else records itself */
	NP_FRAMEWORK_STEP,  /* ProfilerStep#N */
	NP_FRAMEWORK_QUEUE, /* Enqueue, Dequeue@name */
	NP_FRAMEWORK_PYTHON,
	NP_FRAMEWORK_MARK, /* the framework's own row for an event of mstx */
};

struct np_framework_call {
	np_ns start;
	np_ns end;
	int64_t tid;
	int64_t sequence;   /* ties a forward call to its backward ones; NP_UNKNOWN for none */
	int64_t fwd_thread; /* of a backward call: the thread of the forward one */
	np_str name;
	np_str in_shapes; /* inputs are separated by ';', without line ends; see NP_DETAIL_INPUTS */
	np_str in_dtypes;
	np_str stack; /* frames from the innermost outwards, separated by '\n' */
	enum np_framework_kind kind;
	uint32_t step;
	/* See NP_DETAIL_DEPTH. */
	uint32_t depth;      /* operators of its thread around it; 0 for those of other kinds */
	bool top;            /* an operator around which there is no other */
	uint32_t first_link; /* in np_detail.links */
	uint32_t link_count;
};

/* What a call of the framework led to. */
enum np_lead_kind {
	NP_LEADS_TO_TASK,     /* `id` is the connection of calls, tasks and operators */
	NP_LEADS_TO_QUEUE,    /* `id` is shared by an Enqueue and its Dequeue */
	NP_LEADS_TO_BACKWARD, /* `id` is shared by a forward and a backward operator */
};

struct np_framework_link {
	int64_t id;
	uint32_t call; /* in np_detail.framework */
	enum np_lead_kind kind;
};

/* When a call of the framework ended that led to tasks. */
struct np_dispatch {
	np_ns end;
	int64_t connection; /* of the tasks, or one that ties calls of the framework together */
};

/* A call of the framework that is an operator (NP_FRAMEWORK_OP). */
struct np_operator {
	np_ns start;
	np_ns end;
	np_str name;
};

enum np_mark_kind {
	NP_MARK,       /* a point in time */
	NP_MARK_RANGE, /* push and pop, or start and end */
	NP_MARK_EX,    /* a point that the framework wrote on all its layers */
};

/* An event of mstx. */
struct np_mark {
	np_ns start;
	np_ns end;
	np_ns device_start; /* of the task that it left on the device; NP_UNKNOWN without one */
	np_ns device_end;
	np_ns framework_start; /* of the framework's own row for it; NP_UNKNOWN without one */
	np_ns framework_end;
	int64_t tid;
	int64_t connection; /* NP_UNKNOWN for none */
	np_str message;
	np_str domain; /* NONE for the default one */
	enum np_mark_kind kind;
	uint32_t step;
};

/*
 * A communication operator. Row i is np_rank.ops[i] of the same rank, whatever
 * file that came from, with the columns a summary has no room for.
 */
struct np_detail_op {
	np_ns start;
	np_ns end;
	int64_t op_id;
	int64_t connection;
	int64_t count;
	int64_t bytes; /* count × size of an element */
	int64_t relay; /* 1 if the operator used another path after a link failed */
	int64_t retry;
	np_str name;
	np_str type; /* "hcom_allReduce_" */
	np_str data_type;
	np_str alg_type;
	np_str group_name; /* the communicator; NONE when only its hash is known */
	uint64_t group_hash;
	uint32_t group; /* index in np_rank.groups */
	uint32_t step;
	int32_t device;
	bool p2p;
};

/* A sub-task of an operator. */
struct np_sub_task {
	np_ns start;
	np_ns end;
	int64_t bytes;
	int64_t plane;
	int64_t src; /* local to the communicator */
	int64_t dst;
	int64_t notify_id;
	int64_t stream;
	int64_t task_id;
	double bandwidth; /* GB/s, as the file says, else bytes by time */
	np_str type;      /* "Memcpy", "Notify_Wait", "Reduce_Inline" … */
	np_str transport; /* "SDMA", "RDMA", "LOCAL" */
	np_str link;      /* "HCCS", "ON_CHIP" … */
	np_str rdma_type;
	np_str data_type;
	uint32_t op; /* in np_detail.ops; NP_NO_ROW if none holds it */
	bool master;
};

struct np_frequency {
	np_ns time;
	int64_t mhz;
	int32_t device;
};

struct np_gc {
	np_ns start;
	np_ns end;
	int64_t tid;
};

/* An allocation by an operator. */
struct np_memory_op {
	np_ns alloc;
	np_ns release; /* NP_UNKNOWN while it was held to the end */
	np_ns active_release;
	int64_t bytes; /* negative ones occur */
	int64_t allocated_at_alloc;
	int64_t reserved_at_alloc;
	int64_t active_at_alloc;
	int64_t allocated_at_release;
	int64_t reserved_at_release;
	int64_t active_at_release;
	np_str name;
	int32_t device;
};

/* What a component of the memory management held from `time` on. */
struct np_memory_point {
	np_ns time;
	int64_t allocated; /* NP_UNKNOWN for components that only reserve */
	int64_t reserved;
	int64_t active;
	np_str component; /* "PTA", "GE", "APP" …, or a module: "HCCL", "SLOG" … */
	int32_t device;
	bool module; /* of npu_module_mem.csv, NPU_MODULE_MEM */
};

struct np_memory_event {
	np_ns time;
	int64_t address;
	int64_t bytes; /* negative when released */
	int64_t allocated;
	int64_t reserved;
	np_str name;
	np_str component;
	np_str type; /* "allocate", "release" as recorded */
	int32_t device;
};

/*
 * What an operator of a compiled graph holds, by logical time (static_op_mem.csv): from node
 * `begin` up to node `end` of its graph. NP_STATIC_TO_END: to the end of the graph.
 */
struct np_static_memory {
	int64_t graph;
	int64_t begin;
	int64_t end;
	int64_t bytes;
	np_str name;
	np_str model; /* the root of a static part of a dynamic graph; "0" for none */
	int32_t device;
};

#define NP_STATIC_TO_END INT64_C(4294967295)

struct np_device_info {
	np_str chip; /* "Ascend910B" */
	int64_t ai_cores;
	int64_t vector_cores;
	int64_t aic_mhz; /* rated clock of the AI cores */
	int64_t aiv_mhz;
};

/* A setting: of META_DATA, profiler_metadata.json or profiler_info_N.json. */
struct np_setting {
	np_str name;  /* "ENV_VARIABLES.HCCL_ALGO", "experimental_config._profiler_level" … */
	np_str value; /* of an array or a deep object the JSON */
};

struct np_detail {
	const struct np_rank *rank; /* borrowed */
	int32_t id;                 /* of the rank */
	unsigned has;               /* sections the files could fill */
	struct np_strtab *strings;
	struct np_arena *arena;

	NP_VEC(struct np_kernel) kernels;
	/*
	 * Counters: value of counter c of kernel k is pmu[k * pmu_count + c]. Names are
	 * those of the database ("aic_mac_ratio", "aic_mte2_time"), sorted; times are in
	 * ns. "aic_total_time" is aicore_time(us) of text files.
	 */
	np_str *pmu_names;
	size_t pmu_count;
	double *pmu;

	NP_VEC(struct np_device_task) tasks;
	NP_VEC(struct np_call) calls;
	NP_VEC(struct np_framework_call) framework;
	NP_VEC(struct np_framework_link) links; /* by call, kind, id */
	NP_VEC(struct np_dispatch) dispatches;  /* in no order */
	NP_VEC(struct np_operator) operators;
	NP_VEC(struct np_mark) marks;
	NP_VEC(struct np_detail_op) ops;      /* in the order of np_rank.ops */
	NP_VEC(struct np_sub_task) sub_tasks; /* by operator, plane, start */
	NP_VEC(struct np_frequency) frequency;
	NP_VEC(struct np_gc) gc;
	NP_VEC(struct np_memory_op) memory_ops;
	NP_VEC(struct np_memory_point) memory_curve;
	NP_VEC(struct np_memory_event) memory_events;
	NP_VEC(struct np_static_memory) static_memory;
	struct np_device_info device;
	NP_VEC(struct np_setting) settings; /* by name */
	struct np_notes notes;
};

/*
 * Load the sections `wants` of the rank at `index` of run->sources, which
 * np_load_run() has loaded. A section that one file cannot fill is taken from the
 * next; a file that cannot be read is noted and costs what only it holds.
 * Fails if memory runs out, or with NP_E_NOTFOUND if the rank was not loaded.
 */
int np_detail_load(const struct np_run *run, size_t index, unsigned wants, struct np_detail **ret,
		   struct np_err *err) NP_MUST_USE;

/* A detail without anything in it; NULL when out of memory. */
struct np_detail *np_detail_new(const struct np_rank *rank) NP_MUST_USE;
void np_detail_free(struct np_detail *detail);
void np_detail_freep(struct np_detail **detail);

/* The text of an id; NULL for NP_STR_NONE. */
const char *np_detail_text(const struct np_detail *detail, np_str id);

/* The value of a setting, or NULL. */
const char *np_detail_setting(const struct np_detail *detail, const char *name);

/* The column of a counter in `pmu`, or NP_NO_ROW. */
uint32_t np_detail_counter(const struct np_detail *detail, const char *name);

#endif /* NP_DETAIL_H */
