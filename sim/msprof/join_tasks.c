/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the kernels of a recording with the calls that launched them. */
#include "join.h"

#include "npuprof/strtab.h"

/* --- kernels --------------------------------------------------------------------------------- */

/* Tables show shapes in quotes. */
static const char *quoted(struct msp_join *join, const char *text)
{
	struct np_buf buf = NP_BUF_INIT;
	char *copy;

	if (!text)
		return "N/A";
	np_buf_printf(&buf, "\"%s\"", text);
	copy = np_arena_text(join->conversion->arena, buf.text, buf.length);
	np_buf_release(&buf);
	return copy ? copy : "N/A";
}

static enum syn_core core_of(const char *task_type)
{
	if (strcmp(task_type, "KERNEL_AIVEC") == 0)
		return SYN_VECTOR;
	return strncmp(task_type, "MIX", 3) == 0 ? SYN_MIXED : SYN_CUBE;
}

static int add_model(struct msp_join *join, const struct msp_kernel *kernel, enum syn_core core)
{
	struct msp_conversion *conversion = join->conversion;
	struct syn_kernel_model *model = np_vec_add(&conversion->models, join->err);
	struct syn_kernel_detail *detail = np_vec_add(&conversion->details, join->err);

	if (!model || !detail)
		return NP_E_NOMEM;
	*model = (struct syn_kernel_model){ .name = kernel->name,
					    .type = msp_or_none(kernel->type),
					    .core = core,
					    .input_shapes = quoted(join, kernel->input_shapes),
					    .output_shapes = quoted(join, kernel->output_shapes),
					    .dtypes = msp_or_none(kernel->input_types) };
	*detail = (struct syn_kernel_detail){
		.core = kernel->core ? kernel->core : syn_core_name(core),
		.blocks = msp_or_zero(kernel->blocks),
		.mix_blocks = msp_or_zero(kernel->mix_blocks),
		.input_formats = msp_or_none(kernel->input_formats),
		.output_dtypes = msp_or_none(kernel->output_types),
		.output_formats = msp_or_none(kernel->output_formats),
		.state = msp_or_none(kernel->state),
		.hf32 = msp_or_none(kernel->hf32),
		.attributes = msp_or_none(kernel->attributes),
	};
	return NP_OK;
}

static void add_key(struct np_buf *key, const char *text)
{
	np_buf_add(key, text ? text : "\001");
	np_buf_add_char(key, '\002');
}

/* Everything that two kernels of one model have in common. */
static void model_key(const struct msp_kernel *kernel, enum syn_core core, struct np_buf *key)
{
	const char *const texts[] = { kernel->name,           kernel->type,
				      kernel->core,           kernel->input_shapes,
				      kernel->input_types,    kernel->input_formats,
				      kernel->output_shapes,  kernel->output_types,
				      kernel->output_formats, kernel->state,
				      kernel->hf32,           kernel->attributes };

	np_buf_clear(key);
	np_buf_printf(key, "%d %lld %lld ", (int)core, (long long)kernel->blocks,
		      (long long)kernel->mix_blocks);
	for (size_t i = 0; i < NP_COUNT(texts); i++)
		add_key(key, texts[i]);
}

static int join_kernel(struct msp_join *join, const struct msp_kernel *kernel,
		       struct np_strtab *keys, struct np_idmap *models, struct np_buf *key)
{
	uint32_t task = np_idmap_get(join->task_index, kernel->task);
	enum syn_core core;
	uint32_t model;
	np_str id;
	int rc;

	/* The line of its task may have been cut off. */
	if (task == NP_IDMAP_NONE)
		return NP_OK;
	core = core_of(join->recording->tasks.item[task].type);
	model_key(kernel, core, key);
	rc = np_buf_check(key, join->err);
	if (rc == NP_OK)
		rc = np_strtab_add(keys, key->text, key->length, &id, join->err);
	if (rc < 0)
		return rc;
	model = np_idmap_get(models, id);
	if (model == NP_IDMAP_NONE) {
		model = (uint32_t)join->conversion->models.count;
		rc = add_model(join, kernel, core);
		if (rc == NP_OK)
			rc = np_idmap_set(models, id, model, join->err);
	}
	return rc == NP_OK ? np_idmap_set(join->kernel_model, kernel->task, model, join->err) : rc;
}

static int join_kernels(struct msp_join *join)
{
	NP_CLEANUP(np_strtab_freep) struct np_strtab *keys = np_strtab_new();
	NP_CLEANUP(np_idmap_freep) struct np_idmap *models = np_idmap_new();
	NP_CLEANUP(np_buf_release) struct np_buf key = NP_BUF_INIT;
	int rc = keys && models ? NP_OK : np_fail_nomem(join->err, "kernels");

	for (size_t i = 0; i < join->recording->kernels.count && rc == NP_OK; i++)
		rc = join_kernel(join, &join->recording->kernels.item[i], keys, models, &key);
	return rc;
}

