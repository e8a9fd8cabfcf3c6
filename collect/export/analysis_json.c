/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include <inttypes.h>

#include "npuprof/jsonout.h"
#include "npuprof/op_times.h"
#include "npuprof/relation.h"

/*
 * communication.json and communication_matrix.json, nested as torch_npu does:
 *
 *	{ "step13": { "p2p": { "<operator>@<hash>": { ... } }, "collective": { ... } } }
 */
#define NS_PER_US 1e3
#define NS_PER_MS 1e6
#define B_PER_MB  1e6

static void open_kind(struct np_jsonout *out, bool p2p)
{
	np_jsonout_object(out, p2p ? "p2p" : "collective");
}

/* --- communication.json ---------------------------------------------------------------------- */

static void put_times(struct np_jsonout *out, const struct np_op_times *times, np_ns start)
{
	np_jsonout_object_line(out, "Communication Time Info");
	if (start != NP_UNKNOWN)
		np_jsonout_real(out, "Start Timestamp(us)", (double)start / NS_PER_US);
	np_jsonout_scaled(out, "Elapse Time(ms)", times->elapsed, NS_PER_MS);
	np_jsonout_scaled(out, "Transit Time(ms)", times->transit, NS_PER_MS);
	np_jsonout_scaled(out, "Wait Time(ms)", times->wait, NS_PER_MS);
	np_jsonout_scaled(out, "Synchronization Time(ms)", times->sync, NS_PER_MS);
	np_jsonout_scaled(out, "Idle Time(ms)", np_op_times_idle(times), NS_PER_MS);
	np_jsonout_real(out, "Wait Time Ratio", np_op_ratio(times->wait, times->transit));
	np_jsonout_real(out, "Synchronization Time Ratio",
			np_op_ratio(times->sync, times->transit));
	np_jsonout_end(out);
}

