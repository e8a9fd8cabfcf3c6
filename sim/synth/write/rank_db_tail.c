/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a rank's database has at its end: memory, samples, steps, metadata, names. */
#include "rank_db.h"
#include "sim/synth/account/module_memory.h"

#define STREAM_POINTER 733279888
#define NOMINAL_MHZ    1800

static int note_usage(struct syn_db *db, np_ns at, int64_t allocated, int64_t reserved,
		      struct np_err *err)
{
	struct syn_usage *usage = np_vec_add(&db->usage, err);

	if (!usage)
		return NP_E_NOMEM;
	*usage = (struct syn_usage){ at, allocated, reserved };
	return NP_OK;
}

static int put_op_memory(struct syn_db *db, const struct syn_memory_event *memory,
			 struct np_err *err)
{
	bool released = memory->release_ns != NP_UNKNOWN;
	np_ns length = released ? memory->release_ns - memory->allocate_ns : NP_UNKNOWN;
	int64_t name;
	int rc = syn_strings_id(db->strings, SYN_MEMORY, memory->name, &name, err);
	const struct np_cell cells[] = {
		syn_number(rc == NP_OK ? name : 0),
		syn_number(memory->size),
		syn_number(memory->allocate_ns),
		np_cell_integer(memory->release_ns),
		np_cell_integer(memory->release_ns),
		np_cell_integer(length),
		np_cell_integer(length),
		syn_number(memory->total_before),
		syn_number(memory->reserved),
		syn_number(memory->total_before),
		np_cell_integer(memory->total_after),
		np_cell_integer(memory->reserved_after),
		np_cell_integer(memory->total_after),
		syn_number(STREAM_POINTER),
		syn_number(db->info->place.device),
	};

	return rc == NP_OK ? np_db_insert_row(db->insert[SYN_T_OP_MEMORY], cells, err) : rc;
}

int syn_db_memory(struct syn_sink *sink, const struct syn_memory_event *memory, struct np_err *err)
{
	struct syn_db *db = (struct syn_db *)sink;
	int rc = db->torch ? put_op_memory(db, memory, err) : NP_OK;

	if (rc == NP_OK)
		rc = note_usage(db, memory->allocate_ns, memory->total_before, memory->reserved,
				err);
	if (rc == NP_OK && memory->release_ns != NP_UNKNOWN)
		rc = note_usage(db, memory->release_ns, memory->total_after, memory->reserved_after,
				err);
	return rc;
}

int syn_db_mark(struct syn_sink *sink, const struct syn_mark *mark, struct np_err *err)
{
	struct syn_db *db = (struct syn_db *)sink;
	int64_t message = 0;
	int64_t domain = 0;
	int rc = syn_strings_id(db->strings, SYN_CANN, mark->message, &message, err);

	if (rc == NP_OK)
		rc = syn_strings_id(db->strings, SYN_CANN, mark->domain, &domain, err);
	if (rc < 0)
		return rc;
	const struct np_cell cells[] = {
		syn_number(mark->start_ns),
		syn_number(mark->end_ns),
		syn_number(mark->type),
		syn_number(mark->range),
		syn_number(mark->category),
		syn_number(message),
		syn_number(db->info->pid << 32 | mark->thread),
		syn_number(db->info->pid << 32 | mark->end_thread),
		syn_number(domain),
		syn_number(mark->connection),
	};

	return np_db_insert_row(db->insert[SYN_T_MARK], cells, err);
}

/* Tables of a few rows, written at the end. */
static int put_row(struct syn_db *db, const char *table, const struct np_cell *cells, size_t count,
		   struct np_err *err)
{
	struct np_db_insert *insert;
	int rc = np_db_insert_begin(db->writer, table, count, &insert, err);

	return rc == NP_OK ? np_db_insert_row(insert, cells, err) : rc;
}

static int put_meta(struct syn_db *db, const char *name, const char *value, struct np_err *err)
{
	const struct np_cell cells[] = { np_cell_text(name), np_cell_text(value) };

	return put_row(db, "META_DATA", cells, 2, err);
}

static int put_json_meta(struct syn_db *db, const char *name,
			 void (*add)(const struct syn_rank_info *, struct np_buf *),
			 struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	int rc;

	add(db->info, &text);
	rc = np_buf_check(&text, err);
	return rc == NP_OK ? put_meta(db, name, text.text, err) : rc;
}