static double *pmu_field(struct syn_pmu *pmu, const char *name)
{
	const struct {
		const char *name;
		double *field;
	} fields[] = {
		{ "aic_total_time", &pmu->aic_time }, { "aic_total_cycles", &pmu->aic_cycles },
		{ "aic_mac_ratio", &pmu->aic_mac },   { "aic_mte2_ratio", &pmu->aic_mte2 },
		{ "aiv_total_time", &pmu->aiv_time }, { "aiv_total_cycles", &pmu->aiv_cycles },
		{ "aiv_vec_ratio", &pmu->aiv_vec },   { "aiv_mte2_ratio", &pmu->aiv_mte2 },
	};

	for (size_t i = 0; i < NP_COUNT(fields); i++) {
		if (strcmp(fields[i].name, name) == 0)
			return fields[i].field;
	}
	return NULL;
}

/* Times of counters are µs in raw data and ns in databases. */
static double counter_value(const struct msp_counter *counter)
{
	size_t length = strlen(counter->name);
	bool time = length > 5 && strcmp(counter->name + length - 5, "_time") == 0;

	return time ? counter->value * 1000 : counter->value;
}

static int by_task(const void *a, const void *b)
{
	const struct msp_counter *x = a;
	const struct msp_counter *y = b;

	return x->task != y->task ? np_order(x->task, y->task) : strcmp(x->name, y->name);
}

/* The counters of one task, `count` of them from `first` on. */
static int join_counters_of(struct msp_join *join, size_t first, size_t count)
{
	const struct msp_counter *counters = &join->recording->counters.item[first];
	struct msp_pmu *pmu = &join->pmus[join->pmu_count];

	*pmu = (struct msp_pmu){ .counters = &join->counters[first], .count = count };
	for (size_t i = 0; i < count; i++) {
		double *field = pmu_field(&pmu->summary, counters[i].name);

		join->counters[first + i] =
			(struct syn_counter){ counters[i].name, counter_value(&counters[i]) };
		if (field)
			*field = counter_value(&counters[i]);
	}
	return np_idmap_set(join->pmu_index, counters->task, (uint32_t)join->pmu_count++,
			    join->err);
}

static int join_counters(struct msp_join *join)
{
	struct np_arena *arena = join->conversion->arena;
	struct msp_counter *all = join->recording->counters.item;
	size_t count = join->recording->counters.count;
	int rc = NP_OK;

	join->pmus = np_arena_array(arena, count + 1, sizeof(*join->pmus));
	join->counters = np_arena_array(arena, count + 1, sizeof(*join->counters));
	if (!join->pmus || !join->counters)
		return np_fail_nomem(join->err, "counters");
	if (count > 0)
		qsort(all, count, sizeof(*all), by_task);
	for (size_t first = 0, end = 0; first < count && rc == NP_OK; first = end) {
		while (end < count && all[end].task == all[first].task)
			end++;
		rc = join_counters_of(join, first, end - first);
	}
	return rc;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static enum syn_task_kind kind_of(const char *type)
{
	static const struct {
		const char *type;
		enum syn_task_kind kind;
	} kinds[] = {
		{ "MEMCPY_ASYNC", SYN_TASK_MEMCPY },
		{ "EVENT_RECORD", SYN_TASK_EVENT_RECORD },
		{ "EVENT_WAIT", SYN_TASK_EVENT_WAIT },
	};

	for (size_t i = 0; i < NP_COUNT(kinds); i++) {
		if (strcmp(kinds[i].type, type) == 0)
			return kinds[i].kind;
	}
	return SYN_TASK_MARKER;
}

static int join_task(struct msp_join *join, size_t index)
{
	const struct msp_task *task = &join->recording->tasks.item[index];
	uint32_t model = np_idmap_get(join->kernel_model, task->id);
	uint32_t copy = np_idmap_get(join->copy_index, task->id);
	uint32_t pmu = np_idmap_get(join->pmu_index, task->id);
	struct msp_launch *launch;

	if (join->in_op[index])
		return NP_OK;
	launch = msp_add_launch(join, MSP_LAUNCH_TASK,
				msp_launch_time(join, task->connection, task->start));
	if (!launch)
		return NP_E_NOMEM;
	launch->task = (struct syn_task){
		.kind = model == NP_IDMAP_NONE ? kind_of(task->type) : SYN_TASK_KERNEL,
		.start_ns = task->start,
		.end_ns = task->end,
		.stream = (int32_t)task->stream,
		.connection = task->connection,
		.model = model == NP_IDMAP_NONE ? NULL : &join->conversion->models.item[model],
		.bytes = NP_UNKNOWN,
	};
	if (pmu != NP_IDMAP_NONE) {
		launch->task.pmu = &join->pmus[pmu].summary;
		launch->task.counters = join->pmus[pmu].counters;
		launch->task.counter_count = join->pmus[pmu].count;
	}
	if (copy != NP_IDMAP_NONE) {
		launch->task.bytes = join->recording->copies.item[copy].bytes;
		launch->task.direction = join->recording->copies.item[copy].operation;
	}
	return NP_OK;
}

int msp_join_tasks(struct msp_join *join)
{
	int rc = join_kernels(join);

	if (rc == NP_OK)
		rc = join_counters(join);
	for (size_t i = 0; i < join->recording->tasks.count && rc == NP_OK; i++)
		rc = join_task(join, i);
	return rc;
}