/* The bands [first, end) of one transport of one operator, or none of them. */
static void put_transport(struct np_jsonout *out, enum np_band_type type,
			  const struct np_band *bands, size_t count)
{
	const struct np_band none = { .type = type };
	const struct np_band *sum = count ? bands : &none;

	np_jsonout_object_line(out, np_band_name(type));
	np_jsonout_scaled(out, "Transit Size(MB)", sum->bytes, B_PER_MB);
	np_jsonout_scaled(out, "Transit Time(ms)", sum->time, NS_PER_MS);
	np_jsonout_real(out, "Bandwidth(GB/s)",
			sum->time > 0 ? np_band_gb_per_s(sum->bytes, sum->time) : 0);
	np_jsonout_real(out, "Large Packet Ratio", sum->large_packet_ratio);
	np_jsonout_object_line(out, "Size Distribution");
	for (size_t i = 0; i < count; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf size = NP_BUF_INIT;

		if (bands[i].package_count == 0)
			continue;
		np_real_format(&size, (double)bands[i].package_bytes / B_PER_MB);
		np_jsonout_array_line(out, size.text);
		np_jsonout_integer(out, NULL, bands[i].package_count);
		np_jsonout_scaled(out, NULL, bands[i].package_time, NS_PER_MS);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
	np_jsonout_end(out);
}

static void put_bands(struct np_jsonout *out, const struct np_rank *rank, size_t op, size_t *at)
{
	size_t first;

	/* Bands are in the order of operators, as we are. */
	while (*at < rank->bands.count && rank->bands.item[*at].op < op)
		*at += 1;
	first = *at;
	while (*at < rank->bands.count && rank->bands.item[*at].op == op)
		*at += 1;
	np_jsonout_object(out, "Communication Bandwidth Info");
	for (int type = 0; type < NP_BAND_COUNT; type++) {
		size_t from = first;
		size_t to;

		while (from < *at && rank->bands.item[from].type != (enum np_band_type)type)
			from++;
		for (to = from; to < *at && rank->bands.item[to].type == (enum np_band_type)type;)
			to++;
		put_transport(out, (enum np_band_type)type, &rank->bands.item[from], to - from);
	}
	np_jsonout_end(out);
}

static void put_ops(struct np_jsonout *out, const struct np_export_loaded *loaded, uint32_t step,
		    bool p2p)
{
	const struct np_rank *rank = loaded->rank;
	struct np_op_times total = NP_OP_TIMES_INIT;
	size_t band = 0;

	open_kind(out, p2p);
	for (size_t i = 0; i < rank->ops.count; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf key = NP_BUF_INIT;
		const struct np_comm_op *op = &rank->ops.item[i];
		struct np_op_times times = NP_OP_TIMES_INIT;

		if (op->step != step || op->p2p != p2p)
			continue;
		np_op_times_add(&times, rank, i);
		np_op_times_add(&total, rank, i);
		np_buf_printf(&key, "%s@%" PRIu64, np_strtab_text(loaded->strings, op->name),
			      rank->groups.item[op->group].hash);
		np_jsonout_object(out, key.text);
		put_times(out, &times, op->start);
		put_bands(out, rank, i, &band);
		np_jsonout_end(out);
	}
	if (total.ops > 0) {
		np_jsonout_object(out, "Total Op Info");
		put_times(out, &total, NP_UNKNOWN);
		np_jsonout_object(out, "Communication Bandwidth Info");
		np_jsonout_end(out);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static int write_steps(const struct np_export_loaded *loaded, FILE *stream, struct np_err *err,
		       void (*put)(struct np_jsonout *, const struct np_export_loaded *, uint32_t,
				   bool))
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	for (uint32_t i = 0; i < loaded->rank->steps.count; i++) {
		char label[64];

		np_export_step_label(loaded, i, label, sizeof(label));
		np_jsonout_object(&out, label);
		put(&out, loaded, i, true);
		put(&out, loaded, i, false);
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}

int np_export_communication_json(const struct np_export_loaded *loaded, FILE *stream,
				 struct np_err *err)
{
	return write_steps(loaded, stream, err, put_ops);
}

/* --- communication_matrix.json --------------------------------------------------------------- */

static int by_class(const void *left, const void *right, void *context)
{
	const struct np_export_loaded *loaded = context;
	const struct np_link *a = &loaded->rank->links.item[*(const uint32_t *)left];
	const struct np_link *b = &loaded->rank->links.item[*(const uint32_t *)right];
	int order = np_order(a->step, b->step);

	if (!order)
		order = np_order(b->p2p, a->p2p);
	if (!order)
		order = np_order(a->group, b->group);
	if (!order)
		order = strcmp(np_strtab_text(loaded->strings, a->op_class),
			       np_strtab_text(loaded->strings, b->op_class));
	if (!order)
		order = np_order(a->pick, b->pick);
	if (!order)
		order = np_order(a->src, b->src);
	return order ? order : np_order(a->dst, b->dst);
}

static void put_link(struct np_jsonout *out, const struct np_export_loaded *loaded,
		     const struct np_link *link)
{
	char ends[32];

	(void)snprintf(ends, sizeof(ends), "%" PRId32 "-%" PRId32, link->src, link->dst);
	np_jsonout_object_line(out, ends);
	np_jsonout_text(out, "Transport Type", np_strtab_text(loaded->strings, link->transport));
	np_jsonout_scaled(out, "Transit Size(MB)", link->bytes, B_PER_MB);
	np_jsonout_scaled(out, "Transit Time(ms)", link->time, NS_PER_MS);
	np_jsonout_real(out, "Bandwidth(GB/s)",
			link->time > 0 ? np_band_gb_per_s(link->bytes, link->time) : 0);
	if (link->op_name != NP_STR_NONE)
		np_jsonout_text(out, "Op Name", np_strtab_text(loaded->strings, link->op_name));
	np_jsonout_end(out);
}

/* Links are sorted, so that those of one class and pick stand together. */
static void put_links(struct np_jsonout *out, const struct np_export_loaded *loaded, uint32_t step,
		      bool p2p)
{
	const struct np_rank *rank = loaded->rank;
	NP_CLEANUP(np_buf_release) struct np_buf open = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf key = NP_BUF_INIT;

	open_kind(out, p2p);
	for (size_t i = 0; i < rank->links.count; i++) {
		const struct np_link *link = &rank->links.item[loaded->links[i]];

		if (link->step != step || link->p2p != p2p)
			continue;
		np_buf_clear(&key);
		np_buf_printf(&key, "%s-%s@%" PRIu64,
			      np_strtab_text(loaded->strings, link->op_class),
			      np_link_pick_name(link->pick), rank->groups.item[link->group].hash);
		if (strcmp(key.text, open.text) != 0) {
			if (open.length)
				np_jsonout_end(out);
			np_jsonout_object(out, key.text);
			np_buf_clear(&open);
			np_buf_add(&open, key.text);
		}
		put_link(out, loaded, link);
	}
	if (open.length)
		np_jsonout_end(out);
	np_jsonout_end(out);
}

int np_export_matrix_json(const struct np_export_loaded *loaded, FILE *stream, struct np_err *err)
{
	size_t count = loaded->rank->links.count;
	uint32_t *order = malloc((count + 1) * sizeof(*order));
	struct np_export_loaded sorted = *loaded;
	int rc;

	if (!order)
		return np_fail_nomem(err, "links");
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), by_class, &sorted);
	sorted.links = order;
	rc = write_steps(&sorted, stream, err, put_links);
	free(order);
	return rc;
}