static int put_metas(struct syn_db *db, struct np_err *err)
{
	bool modern = db->config->schema != 0;
	int rc = put_meta(db, "SCHEMA_VERSION_MICRO", "0", err);

	if (rc == NP_OK)
		rc = put_meta(db, "SCHEMA_VERSION_MINOR", modern ? "2" : "0", err);
	if (rc == NP_OK)
		rc = put_meta(db, "SCHEMA_VERSION_MAJOR", "1", err);
	if (rc == NP_OK)
		rc = put_meta(db, "SCHEMA_VERSION", modern ? "1.2.0" : "1.0.0", err);
	if (rc < 0 || db->info->form->maker == SYN_MSPROF ||
	    syn_layout_of(db->config)->placing == SYN_PLACE_VLLM)
		return rc;
	rc = put_json_meta(db, "distributed_args", syn_distributed_args, err);
	if (rc == NP_OK)
		rc = put_json_meta(db, "ENV_VARIABLES", syn_env_variables, err);
	if (rc == NP_OK)
		rc = put_json_meta(db, "parallel_group_info", syn_parallel_group_info, err);
	return rc;
}

static int put_frequency(struct syn_db *db, const struct syn_frequency *frequency,
			 struct np_err *err)
{
	const struct np_cell cells[] = { syn_number(db->info->place.device),
					 syn_number(frequency->at_ns), syn_number(frequency->mhz),
					 syn_number(frequency->die) };

	return put_row(db, "AICORE_FREQ", cells, db->config->schema ? 4 : 3, err);
}

static int put_frequencies(struct syn_db *db, np_ns start, np_ns end, struct np_err *err)
{
	const struct syn_recorded *recorded = db->info->recorded;
	const struct syn_frequency usual[] = { { start, NOMINAL_MHZ, 0 },
					       { start + (end - start) / 2, NOMINAL_MHZ, 0 },
					       { end, NOMINAL_MHZ, 0 } };
	const struct syn_frequency *all = recorded ? recorded->frequencies : usual;
	size_t count = recorded ? recorded->frequency_count : NP_COUNT(usual);
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = put_frequency(db, &all[i], err);
	return rc;
}

static int put_session(struct syn_db *db, struct np_err *err)
{
	const struct syn_recorded *recorded = db->info->recorded;
	np_ns start = recorded ? recorded->session_start_ns : db->first_ns - 1000000;
	np_ns end = recorded ? recorded->session_end_ns : db->last_ns + 1000000;
	int64_t device = db->info->place.device;
	const struct np_cell session[] = { syn_number(start), syn_number(end) };
	const struct np_cell npu[] = { syn_number(device),
				       np_cell_text(recorded ? recorded->soc : "Ascend910B") };
	bool knows_rank = syn_knows_rank(db->config) ||
			  (db->config->no_rank_id && db->info->form->maker != SYN_MSPROF);
	const struct np_cell map[] = { syn_number(knows_rank ? db->info->place.rank : -1),
				       syn_number(device) };
	const struct np_cell host[] = { np_cell_text(db->info->host_uid),
					np_cell_text(db->info->host) };
	int rc = put_row(db, "SESSION_TIME_INFO", session, 2, err);

	if (rc == NP_OK)
		rc = put_row(db, "NPU_INFO", npu, 2, err);
	if (rc == NP_OK)
		rc = put_row(db, "RANK_DEVICE_MAP", map, 2, err);
	if (rc == NP_OK)
		rc = put_row(db, "HOST_INFO", host, 2, err);
	return rc == NP_OK ? put_frequencies(db, start, end, err) : rc;
}

static int usage_by_time(const void *a, const void *b)
{
	const struct syn_usage *x = a;
	const struct syn_usage *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns > y->at_ns ? 1 : -1;
	return (x->allocated > y->allocated) - (x->allocated < y->allocated);
}

static int put_usage(struct syn_db *db, const char *component, const struct syn_usage *usage,
		     struct np_db_insert *insert, struct np_err *err)
{
	bool app = strcmp(component, "APP") == 0;
	int64_t id;
	int rc = syn_strings_id(db->strings, SYN_MEMORY, component, &id, err);

