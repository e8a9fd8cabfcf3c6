/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a job: one row for each, and how they are read, checked and written. */
#include "plan.h"

#include <inttypes.h>
#include <strings.h>

#include "collect/protocol.h"
#include "collect/rank_list.h"
#include "npuprof/text.h"

const char *const np_plan_levels[] = {
	[NP_LEVEL_0] = "level0",
	[NP_LEVEL_1] = "level1",
	[NP_LEVEL_2] = "level2",
	NULL,
};

const char *const np_plan_metrics[] = {
	[NP_METRICS_PIPE] = "PipeUtilization",
	[NP_METRICS_ARITHMETIC] = "ArithmeticUtilization",
	[NP_METRICS_MEMORY] = "Memory",
	[NP_METRICS_MEMORY_L0] = "MemoryL0",
	[NP_METRICS_CONFLICT] = "ResourceConflictRatio",
	[NP_METRICS_MEMORY_UB] = "MemoryUB",
	[NP_METRICS_L2_CACHE] = "L2Cache",
	[NP_METRICS_MEMORY_ACCESS] = "MemoryAccess",
	[NP_METRICS_NONE] = "AiCoreNone",
	NULL,
};

const char *const np_plan_export_types[] = {
	[NP_EXPORT_DB] = "db",
	[NP_EXPORT_TEXT] = "text",
	NULL,
};

const char *const np_plan_exports[] = {
	[NP_EXPORT_NONE] = "none",
	[NP_EXPORT_AFTER] = "after",
	NULL,
};

const char *const np_plan_presets[] = {
	[NP_PRESET_LIGHT] = "light",
	[NP_PRESET_COMM] = "comm",
	[NP_PRESET_KERNEL] = "kernel",
	[NP_PRESET_MEMORY] = "memory",
	NULL,
};

const char *const np_plan_backends[] = {
	[NP_BACKEND_AUTO] = "auto",
	[NP_BACKEND_ACL] = "acl",
	[NP_BACKEND_TORCH] = "torch",
	[NP_BACKEND_MSPROF] = "msprof",
	NULL,
};

const char *const np_plan_sources[] = {
	[NP_STEP_AUTO] = "auto",   [NP_STEP_EXPLICIT] = "explicit", [NP_STEP_MSTX] = "mstx",
	[NP_STEP_STAMP] = "stamp", [NP_STEP_HCCL] = "hccl",         [NP_STEP_SYNC] = "sync",
	[NP_STEP_TIME] = "time",   [NP_STEP_SOURCES] = NULL,
};

const char *const np_plan_stacks[] = {
	[NP_STACKS_PYTHON] = "python",
	[NP_STACKS_ALL] = "all",
	NULL,
};

#define AT(member)   offsetof(struct np_plan, member)
#define SIZE(member) sizeof(((struct np_plan *)NULL)->member)
#define LAST         NP_PLAN_LAST_STEP

/* clang-format off */
const struct np_plan_field np_plan_fields[] = {
	{ "enable", NP_PLAN_BOOL, AT(enable), 0, 0, 0, NULL },
	{ "ranks", NP_PLAN_RANKS, AT(ranks), SIZE(ranks), 0, 0, NULL },
	{ "step_start", NP_PLAN_INTEGER, AT(step_start), 0, 0, LAST, NULL },
	{ "step_end", NP_PLAN_INTEGER, AT(step_end), 0, -1, LAST, NULL },
	{ "level", NP_PLAN_CHOICE, AT(level), 0, 0, 0, np_plan_levels },
	{ "aic_metrics", NP_PLAN_CHOICE, AT(aic_metrics), 0, 0, 0, np_plan_metrics },
	{ "with_cpu", NP_PLAN_BOOL, AT(with_cpu), 0, 0, 0, NULL },
	{ "with_stack", NP_PLAN_BOOL, AT(with_stack), 0, 0, 0, NULL },
	{ "with_memory", NP_PLAN_BOOL, AT(with_memory), 0, 0, 0, NULL },
	{ "record_shapes", NP_PLAN_BOOL, AT(record_shapes), 0, 0, 0, NULL },
	{ "export_type", NP_PLAN_CHOICE, AT(export_type), 0, 0, 0, np_plan_export_types },
	{ "data_simplification", NP_PLAN_BOOL, AT(data_simplification), 0, 0, 0, NULL },
	{ "save_path", NP_PLAN_STRING, AT(save_path), SIZE(save_path), 0, 0, NULL },
	{ "job", NP_PLAN_STRING, AT(job), SIZE(job), 0, 0, NULL },
	{ "export", NP_PLAN_CHOICE, AT(export), 0, 0, 0, np_plan_exports },
	{ "grace", NP_PLAN_INTEGER, AT(grace), 0, 0, 3600, NULL },
	{ "force_env", NP_PLAN_BOOL, AT(force_env), 0, 0, 0, NULL },
	{ "backend", NP_PLAN_CHOICE, AT(backend), 0, 0, 0, np_plan_backends },
	{ "dynamic", NP_PLAN_BOOL, AT(dynamic), 0, 0, 0, NULL },
	{ "window_steps", NP_PLAN_INTEGER, AT(window_steps), 0, 1, LAST, NULL },
	{ "max_size", NP_PLAN_INTEGER, AT(max_size), 0, 0, 1000000000, NULL },
	{ "step_source", NP_PLAN_CHOICE, AT(step_source), 0, 0, 0, np_plan_sources },
	{ "step_mstx", NP_PLAN_STRING, AT(step_mstx), SIZE(step_mstx), 0, 0, NULL },
	{ "delay", NP_PLAN_INTEGER, AT(delay), 0, 0, 1000000, NULL },
	{ "duration", NP_PLAN_INTEGER, AT(duration), 0, -1, 1000000, NULL },
	{ "memory_start", NP_PLAN_INTEGER, AT(memory_start), 0, -1, LAST, NULL },
	{ "memory_end", NP_PLAN_INTEGER, AT(memory_end), 0, -1, LAST, NULL },
	{ "memory_ranks", NP_PLAN_RANKS, AT(memory_ranks), SIZE(memory_ranks), 0, 0, NULL },
	{ "memory_stacks", NP_PLAN_CHOICE, AT(memory_stacks), 0, 0, 0, np_plan_stacks },
	{ "memory_entries", NP_PLAN_INTEGER, AT(memory_entries), 0, 0, NP_PLAN_ENTRIES, NULL },
};
/* clang-format on */
const size_t np_plan_field_count = NP_COUNT(np_plan_fields);

