/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the detail of a rank into bytes, and reads it back. */
#include "distributed.h"

#include "npuprof/arena.h"

/*
 * A detail as bytes, for another process of the same program: rows as they lie in
 * memory, and behind them the texts that their ids are of. Rows are many and are
 * looked at once, so that to make them smaller would take longer than to send them.
 */

static const struct {
	size_t offset; /* of the vector in struct np_detail */
	size_t row_bytes;
} sections[] = {
#define SECTION(member, row) \
	{ \
		offsetof(struct np_detail, member), sizeof(struct row) \
	}
	SECTION(kernels, np_kernel),
	SECTION(tasks, np_device_task),
	SECTION(calls, np_call),
	SECTION(framework, np_framework_call),
	SECTION(links, np_framework_link),
	SECTION(dispatches, np_dispatch),
	SECTION(operators, np_operator),
	SECTION(marks, np_mark),
	SECTION(ops, np_detail_op),
	SECTION(sub_tasks, np_sub_task),
	SECTION(frequency, np_frequency),
	SECTION(gc, np_gc),
	SECTION(memory_ops, np_memory_op),
	SECTION(memory_curve, np_memory_point),
	SECTION(memory_events, np_memory_event),
	SECTION(static_memory, np_static_memory),
	SECTION(settings, np_setting),
#undef SECTION
};

/* Programs whose rows look different would read nonsense. */
static uint64_t layout(void)
{
	uint64_t hash = 1;

	for (size_t i = 0; i < NP_COUNT(sections); i++)
		hash = hash * 31 + sections[i].row_bytes;
	return hash;
}

static void put_texts(struct np_bytes_writer *writer, const struct np_strtab *strings)
{
	size_t count = np_strtab_count(strings);

	np_bytes_put_number(writer, count);
	for (size_t i = 1; i <= count; i++) {
		size_t length = np_strtab_length(strings, (np_str)i);

		np_bytes_put_number(writer, length);
		np_bytes_put_raw(writer, np_strtab_text(strings, (np_str)i), length);
	}
}

void detail_put(struct np_bytes_writer *writer, const struct np_detail *detail)
{
	np_bytes_put_number(writer, layout());
	np_bytes_put_number(writer, detail->has);
	put_texts(writer, detail->strings);
	for (size_t i = 0; i < NP_COUNT(sections); i++) {
		struct summary_vector rows;

		memcpy(&rows, (const char *)detail + sections[i].offset, sizeof(rows));
		np_bytes_put_number(writer, rows.count);
		np_bytes_put_raw(writer, rows.item, rows.count * sections[i].row_bytes);
	}
	np_bytes_put_number(writer, detail->pmu_count);
	np_bytes_put_raw(writer, detail->pmu_names, detail->pmu_count * sizeof(np_str));
	np_bytes_put_raw(writer, detail->pmu,
			 detail->kernels.count * detail->pmu_count * sizeof(double));
	np_bytes_put_raw(writer, &detail->device, sizeof(detail->device));
	summary_put_notes(writer, &detail->notes);
}

/* Ids are those of the sender, as texts come in their order. */
static void get_texts(struct np_bytes_reader *reader, struct np_strtab *strings)
{
	uint64_t count = np_bytes_get_number(reader);

	for (uint64_t i = 0; i < count && !reader->problem; i++) {
		uint64_t length = np_bytes_get_number(reader);
		const char *text = np_bytes_get_raw(reader, length, 1);
		np_str id;

		if (text && np_strtab_add(strings, text, (size_t)length, &id, NULL) < 0)
			np_bytes_exhaust(reader);
	}
}

static void *copy(struct np_bytes_reader *reader, uint64_t count, size_t bytes)
{
	const void *from = np_bytes_get_raw(reader, count, bytes);
	void *to = from ? malloc((size_t)count * bytes + 1) : NULL;

	if (from && !to)
		np_bytes_exhaust(reader);
	if (to && count > 0)
		memcpy(to, from, (size_t)count * bytes);
	return to;
}

static void get_rows(struct np_bytes_reader *reader, size_t section, struct np_detail *detail)
{
	size_t count = (size_t)np_bytes_get_number(reader);
	struct summary_vector rows = { .item = NULL };

	if (count > 0)
		rows.item = copy(reader, count, sections[section].row_bytes);
	rows.count = rows.capacity = rows.item ? count : 0;
	memcpy((char *)detail + sections[section].offset, &rows, sizeof(rows));
}

static void get_counters(struct np_bytes_reader *reader, struct np_detail *detail)
{
	size_t count = (size_t)np_bytes_get_number(reader);
	const void *names = np_bytes_get_raw(reader, count, sizeof(np_str));

	if (!names || count == 0)
		return;
	detail->pmu_names = np_arena_array(detail->arena, count, sizeof(np_str));
	detail->pmu = copy(reader, detail->kernels.count * (uint64_t)count, sizeof(double));
	if (!detail->pmu_names || !detail->pmu) {
		np_bytes_exhaust(reader);
		return;
	}
	memcpy(detail->pmu_names, names, count * sizeof(np_str));
	detail->pmu_count = count;
}

void detail_get(struct np_bytes_reader *reader, struct np_detail *detail)
{
	const void *device;

	if (np_bytes_get_number(reader) != layout())
		np_bytes_refuse(reader, "it is of another program");
	detail->has = (unsigned)np_bytes_get_number(reader);
	get_texts(reader, detail->strings);
	for (size_t i = 0; i < NP_COUNT(sections); i++)
		get_rows(reader, i, detail);
	get_counters(reader, detail);
	device = np_bytes_get_raw(reader, 1, sizeof(detail->device));
	if (device)
		memcpy(&detail->device, device, sizeof(detail->device));
	summary_get_notes(reader, &detail->notes);
}
