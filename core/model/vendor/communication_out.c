/* SPDX-License-Identifier: Apache-2.0 */
/* The vendor's text about communication: every object of it, and the two files of a rank. */
#include "communication_out.h"

#include <inttypes.h>
#include <math.h>

#include "npuprof/relation.h"

#define NS_PER_US 1e3
#define NS_PER_MS 1e6
#define B_PER_MB  1e6

/* A rank that is written, and for the matrix an order of its links. */
struct written_rank {
	const struct np_rank *rank;
	const struct np_strtab *strings;
	const uint32_t *links;
};

/* --- names ----------------------------------------------------------------------------------- */

const char *np_communication_kind(bool p2p)
{
	return p2p ? "p2p" : "collective";
}

void np_communication_step(char *label, size_t size, const char *id)
{
	(void)snprintf(label, size, "step%s", id ? id : "");
}

void np_communication_key(struct np_buf *buf, const char *name, uint32_t nth, uint64_t hash)
{
	np_buf_clear(buf);
	np_buf_add(buf, name);
	if (nth > 0)
		np_buf_printf(buf, "#%" PRIu32, nth + 1);
	np_buf_printf(buf, "@%" PRIu64, hash);
}

/* --- objects --------------------------------------------------------------------------------- */

void np_communication_put_times(struct np_jsonout *out, const struct np_op_times *times,
				const np_ns *start)
{
	np_jsonout_object_line(out, "Communication Time Info");
	if (start)
		np_jsonout_scaled(out, "Start Timestamp(us)", *start, NS_PER_US);
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

void np_communication_open_bandwidth(struct np_jsonout *out)
{
	np_jsonout_object(out, "Communication Bandwidth Info");
}

void np_communication_open_transport(struct np_jsonout *out, enum np_band_type type, int64_t bytes,
				     np_ns time, const double *large_packet_ratio)
{
	np_jsonout_object_line(out, np_band_name(type));
	np_jsonout_scaled(out, "Transit Size(MB)", bytes, B_PER_MB);
	np_jsonout_scaled(out, "Transit Time(ms)", time, NS_PER_MS);
	np_jsonout_real(out, "Bandwidth(GB/s)", np_band_gb_per_s(bytes, time));
	if (large_packet_ratio)
		np_jsonout_real(out, "Large Packet Ratio", *large_packet_ratio);
	np_jsonout_object(out, "Size Distribution");
}

/* "<MB>": [packets, ms]; sums of several transports have no packets of their own. */
void np_communication_put_packets(struct np_jsonout *out, int64_t bytes, int64_t count, np_ns time)
{
	NP_CLEANUP(np_buf_release) struct np_buf size = NP_BUF_INIT;

	if (count <= 0)
		return;
	np_real_format(&size, (double)bytes / B_PER_MB);
	np_jsonout_array(out, size.text);
	np_jsonout_integer(out, NULL, count);
	np_jsonout_scaled(out, NULL, time, NS_PER_MS);
	np_jsonout_end(out);
}

void np_communication_close_transport(struct np_jsonout *out)
{
	np_jsonout_end(out);
	np_jsonout_end(out);
}

void np_matrix_put_link(struct np_jsonout *out, const struct np_matrix_link *link)
{
	np_jsonout_object_line(out, link->ends);
	np_jsonout_text(out, "Transport Type", link->transport);
	np_jsonout_real(out, "Transit Size(MB)", link->megabytes);
	np_jsonout_real(out, "Transit Time(ms)", link->milliseconds);
	np_jsonout_real(out, "Bandwidth(GB/s)", link->gb_per_s);
	if (link->op_name)
		np_jsonout_text(out, "Op Name", link->op_name);
	np_jsonout_end(out);
}

void np_matrix_put_cluster_link(struct np_jsonout *out, const struct np_matrix_link *link)
{
	np_jsonout_object_line(out, link->ends);
	np_jsonout_text(out, "Transport Type", link->transport);
	np_jsonout_real(out, "Transit Time(ms)", link->milliseconds);
	np_jsonout_real(out, "Transit Size(MB)", link->megabytes);
	np_jsonout_text(out, "Op Name", link->op_name);
	np_jsonout_real(out, "Bandwidth(GB/s)", link->gb_per_s);
	np_jsonout_end(out);
}

/* --- communication.json ---------------------------------------------------------------------- */

/* The bands of one transport of one operator, each with the sums of all; or none of them. */
static void put_transport(struct np_jsonout *out, enum np_band_type type,
			  const struct np_band *bands, size_t count)
{
	const struct np_band none = { .type = type };
	const struct np_band *sum = count ? bands : &none;

	np_communication_open_transport(out, type, sum->bytes, sum->time, &sum->large_packet_ratio);
	for (size_t i = 0; i < count; i++)
		np_communication_put_packets(out, bands[i].package_bytes, bands[i].package_count,
					     bands[i].package_time);
	np_communication_close_transport(out);
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
	np_communication_open_bandwidth(out);
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

static void put_ops(struct np_jsonout *out, const struct written_rank *written, uint32_t step,
		    bool p2p)
{
	const struct np_rank *rank = written->rank;
	struct np_op_times total = NP_OP_TIMES_INIT;
	size_t band = 0;

	np_jsonout_object(out, np_communication_kind(p2p));
	for (size_t i = 0; i < rank->ops.count; i++) {
		NP_CLEANUP(np_buf_release) struct np_buf key = NP_BUF_INIT;
		const struct np_comm_op *op = &rank->ops.item[i];
		struct np_op_times times = NP_OP_TIMES_INIT;

		if (op->step != step || op->p2p != p2p)
			continue;
		np_op_times_add(&times, rank, i);
		np_op_times_add(&total, rank, i);
		np_communication_key(&key, np_strtab_text(written->strings, op->name), 0,
				     rank->groups.item[op->group].hash);
		np_jsonout_object(out, key.text);
		np_communication_put_times(out, &times, &op->start);
		put_bands(out, rank, i, &band);
		np_jsonout_end(out);
	}
	if (total.ops > 0) {
		np_jsonout_object(out, NP_COMMUNICATION_TOTAL);
		np_communication_put_times(out, &total, NULL);
		np_communication_open_bandwidth(out);
		np_jsonout_end(out);
		np_jsonout_end(out);
	}
	np_jsonout_end(out);
}

static int write_steps(const struct written_rank *written, FILE *stream, struct np_err *err,
		       void (*put)(struct np_jsonout *, const struct written_rank *, uint32_t,
				   bool))
{
	struct np_jsonout out;
	int rc;

	np_jsonout_init(&out, stream);
	np_jsonout_object(&out, NULL);
	for (uint32_t i = 0; i < written->rank->steps.count; i++) {
		char label[64];
		np_str id = written->rank->steps.item[i].id;

		np_communication_step(label, sizeof(label),
				      id == NP_STR_NONE ? NULL
							: np_strtab_text(written->strings, id));
		np_jsonout_object(&out, label);
		put(&out, written, i, true);
		put(&out, written, i, false);
		np_jsonout_end(&out);
	}
	np_jsonout_end(&out);
	rc = np_jsonout_finish(&out, err);
	np_jsonout_release(&out);
	return rc;
}

int np_communication_write(const struct np_rank *rank, const struct np_strtab *strings,
			   FILE *stream, struct np_err *err)
{
	const struct written_rank written = { rank, strings, NULL };

	return write_steps(&written, stream, err, put_ops);
}

/* --- communication_matrix.json --------------------------------------------------------------- */

static int by_class(const void *left, const void *right, void *context)
{
	const struct written_rank *written = context;
	const struct np_link *a = &written->rank->links.item[*(const uint32_t *)left];
	const struct np_link *b = &written->rank->links.item[*(const uint32_t *)right];
	int order = np_order(a->step, b->step);

	if (!order)
		order = np_order(b->p2p, a->p2p);
	if (!order)
		order = np_order(a->group, b->group);
	if (!order)
		order = strcmp(np_strtab_text(written->strings, a->op_class),
			       np_strtab_text(written->strings, b->op_class));
	if (!order)
		order = np_order(a->pick, b->pick);
	if (!order)
		order = np_order(a->src, b->src);
	return order ? order : np_order(a->dst, b->dst);
}

static double in_unit(int64_t value, double unit)
{
	return value == NP_UNKNOWN ? (double)NAN : (double)value / unit;
}

static void put_link(struct np_jsonout *out, const struct written_rank *written,
		     const struct np_link *link)
{
	char ends[32];
	const struct np_matrix_link text = {
		.ends = ends,
		.transport = np_strtab_text(written->strings, link->transport),
		.megabytes = in_unit(link->bytes, B_PER_MB),
		.milliseconds = in_unit(link->time, NS_PER_MS),
		.gb_per_s = np_band_gb_per_s(link->bytes, link->time),
		.op_name = link->op_name == NP_STR_NONE
				   ? NULL
				   : np_strtab_text(written->strings, link->op_name),
	};

	(void)snprintf(ends, sizeof(ends), "%" PRId32 "-%" PRId32, link->src, link->dst);
	np_matrix_put_link(out, &text);
}

/* Links are sorted, so that those of one class and pick stand together. */
static void put_links(struct np_jsonout *out, const struct written_rank *written, uint32_t step,
		      bool p2p)
{
	const struct np_rank *rank = written->rank;
	NP_CLEANUP(np_buf_release) struct np_buf open = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf key = NP_BUF_INIT;
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;

	np_jsonout_object(out, np_communication_kind(p2p));
	for (size_t i = 0; i < rank->links.count; i++) {
		const struct np_link *link = &rank->links.item[written->links[i]];

		if (link->step != step || link->p2p != p2p)
			continue;
		np_buf_clear(&name);
		np_buf_printf(&name, "%s-%s", np_strtab_text(written->strings, link->op_class),
			      np_link_pick_name(link->pick));
		np_communication_key(&key, name.text, 0, rank->groups.item[link->group].hash);
		if (strcmp(key.text, open.text) != 0) {
			if (open.length)
				np_jsonout_end(out);
			np_jsonout_object(out, key.text);
			np_buf_clear(&open);
			np_buf_add(&open, key.text);
		}
		put_link(out, written, link);
	}
	if (open.length)
		np_jsonout_end(out);
	np_jsonout_end(out);
}

int np_matrix_write(const struct np_rank *rank, const struct np_strtab *strings, FILE *stream,
		    struct np_err *err)
{
	size_t count = rank->links.count;
	uint32_t *order = malloc((count + 1) * sizeof(*order));
	struct written_rank sorted = { rank, strings, order };
	int rc;

	if (!order)
		return np_fail_nomem(err, "links");
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), by_class, &sorted);
	rc = write_steps(&sorted, stream, err, put_links);
	free(order);
	return rc;
}