void np_plan_init(struct np_plan *plan)
{
	*plan = (struct np_plan){
		.enable = true,
		.ranks = "0",
		.step_end = -1,
		.level = NP_LEVEL_1,
		.aic_metrics = NP_METRICS_PIPE,
		.save_path = NP_PLAN_SAVE_PATH,
		.grace = 10,
		.window_steps = 2,
		.step_mstx = NP_STEP_PATTERN,
		.duration = -1,
		.memory_start = -1,
		.memory_end = -1,
		.memory_ranks = "all",
	};
}

void np_plan_preset(struct np_plan *plan, enum np_plan_preset preset)
{
	plan->level = preset == NP_PRESET_LIGHT ? NP_LEVEL_0 : NP_LEVEL_1;
	plan->aic_metrics = preset == NP_PRESET_KERNEL ? NP_METRICS_PIPE : NP_METRICS_NONE;
	plan->record_shapes = preset == NP_PRESET_KERNEL;
	plan->with_memory = preset == NP_PRESET_MEMORY;
	plan->with_cpu = false;
	plan->with_stack = false;
}

const struct np_plan_field *np_plan_find(const char *key)
{
	for (size_t i = 0; i < NP_COUNT(np_plan_fields); i++) {
		if (strcmp(np_plan_fields[i].key, key) == 0)
			return &np_plan_fields[i];
	}
	return NULL;
}

int np_plan_set_text(char *field, size_t size, const char *text, const char *name,
		     struct np_err *err)
{
	size_t length = strlen(text);

	if (length == 0)
		return np_fail(err, NP_E_USAGE, "%s is empty", name);
	if (length >= size)
		return np_fail(err, NP_E_USAGE, "%s is longer than %zu bytes", name, size - 1);
	memcpy(field, text, length + 1);
	return NP_OK;
}

static int set_choice(int *field, const char *const *choices, const struct np_json *value,
		      const char *where, struct np_err *err)
{
	const char *text = np_json_text(value);
	const char *meant;
	size_t count = 0;

	for (; choices[count]; count++) {
		if (text && strcasecmp(text, choices[count]) == 0) {
			*field = (int)count;
			return NP_OK;
		}
	}
	meant = text ? np_text_closest(text, choices, count) : NULL;
	if (meant)
		return np_fail(err, NP_E_USAGE, "%s: unknown value '%s'; did you mean '%s'?", where,
			       text, meant);
	return np_fail(err, NP_E_USAGE, "%s: the value must be a text such as '%s'", where,
		       choices[0]);
}

/* Ranks are an array in MindSpeed's files; here they become the text of --ranks. */
static int set_ranks(char *field, size_t size, const struct np_json *value, const char *where,
		     struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	struct np_err why = NP_ERR_INIT;
	int64_t rank;

	if (np_json_type(value) == NP_JSON_TEXT) {
		np_buf_add(&text, np_json_text(value));
	} else if (np_json_type(value) == NP_JSON_ARRAY) {
		for (size_t i = 0; i < np_json_count(value); i++) {
			if (!np_json_integer(np_json_item(value, i), &rank))
				return np_fail(err, NP_E_USAGE, "%s: element %zu is no rank", where,
					       i);
			np_buf_printf(&text, "%s%" PRId64, i ? "," : "", rank);
		}
	} else if (np_json_integer(value, &rank)) {
		np_buf_printf(&text, "%" PRId64, rank);
	}
	if (np_buf_check(&text, err) < 0)
		return NP_E_NOMEM;
	if (np_rank_list_check(text.text, &why) < 0)
		return np_fail(err, NP_E_USAGE, "%s: %.300s", where, why.text);
	return np_plan_set_text(field, size, text.text, where, err);
}

