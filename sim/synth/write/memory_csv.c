/* SPDX-License-Identifier: Apache-2.0 */
/* Writes operator_memory.csv, memory_record.csv and npu_module_mem.csv. */
#include "backend.h"
#include "sim/synth/account/module_memory.h"
#include "sim/synth/out/out.h"

/*
 * operator_memory.csv, memory_record.csv and npu_module_mem.csv: every piece of
 * device memory, and what was in use when one came or went.
 */
#define STREAM_POINTER 733279888
#define MEGABYTE       1048576.0 /* here, and only here, a power of two */

/* Memory in use at one moment. */
struct usage {
	np_ns at_ns;
	int64_t allocated;
	int64_t reserved;
};

struct memory {
	struct syn_sink base;
	const struct syn_rank_info *info;
	const struct syn_config *config;
	NP_VEC(struct syn_memory_event) pieces;
	NP_VEC(struct usage) usage;
};

static int note_usage(struct memory *memory, np_ns at, int64_t allocated, int64_t reserved,
		      struct np_err *err)
{
	struct usage *usage = np_vec_add(&memory->usage, err);

	if (!usage)
		return NP_E_NOMEM;
	*usage = (struct usage){ at, allocated, reserved };
	return NP_OK;
}

static int on_memory(struct syn_sink *sink, const struct syn_memory_event *event,
		     struct np_err *err)
{
	struct memory *memory = (struct memory *)sink;
	struct syn_memory_event *piece = np_vec_add(&memory->pieces, err);
	int rc;

	if (!piece)
		return NP_E_NOMEM;
	*piece = *event;
	rc = note_usage(memory, event->allocate_ns, event->total_before, event->reserved, err);
	if (rc == NP_OK && event->release_ns != NP_UNKNOWN)
		rc = note_usage(memory, event->release_ns, event->total_after,
				event->reserved_after, err);
	return rc;
}

static int pieces_by_time(const void *a, const void *b)
{
	const struct syn_memory_event *x = a;
	const struct syn_memory_event *y = b;

	if (x->allocate_ns != y->allocate_ns)
		return x->allocate_ns > y->allocate_ns ? 1 : -1;
	return (x->total_before > y->total_before) - (x->total_before < y->total_before);
}

static int usage_by_time(const void *a, const void *b)
{
	const struct usage *x = a;
	const struct usage *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns > y->at_ns ? 1 : -1;
	return (x->allocated > y->allocated) - (x->allocated < y->allocated);
}

/* A time, or its absence, and the tab behind it. */
static void put_time(struct syn_out *out, np_ns time)
{
	SYN_PUT(out, ",");
	if (time == NP_UNKNOWN)
		return;
	syn_put_us(out, time);
	SYN_PUT(out, "\t");
}

static void put_megabytes(struct syn_out *out, int64_t bytes)
{
	SYN_PUT(out, ",");
	if (bytes != NP_UNKNOWN)
		syn_put_real(out, (double)bytes / MEGABYTE);
}

static void put_device(const struct memory *memory, struct syn_out *out)
{
	SYN_PUT(out, ",NPU:");
	syn_put_int(out, memory->info->place.device);
}

static void put_piece(const struct memory *memory, const struct syn_memory_event *piece,
		      struct syn_out *out)
{
	bool released = piece->release_ns != NP_UNKNOWN;
	np_ns length = released ? piece->release_ns - piece->allocate_ns : NP_UNKNOWN;

	syn_put(out, piece->name);
	SYN_PUT(out, ",");
	syn_put_real(out, (double)piece->size / 1024.0);
	put_time(out, piece->allocate_ns);
	put_time(out, piece->release_ns);
	put_time(out, piece->release_ns);
	put_time(out, length);
	put_time(out, length);
	put_megabytes(out, piece->total_before);
	put_megabytes(out, piece->reserved);
	put_megabytes(out, piece->total_before);
	put_megabytes(out, piece->total_after);
	put_megabytes(out, piece->reserved_after);
	put_megabytes(out, piece->total_after);
	SYN_PUT(out, ",");
	syn_put_int(out, STREAM_POINTER);
	put_device(memory, out);
	SYN_PUT(out, "\r\n");
}

