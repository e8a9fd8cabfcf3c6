/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PLAN_H
#define NP_PLAN_H

#include "npuprof/json.h"
#include "npuprof/jsonout.h"

/*
 * What shall be collected
 * =======================
 *
 * The one form that options, presets and configuration files are brought to.
 * Rank 0 makes it, writes it as JSON, and every other rank reads that text with
 * the reader of configuration files: so a plan that cannot be read is refused
 * everywhere in the same way, and the manifest shows what was agreed.
 *
 * A setting is one row of np_plan_fields: its key in JSON, its kind and its
 * place. The names are those of MindSpeed-LLM without the prefix "profile-".
 */
/* Where the directory of a job is made if nothing else is said. */
#define NP_PLAN_SAVE_PATH "./profile"

enum np_plan_level {
	NP_LEVEL_0,
	NP_LEVEL_1,
	NP_LEVEL_2,
};

enum np_plan_metrics {
	NP_METRICS_PIPE,
	NP_METRICS_ARITHMETIC,
	NP_METRICS_MEMORY,
	NP_METRICS_MEMORY_L0,
	NP_METRICS_CONFLICT,
	NP_METRICS_MEMORY_UB,
	NP_METRICS_L2_CACHE,
	NP_METRICS_MEMORY_ACCESS,
	NP_METRICS_NONE,
};

enum np_plan_export_type {
	NP_EXPORT_DB,
	NP_EXPORT_TEXT,
};

enum np_plan_export {
	NP_EXPORT_NONE,
	NP_EXPORT_AFTER,
};

/* Who profiles: our library through AscendCL, torch_npu's dynamic_profile, or msprof. */
enum np_plan_backend {
	NP_BACKEND_AUTO, /* only until np_backend_choose() */
	NP_BACKEND_ACL,
	NP_BACKEND_TORCH,
	NP_BACKEND_MSPROF,
};

/* Frames of a memory snapshot. */
enum np_plan_stacks {
	NP_STACKS_PYTHON,
	NP_STACKS_ALL,
};

enum np_plan_preset {
	NP_PRESET_LIGHT,
	NP_PRESET_COMM,
	NP_PRESET_KERNEL,
	NP_PRESET_MEMORY,
};

/* The ways to write them, each ending with NULL. */
extern const char *const np_plan_levels[];
extern const char *const np_plan_metrics[];
extern const char *const np_plan_export_types[];
extern const char *const np_plan_exports[];
extern const char *const np_plan_presets[];
extern const char *const np_plan_backends[];
extern const char *const np_plan_sources[]; /* by enum np_step_source */
extern const char *const np_plan_stacks[];

enum {
	NP_PLAN_TEXT = 1024,
	NP_PLAN_PATH = 3900, /* leaves room for the names below it */
	NP_PLAN_JOB = 64,
	NP_PLAN_LAST_STEP = 1000000000,
};

#define NP_PLAN_ENTRIES INT64_C(1000000000000) /* of a history; the most that are asked for */

struct np_plan {
	bool enable;              /* false: run the application unprofiled */
	char ranks[NP_PLAN_TEXT]; /* rank_list.h */
	int64_t step_start;       /* the first step that is collected */
	int64_t step_end;         /* the first that is not; -1: none */
	int level;                /* enum np_plan_level */
	int aic_metrics;          /* enum np_plan_metrics */
	bool with_cpu;
	bool with_stack;
	bool with_memory;
	bool record_shapes;
	int export_type; /* enum np_plan_export_type */
	bool data_simplification;
	char save_path[NP_PLAN_PATH];
	char job[NP_PLAN_JOB]; /* directory below save_path */
	int export;            /* enum np_plan_export */
	int64_t grace;         /* seconds an application has to end by itself */
	bool force_env;
	int backend;                      /* enum np_plan_backend */
	bool dynamic;                     /* no window of its own: on request only */
	int64_t window_steps;             /* of a window that a signal asks for */
	int64_t max_size;                 /* MB of raw data of all ranks together; 0: any */
	int step_source;                  /* enum np_step_source */
	char step_mstx[NP_PLAN_TEXT / 2]; /* PCRE2 for marks that begin a step */
	int64_t delay;                    /* seconds, for step source "time" */
	int64_t duration;                 /* seconds; -1: to the end */
	int64_t memory_start;             /* the first step of the memory snapshot; -1: none */
	int64_t memory_end;               /* the first that is not in it; -1: none */
	char memory_ranks[NP_PLAN_TEXT];  /* rank_list.h */
	int memory_stacks;                /* enum np_plan_stacks */
	int64_t memory_entries;           /* events that are kept; 0: all */
};

enum np_plan_kind {
	NP_PLAN_BOOL,
	NP_PLAN_INTEGER,
	NP_PLAN_CHOICE,
	NP_PLAN_STRING,
	NP_PLAN_RANKS, /* a text, a number or an array of numbers */
};

struct np_plan_field {
	const char *key;
	enum np_plan_kind kind;
	size_t offset;
	size_t size; /* of a text */
	int64_t low;
	int64_t high;
	const char *const *choices;
};

extern const struct np_plan_field np_plan_fields[];
extern const size_t np_plan_field_count;

/* Rank 0, steps 0 to the end, level1, database, no export. */
void np_plan_init(struct np_plan *plan);

void np_plan_preset(struct np_plan *plan, enum np_plan_preset preset);

/* The row with this key, or NULL. */
const struct np_plan_field *np_plan_find(const char *key);

/*
 * Take one value from JSON. `where` is the path to it, such as
 * "tools.json: profile.ranks". Choices are compared without regard to case.
 * Fails with NP_E_USAGE.
 */
int np_plan_set(struct np_plan *plan, const struct np_plan_field *field,
		const struct np_json *value, const char *where, struct np_err *err) NP_MUST_USE;

/* A text as the value of a string or rank field; NP_E_USAGE when it is too long. */
int np_plan_set_text(char *field, size_t size, const char *text, const char *name,
		     struct np_err *err) NP_MUST_USE;

/* Do the settings make sense together? NP_E_USAGE if not. */
int np_plan_check(const struct np_plan *plan, struct np_err *err) NP_MUST_USE;

/* Write the plan as an object. */
void np_plan_write(const struct np_plan *plan, struct np_jsonout *out, const char *key);

/* Read a plan that np_plan_write() wrote; any other text fails with NP_E_USAGE. */
int np_plan_read(struct np_plan *plan, const char *text, size_t length, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_PLAN_H */