int np_plan_set(struct np_plan *plan, const struct np_plan_field *field,
		const struct np_json *value, const char *where, struct np_err *err)
{
	void *place = (char *)plan + field->offset;
	int64_t number;

	switch (field->kind) {
	case NP_PLAN_BOOL:
		if (np_json_bool(value, place))
			return NP_OK;
		return np_fail(err, NP_E_USAGE, "%s must be true or false", where);
	case NP_PLAN_INTEGER:
		if (np_json_type(value) != NP_JSON_TEXT && np_json_integer(value, &number) &&
		    number >= field->low && number <= field->high) {
			*(int64_t *)place = number;
			return NP_OK;
		}
		return np_fail(err, NP_E_USAGE,
			       "%s must be a whole number from %" PRId64 " to %" PRId64, where,
			       field->low, field->high);
	case NP_PLAN_CHOICE:
		return set_choice(place, field->choices, value, where, err);
	case NP_PLAN_STRING:
		if (np_json_type(value) != NP_JSON_TEXT)
			return np_fail(err, NP_E_USAGE, "%s must be a text", where);
		return np_plan_set_text(place, field->size, np_json_text(value), where, err);
	default:
		return set_ranks(place, field->size, value, where, err);
	}
}

/* One component of a path, of characters that the vendor's exporter accepts. */
static bool is_job_name(const char *job)
{
	if (job[0] == '.' || job[0] == '-')
		return false;
	for (const char *c = job; *c; c++) {
		bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
			     (*c >= '0' && *c <= '9') || strchr("._-+", *c);

		if (!plain)
			return false;
	}
	return true;
}

int np_plan_check(const struct np_plan *plan, struct np_err *err)
{
	if (plan->step_end >= 0 && plan->step_end <= plan->step_start)
		return np_fail(err, NP_E_USAGE,
			       "steps %" PRId64 " to %" PRId64
			       " hold no step: the end is the first step that is not collected; "
			       "did you mean --step-end %" PRId64 "?",
			       plan->step_start, plan->step_end, plan->step_start + 1);
	if (plan->duration == 0)
		return np_fail(err, NP_E_USAGE, "a duration of 0 s holds nothing");
	if ((plan->delay > 0 || plan->duration > 0) && plan->step_source != NP_STEP_TIME)
		return np_fail(err, NP_E_USAGE,
			       "delay and duration are for a window by time; use --step-source "
			       "time with them");
	if (plan->job[0] && !is_job_name(plan->job))
		return np_fail(err, NP_E_USAGE,
			       "'%.200s' cannot be the name of a job: it becomes a directory; use "
			       "letters, digits and ._-+",
			       plan->job);
	if (plan->memory_start >= 0 && plan->memory_end >= 0 &&
	    plan->memory_end <= plan->memory_start)
		return np_fail(err, NP_E_USAGE,
			       "a memory snapshot of steps %" PRId64 " to %" PRId64
			       " holds no step: the end is the first step that is not in it",
			       plan->memory_start, plan->memory_end);
	if (np_rank_list_check(plan->memory_ranks, err) < 0)
		return NP_E_USAGE;
	return np_rank_list_check(plan->ranks, err);
}

void np_plan_write(const struct np_plan *plan, struct np_jsonout *out, const char *key)
{
	np_jsonout_object(out, key);
	for (size_t i = 0; i < NP_COUNT(np_plan_fields); i++) {
		const struct np_plan_field *field = &np_plan_fields[i];
		const void *place = (const char *)plan + field->offset;

		switch (field->kind) {
		case NP_PLAN_BOOL:
			np_jsonout_bool(out, field->key, *(const bool *)place);
			break;
		case NP_PLAN_INTEGER:
			np_jsonout_integer(out, field->key, *(const int64_t *)place);
			break;
		case NP_PLAN_CHOICE:
			np_jsonout_text(out, field->key, field->choices[*(const int *)place]);
			break;
		default:
			np_jsonout_text(out, field->key, place);
			break;
		}
	}
	np_jsonout_end(out);
}

int np_plan_read(struct np_plan *plan, const char *text, size_t length, struct np_err *err)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_plan read;
	int rc = np_json_parse(text, length, "the plan of rank 0", &doc, err);

	if (rc < 0)
		return rc;
	np_plan_init(&read);
	for (size_t i = 0; i < NP_COUNT(np_plan_fields); i++) {
		const struct np_plan_field *field = &np_plan_fields[i];

		rc = np_plan_set(&read, field, np_json_member(doc, field->key), field->key, err);
		if (rc < 0)
			return np_fail(err, rc, "the plan of rank 0: %.400s", err->text);
	}
	rc = np_plan_check(&read, err);
	if (rc == NP_OK)
		*plan = read;
	return rc;
}