	if (rc < 0)
		return rc;
	/* Of the whole process only what it reserved is known. */
	const struct np_cell cells[] = {
		syn_number(id),
		syn_number(usage->at_ns),
		app ? np_cell_null() : syn_number(usage->allocated),
		syn_number(usage->reserved + (app ? INT64_C(3) << 30 : 0)),
		app ? np_cell_null() : syn_number(usage->allocated),
		app ? np_cell_null() : syn_number(STREAM_POINTER),
		syn_number(db->info->place.device),
	};

	return np_db_insert_row(insert, cells, err);
}

/* Of the allocator, and now and then of the whole process. */
static int put_usage_rows(struct syn_db *db, const struct syn_usage *usage, bool app,
			  struct np_db_insert *insert, struct np_err *err)
{
	int rc = put_usage(db, "PTA", usage, insert, err);

	if (rc == NP_OK)
		rc = put_usage(db, "PTA+GE", usage, insert, err);
	if (rc == NP_OK && app)
		rc = put_usage(db, "APP", usage, insert, err);
	return rc;
}

static int put_device_memory(struct syn_db *db, const struct syn_usage *usage,
			     struct np_db_insert *insert, struct np_err *err)
{
	int64_t type;
	int rc = syn_strings_id(db->strings, SYN_CANN, "app", &type, err);

	if (rc < 0)
		return rc;
	const struct np_cell cells[] = { syn_number(type), syn_number(0),
					 syn_number(usage->reserved + (INT64_C(2) << 30)),
					 syn_number(usage->at_ns),
					 syn_number(db->info->place.device) };

	return np_db_insert_row(insert, cells, err);
}

static int put_module_rows(struct syn_db *db, const struct syn_usage *usage,
			   struct np_db_insert *insert, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < SYN_MODULES && rc == NP_OK; i++) {
		const struct np_cell cells[] = {
			syn_number(syn_modules[i].id), syn_number(usage->at_ns),
			syn_number(syn_module_bytes(&syn_modules[i], usage->reserved)),
			syn_number(db->info->place.device)
		};

		rc = np_db_insert_row(insert, cells, err);
	}
	return rc;
}

/* Of the device and of its modules. */
static int put_device_rows(struct syn_db *db, struct np_err *err)
{
	struct np_db_insert *device;
	struct np_db_insert *modules;
	int rc = np_db_insert_begin(db->writer, "NPU_MEM", 5, &device, err);

	if (rc == NP_OK)
		rc = np_db_insert_begin(db->writer, "NPU_MODULE_MEM", 4, &modules, err);
	for (size_t i = 0; i < db->usage.count && rc == NP_OK; i += SYN_MODULE_EVERY) {
		rc = put_device_memory(db, &db->usage.item[i], device, err);
		if (rc == NP_OK)
			rc = put_module_rows(db, &db->usage.item[i], modules, err);
	}
	return rc;
}

static int put_memory(struct syn_db *db, struct np_err *err)
{
	struct np_db_insert *records = NULL;
	int rc = NP_OK;

	if (db->torch)
		rc = np_db_insert_begin(db->writer, "MEMORY_RECORD", 7, &records, err);
	if (rc == NP_OK && db->usage.count > 0)
		qsort(db->usage.item, db->usage.count, sizeof(struct syn_usage), usage_by_time);
	for (size_t i = 0; records && i < db->usage.count && rc == NP_OK; i++)
		rc = put_usage_rows(db, &db->usage.item[i], i % SYN_MODULE_EVERY == 0, records,
				    err);
	return rc < 0 ? rc : put_device_rows(db, err);
}

static int put_module_sample(struct syn_db *db, const struct syn_sample *sample,
			     struct np_db_insert *insert, struct np_err *err)
{
	const struct np_cell cells[] = { syn_number(sample->module), syn_number(sample->at_ns),
					 syn_number(sample->bytes),
					 syn_number(db->info->place.device) };

	return np_db_insert_row(insert, cells, err);
}

static int put_device_sample(struct syn_db *db, const struct syn_sample *sample,
			     struct np_db_insert *insert, struct np_err *err)
{
	int64_t type = 0;
	int rc = syn_strings_id(db->strings, SYN_CANN, "device", &type, err);
	const struct np_cell cells[] = { syn_number(type), syn_number(0), syn_number(sample->bytes),
					 syn_number(sample->at_ns),
					 syn_number(db->info->place.device) };