static void put_pieces(const struct memory *memory, struct syn_out *out)
{
	SYN_PUT(out, "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),"
		     "Duration(us),Active Duration(us),Allocation Total Allocated(MB),"
		     "Allocation Total Reserved(MB),Allocation Total Active(MB),"
		     "Release Total Allocated(MB),Release Total Reserved(MB),"
		     "Release Total Active(MB),Stream Ptr,Device Type\r\n");
	for (size_t i = 0; i < memory->pieces.count; i++)
		put_piece(memory, &memory->pieces.item[i], out);
}

static void put_usage(const struct memory *memory, const char *component, const struct usage *usage,
		      struct syn_out *out)
{
	syn_put(out, component);
	put_time(out, usage->at_ns);
	put_megabytes(out, usage->allocated);
	put_megabytes(out, usage->reserved);
	put_megabytes(out, usage->allocated);
	SYN_PUT(out, ",");
	if (usage->allocated != NP_UNKNOWN)
		syn_put_int(out, STREAM_POINTER);
	put_device(memory, out);
	SYN_PUT(out, "\r\n");
}

/* Of the whole process only what it reserved is known, and only now and then. */
static void put_record(const struct memory *memory, struct syn_out *out)
{
	SYN_PUT(out, "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),"
		     "Total Active(MB),Stream Ptr,Device Type\r\n");
	for (size_t i = 0; i < memory->usage.count; i += 8) {
		struct usage app = memory->usage.item[i];

		app.allocated = NP_UNKNOWN;
		app.reserved += INT64_C(3) << 30;
		put_usage(memory, "APP", &app, out);
	}
	for (size_t i = 0; i < memory->usage.count; i++) {
		put_usage(memory, "PTA", &memory->usage.item[i], out);
		put_usage(memory, "PTA+GE", &memory->usage.item[i], out);
	}
}

static void put_modules(const struct memory *memory, struct syn_out *out)
{
	syn_put(out, memory->config->schema ? "Device_id," : "");
	SYN_PUT(out, "Component,Timestamp(us),Total Reserved(MB),Device\n");
	for (size_t k = 0; k < SYN_MODULES; k++) {
		for (size_t i = 0; i < memory->usage.count; i += SYN_MODULE_EVERY) {
			const struct usage *usage = &memory->usage.item[i];

			if (memory->config->schema) {
				syn_put_int(out, memory->info->place.device);
				SYN_PUT(out, ",");
			}
			syn_put(out, syn_modules[k].name);
			put_time(out, usage->at_ns);
			put_megabytes(out, syn_module_bytes(&syn_modules[k], usage->reserved));
			put_device(memory, out);
			SYN_PUT(out, "\n");
		}
	}
}

static int write_table(const struct memory *memory, const char *stem,
		       void (*put)(const struct memory *, struct syn_out *), struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	struct syn_out out;
	int rc;

	syn_text_path(memory->info, stem, ".csv", &path);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = syn_out_open(&out, path.text, false, err);
	if (rc < 0)
		return rc;
	put(memory, &out);
	return syn_out_close(&out, NP_OK, err);
}

static int open_memory(const struct syn_rank_info *info, struct syn_sink **ret, struct np_err *err)
{
	struct memory *memory = calloc(1, sizeof(*memory));

	if (!memory)
		return np_fail_nomem(err, "memory tables");
	memory->base.memory = on_memory;
	memory->info = info;
	memory->config = info->config;
	*ret = &memory->base;
	return NP_OK;
}

static int close_memory(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct memory *memory = (struct memory *)sink;

	if (memory->pieces.count > 0)
		qsort(memory->pieces.item, memory->pieces.count, sizeof(*memory->pieces.item),
		      pieces_by_time);
	if (memory->usage.count > 0)
		qsort(memory->usage.item, memory->usage.count, sizeof(*memory->usage.item),
		      usage_by_time);
	if (rc == NP_OK)
		rc = write_table(memory, "operator_memory", put_pieces, err);
	if (rc == NP_OK)
		rc = write_table(memory, "memory_record", put_record, err);
	if (rc == NP_OK)
		rc = write_table(memory, "npu_module_mem", put_modules, err);
	np_vec_release(&memory->pieces);
	np_vec_release(&memory->usage);
	free(memory);
	return rc;
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return info->form->text && syn_has_framework(info->form) && info->config->memory;
}

const struct syn_backend syn_memory_csv = {
	.name = "memory",
	.is_wanted = is_wanted,
	.open = open_memory,
	.close = close_memory,
};