	return rc == NP_OK ? np_db_insert_row(insert, cells, err) : rc;
}

static int put_op_sample(struct syn_db *db, const struct syn_sample *sample,
			 struct np_db_insert *insert, struct np_err *err)
{
	const char *const texts[] = { sample->name, sample->bytes < 0 ? "release" : "allocate",
				      "GE" };
	int64_t ids[NP_COUNT(texts)] = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < NP_COUNT(texts) && rc == NP_OK; i++)
		rc = syn_strings_id(db->strings, SYN_CANN, texts[i], &ids[i], err);
	if (rc < 0)
		return rc;
	const struct np_cell cells[] = {
		syn_number(ids[0]),        syn_number(sample->address),
		syn_number(ids[1]),        syn_number(sample->bytes),
		syn_number(sample->at_ns), syn_number(db->info->pid << 32 | sample->thread),
		syn_number(sample->total), syn_number(sample->reserved),
		syn_number(ids[2]),        syn_number(db->info->place.device),
	};

	return np_db_insert_row(insert, cells, err);
}

/* Memory as CANN itself records it. */
static int put_samples(struct syn_db *db, struct np_err *err)
{
	static const struct {
		const char *table;
		size_t columns;
		int (*put)(struct syn_db *db, const struct syn_sample *sample,
			   struct np_db_insert *insert, struct np_err *err);
	} kinds[] = {
		[SYN_SAMPLE_DEVICE] = { "NPU_MEM", 5, put_device_sample },
		[SYN_SAMPLE_MODULE] = { "NPU_MODULE_MEM", 4, put_module_sample },
		[SYN_SAMPLE_OP] = { "NPU_OP_MEM", 10, put_op_sample },
	};
	const struct syn_recorded *recorded = db->info->recorded;
	struct np_db_insert *inserts[NP_COUNT(kinds)];
	int rc = NP_OK;

	if (!db->config->samples)
		return NP_OK;
	for (size_t i = 0; i < NP_COUNT(kinds) && rc == NP_OK; i++)
		rc = np_db_insert_begin(db->writer, kinds[i].table, kinds[i].columns, &inserts[i],
					err);
	for (size_t i = 0; i < recorded->sample_count && rc == NP_OK; i++) {
		enum syn_sample_kind kind = recorded->samples[i].kind;

		rc = kinds[kind].put(db, &recorded->samples[i], inserts[kind], err);
	}
	return rc;
}

static int put_lane(struct syn_db *db, const struct syn_intervals *set, int64_t type,
		    int64_t *next_id, struct np_db_insert *insert, struct np_err *err)
{
	for (size_t i = 0; i < set->all.count; i++) {
		const struct np_cell cells[] = { syn_number((*next_id)++),
						 syn_number(db->info->place.device),
						 syn_number(set->all.item[i].start_ns),
						 syn_number(set->all.item[i].end_ns),
						 syn_number(type) };
		int rc = np_db_insert_row(insert, cells, err);

		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

/* The overlap lane as msprof writes it since 1.2.0. */
static int put_overlap(struct syn_db *db, struct np_err *err)
{
	struct syn_intervals part = { 0 };
	struct np_db_insert *insert;
	int64_t id = 1;
	int rc = np_db_insert_begin(db->writer, "OVERLAP_ANALYSIS", 5, &insert, err);

	for (int lane = 0; lane < SYN_LANES && rc == NP_OK; lane++) {
		rc = syn_overlap_lane(&db->overlap, db->config, (enum syn_lane)lane, &part, err);
		if (rc == NP_OK)
			rc = put_lane(db, &part, lane, &id, insert, err);
	}
	syn_intervals_release(&part);
	return rc;
}

int syn_db_finish(struct syn_db *db, struct np_err *err)
{
	int rc = put_metas(db, err);

	if (rc == NP_OK)
		rc = put_session(db, err);
	if (rc == NP_OK && db->config->memory)
		rc = put_memory(db, err);
	if (rc == NP_OK)
		rc = put_samples(db, err);
	if (rc == NP_OK && db->config->schema)
		rc = put_overlap(db, err);
	return rc == NP_OK ? syn_strings_write(db->strings, db->writer, err) : rc;
}
