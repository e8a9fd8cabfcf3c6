/* SPDX-License-Identifier: Apache-2.0 */
/*
 * communication.json and communication_matrix.json. torch_npu sorts operators by
 * step and kind and picks some for the matrix; msprof shows all, in one list.
 * There are no files where nothing was communicated.
 */
#include <inttypes.h>

#include "backend.h"
#include "npuprof/text.h"
#include "sim/synth/account/matrix.h"
#include "sim/synth/out/out.h"

/* Sums over operators: "Total Op Info". */
struct total {
	int64_t count;
	np_ns elapse_ns;
	struct syn_op_times times;
	struct syn_bucket buckets[SYN_BUCKETS];
};

struct communication {
	struct syn_sink base;
	const struct syn_rank_info *info;
	const struct syn_config *config;
	bool flat;
	struct syn_out times;
	struct syn_out links;
	struct syn_out kinds[2]; /* operators of the present step: messages, collectives */
	bool begun[2];
	struct total totals[2];
	bool steps_begun;
	bool links_begun;
	struct syn_op_analysis op;
	struct syn_matrix matrix; /* of the present step, or operator */
};

static const char *const kind_names[] = { "p2p", "collective" };

static double milliseconds(np_ns time)
{
	return (double)time / 1e6;
}

/* `"key": number`, behind a comma if it is not the first. */
static void put_number(struct syn_out *out, const char *key, double value)
{
	SYN_PUT(out, "\"");
	syn_put(out, key);
	SYN_PUT(out, "\": ");
	syn_put_real(out, value);
}

/* Where nothing was added up the vendor's integer 0 is still there. */
static void put_sum(struct syn_out *out, const char *key, double value)
{
	if (value != 0.0) {
		put_number(out, key, value);
		return;
	}
	SYN_PUT(out, "\"");
	syn_put(out, key);
	SYN_PUT(out, "\": 0");
}

static double ratio_of(np_ns part, np_ns transit)
{
	np_ns whole = part + transit;

	return whole > 0 ? np_round((double)part / (double)whole, 4) : 0.0;
}

static void put_times(struct syn_out *out, np_ns elapse, const struct syn_op_times *times)
{
	put_number(out, "Elapse Time(ms)", milliseconds(elapse));
	SYN_PUT(out, ", ");
	put_sum(out, "Transit Time(ms)", milliseconds(times->transit_ns));
	SYN_PUT(out, ", ");
	put_sum(out, "Wait Time(ms)", milliseconds(times->wait_ns));
	SYN_PUT(out, ", ");
	put_sum(out, "Synchronization Time(ms)", milliseconds(times->sync_ns));
	SYN_PUT(out, ", ");
	put_number(out, "Idle Time(ms)", milliseconds(elapse - times->transit_ns - times->wait_ns));
	SYN_PUT(out, ", ");
	put_sum(out, "Wait Time Ratio", ratio_of(times->wait_ns, times->transit_ns));
	SYN_PUT(out, ", ");
	put_sum(out, "Synchronization Time Ratio", ratio_of(times->sync_ns, times->transit_ns));
}

static void put_distribution(struct syn_out *out, const struct syn_bucket *bucket)
{
	SYN_PUT(out, "\"Size Distribution\": {");
	for (size_t i = 0; bucket && i < bucket->packages.count; i++) {
		const struct syn_package *package = &bucket->packages.item[i];

		syn_put(out, i ? ", \"" : "\"");
		syn_put_real(out, (double)package->size / 1e6);
		SYN_PUT(out, "\": [");
		syn_put_int(out, package->count);
		SYN_PUT(out, ", ");
		syn_put_real(out, milliseconds(package->time_ns));
		SYN_PUT(out, "]");
	}
	SYN_PUT(out, "}}");
}

/* One kind of link of one operator; NULL: nothing went over it. */
static void put_bucket(struct syn_out *out, const struct syn_bucket *bucket, bool with_packages)
{
	static const struct syn_bucket nothing;
	const struct syn_bucket *one = bucket ? bucket : &nothing;
	bool used = with_packages && one->packages.count > 0;

	put_sum(out, "Transit Size(MB)", (double)one->size / 1e6);
	SYN_PUT(out, ", ");
	put_sum(out, "Transit Time(ms)", milliseconds(one->time_ns));
	SYN_PUT(out, ", ");
	put_sum(out, "Bandwidth(GB/s)", syn_rate(one->size, one->time_ns));
	SYN_PUT(out, ", ");
	if (used)
		put_number(out, "Large Packet Ratio", one->large_ratio);
	else
		SYN_PUT(out, "\"Large Packet Ratio\": 0");
	SYN_PUT(out, ", ");
	put_distribution(out, used ? one : NULL);
}

static void put_total_bucket(struct syn_out *out, const struct syn_bucket *bucket,
			     bool with_packages)
{
	static const struct syn_bucket nothing;
	const struct syn_bucket *one = bucket ? bucket : &nothing;

	put_sum(out, "Transit Time(ms)", milliseconds(one->time_ns));
	SYN_PUT(out, ", ");
	put_sum(out, "Transit Size(MB)", (double)one->size / 1e6);
	SYN_PUT(out, ", ");
	put_distribution(out, with_packages ? one : NULL);
}

/* All kinds of links; SDMA is the sum of those that are not RDMA, without a distribution. */
static void put_buckets(struct syn_out *out, const struct syn_bucket *buckets,
			void (*put)(struct syn_out *, const struct syn_bucket *, bool))
{
	SYN_PUT(out, "\"Communication Bandwidth Info\": {\"RDMA\": {");
	put(out, &buckets[SYN_BUCKET_RDMA], true);
	SYN_PUT(out, ", \"HCCS\": {");
	put(out, &buckets[SYN_BUCKET_HCCS], true);
	SYN_PUT(out, ", \"PCIE\": {");
	put(out, NULL, false);
	SYN_PUT(out, ", \"SDMA\": {");
	put(out, &buckets[SYN_BUCKET_HCCS], false);
	SYN_PUT(out, ", \"SIO\": {");
	put(out, NULL, false);
	SYN_PUT(out, "}");
}

static void put_op(struct communication *communication, const struct syn_comm_event *comm,
		   struct syn_out *out)
{
	char group[32];

	(void)snprintf(group, sizeof(group), "%" PRIu64, comm->group->hash);
	SYN_PUT(out, "\"");
	syn_put(out, comm->name);
	SYN_PUT(out, "@");
	syn_put(out, group);
	SYN_PUT(out, "\": {\"Communication Time Info\": {");
	put_number(out, "Start Timestamp(us)", syn_us(comm->start_ns));
	SYN_PUT(out, ", ");
	put_times(out, comm->end_ns - comm->start_ns, &communication->op.times);
	SYN_PUT(out, "}, ");
	put_buckets(out, communication->op.buckets, put_bucket);
	SYN_PUT(out, "}");
}

static void put_total(const struct total *total, struct syn_out *out)
{
	if (total->count == 0)
		return;
	SYN_PUT(out, ", \"Total Op Info\": {\"Communication Time Info\": {");
	put_times(out, total->elapse_ns, &total->times);
	SYN_PUT(out, "}, ");
	put_buckets(out, total->buckets, put_total_bucket);
	SYN_PUT(out, "}");
}

static int add_package(struct syn_bucket *to, const struct syn_package *package, struct np_err *err)
{
	struct syn_package *slot = NULL;

	for (size_t i = 0; i < to->packages.count && !slot; i++) {
		if (to->packages.item[i].size == package->size)
			slot = &to->packages.item[i];
	}
	if (!slot)
		slot = np_vec_add(&to->packages, err);
	if (!slot)
		return NP_E_NOMEM;
	slot->size = package->size;
	slot->count += package->count;
	slot->time_ns += package->time_ns;
	return NP_OK;
}

static int add_total(struct total *total, const struct syn_comm_event *comm,
		     const struct syn_op_analysis *op, struct np_err *err)
{
	int rc = NP_OK;

	total->count++;
	total->elapse_ns += comm->end_ns - comm->start_ns;
	total->times.transit_ns += op->times.transit_ns;
	total->times.wait_ns += op->times.wait_ns;
	total->times.sync_ns += op->times.sync_ns;
	for (int kind = 0; kind < SYN_BUCKETS; kind++) {
		const struct syn_bucket *from = &op->buckets[kind];
		struct syn_bucket *to = &total->buckets[kind];

		to->size += from->size;
		to->time_ns += from->time_ns;
		for (size_t i = 0; i < from->packages.count && rc == NP_OK; i++)
			rc = add_package(to, &from->packages.item[i], err);
	}
	return rc;
}

static void clear_total(struct total *total)
{
	for (int kind = 0; kind < SYN_BUCKETS; kind++)
		np_vec_release(&total->buckets[kind].packages);
	*total = (struct total){ 0 };
}

/* --- the matrix ---------------------------------------------------------------------------------
 */

static void put_link(struct syn_out *out, const struct syn_link *link, bool named)
{
	SYN_PUT(out, "\"");
	syn_put_int(out, link->src);
	SYN_PUT(out, "-");
	syn_put_int(out, link->dst);
	SYN_PUT(out, "\": {\"Transport Type\": \"");
	syn_put(out, link->transport);
	SYN_PUT(out, "\", ");
	put_number(out, "Transit Size(MB)", (double)link->size / 1e6);
	SYN_PUT(out, ", ");
	put_number(out, "Transit Time(ms)", milliseconds(link->time_ns));
	SYN_PUT(out, ", ");
	put_number(out, "Bandwidth(GB/s)", syn_rate(link->size, link->time_ns));
	if (named) {
		SYN_PUT(out, ", \"Op Name\": \"");
		syn_put(out, link->op_name);
		SYN_PUT(out, "\"");
	}
	SYN_PUT(out, "}");
}

/* One pick on all links of a class and communicator: "allreduce-top1@…": {…}. */
static void put_pick(struct communication *communication, size_t first, size_t end,
		     enum syn_pick pick, bool *begun)
{
	const struct syn_matrix *matrix = &communication->matrix;
	struct syn_out *out = &communication->links;
	bool open = false;

	for (size_t i = first; i < end;) {
		size_t next = syn_matrix_link_end(matrix, i);
		struct syn_link link;
		bool there = syn_matrix_pick(matrix, i, next, pick, &link);

		i = next;
		if (!there)
			continue;
		if (!open) {
			syn_put(out, *begun ? ", \"" : "\"");
			syn_put(out, link.op_class);
			SYN_PUT(out, "-");
			syn_put(out, syn_pick_names[pick]);
			SYN_PUT(out, "@");
			syn_put(out, link.group);
			SYN_PUT(out, "\": {");
		} else {
			SYN_PUT(out, ", ");
		}
		put_link(out, &link, pick != SYN_PICK_TOTAL);
		open = true;
		*begun = true;
	}
	if (open)
		SYN_PUT(out, "}");
}

static void put_picks(struct communication *communication, bool p2p)
{
	const struct syn_matrix *matrix = &communication->matrix;
	bool begun = false;

	for (size_t i = 0; i < matrix->links.count;) {
		size_t end = syn_matrix_class_end(matrix, i);

		for (int pick = 0; pick < SYN_PICKS && matrix->links.item[i].p2p == p2p; pick++)
			put_pick(communication, i, end, (enum syn_pick)pick, &begun);
		i = end;
	}
}

/* All links of the one operator the matrix holds. */
static void put_op_links(struct communication *communication)
{
	const struct syn_matrix *matrix = &communication->matrix;
	struct syn_out *out = &communication->links;

	if (matrix->links.count == 0)
		return;
	syn_put(out, communication->links_begun ? ", \"" : "\"");
	syn_put(out, matrix->links.item[0].op_name);
	SYN_PUT(out, "@");
	syn_put(out, matrix->links.item[0].group);
	SYN_PUT(out, "\": {");
	for (size_t i = 0; i < matrix->links.count; i++) {
		syn_put(out, i ? ", " : "");
		put_link(out, &matrix->links.item[i], false);
	}
	SYN_PUT(out, "}");
	communication->links_begun = true;
}

/* --- events --------------------------------------------------------------------------------------
 */

static int open_file(struct communication *communication, const char *name, struct syn_out *out,
		     struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	syn_analysis_path(communication->info, name, &path);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = syn_out_open(out, path.text, false, err);
	if (rc == NP_OK)
		SYN_PUT(out, "{");
	return rc;
}

static int open_files(struct communication *communication, struct np_err *err)
{
	int rc = open_file(communication, "communication.json", &communication->times, err);

	if (rc == NP_OK)
		rc = open_file(communication, "communication_matrix.json", &communication->links,
			       err);
	for (int kind = 0; kind < 2 && rc == NP_OK && !communication->flat; kind++)
		rc = syn_out_spool(&communication->kinds[kind], communication->info->output, err);
	return rc;
}

static int on_comm(struct syn_sink *sink, const struct syn_comm_event *comm, struct np_err *err)
{
	struct communication *communication = (struct communication *)sink;
	bool flat = communication->flat;
	int kind = flat || !syn_op_is_p2p(comm->op) ? 1 : 0;
	struct syn_out *out = flat ? &communication->times : &communication->kinds[kind];
	int rc = communication->times.fd < 0 ? open_files(communication, err) : NP_OK;

	if (rc == NP_OK)
		rc = syn_op_analyse(&communication->op, communication->config, comm, err);
	if (rc == NP_OK)
		rc = add_total(&communication->totals[kind], comm, &communication->op, err);
	if (rc < 0)
		return rc;
	syn_put(out, communication->begun[kind] ? ", " : "");
	communication->begun[kind] = true;
	put_op(communication, comm, out);
	if (flat)
		communication->matrix.links.count = 0;
	rc = syn_matrix_note(&communication->matrix, comm, &communication->op.transfers, err);
	if (rc == NP_OK && flat)
		put_op_links(communication);
	return rc;
}

static void put_step_name(struct communication *communication, const struct syn_step_event *step,
			  struct syn_out *out)
{
	char label[32];

	syn_step_label(step->id, label, sizeof(label));
	syn_put(out, communication->steps_begun ? ", \"" : "\"");
	syn_put(out, label);
	SYN_PUT(out, "\": {");
}

static int on_step(struct syn_sink *sink, const struct syn_step_event *step, struct np_err *err)
{
	struct communication *communication = (struct communication *)sink;
	struct syn_out *times = &communication->times;
	struct syn_out *links = &communication->links;
	int rc = NP_OK;

	if (communication->flat || times->fd < 0)
		return NP_OK;
	syn_matrix_sort(&communication->matrix);
	put_step_name(communication, step, times);
	put_step_name(communication, step, links);
	for (int kind = 0; kind < 2 && rc == NP_OK; kind++) {
		syn_put(times, kind ? "}, \"" : "\"");
		syn_put(times, kind_names[kind]);
		SYN_PUT(times, "\": {");
		rc = syn_out_move(times, &communication->kinds[kind], err);
		put_total(&communication->totals[kind], times);
		clear_total(&communication->totals[kind]);
		communication->begun[kind] = false;
		syn_put(links, kind ? "}, \"" : "\"");
		syn_put(links, kind_names[kind]);
		SYN_PUT(links, "\": {");
		put_picks(communication, kind == 0);
	}
	SYN_PUT(times, "}}");
	SYN_PUT(links, "}}");
	communication->matrix.links.count = 0;
	communication->steps_begun = true;
	return rc;
}

static int open_communication(const struct syn_rank_info *info, struct syn_sink **ret,
			      struct np_err *err)
{
	struct communication *communication = calloc(1, sizeof(*communication));

	if (!communication)
		return np_fail_nomem(err, "communication files");
	communication->base = (struct syn_sink){ .comm = on_comm, .step = on_step };
	communication->info = info;
	communication->config = info->config;
	communication->flat = info->form->maker == SYN_MSPROF;
	communication->times = SYN_OUT_INIT;
	communication->links = SYN_OUT_INIT;
	communication->kinds[0] = SYN_OUT_INIT;
	communication->kinds[1] = SYN_OUT_INIT;
	*ret = &communication->base;
	return NP_OK;
}

static void finish(struct communication *communication)
{
	if (communication->flat)
		put_total(&communication->totals[1], &communication->times);
	SYN_PUT(&communication->times, "}");
	SYN_PUT(&communication->links, "}");
}

static int close_communication(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct communication *communication = (struct communication *)sink;

	if (rc == NP_OK && communication->times.fd >= 0)
		finish(communication);
	rc = syn_out_close(&communication->times, rc, err);
	rc = syn_out_close(&communication->links, rc, err);
	for (int kind = 0; kind < 2; kind++) {
		rc = syn_out_close(&communication->kinds[kind], rc, err);
		clear_total(&communication->totals[kind]);
	}
	syn_op_analysis_release(&communication->op);
	syn_matrix_release(&communication->matrix);
	free(communication);
	return rc;
}

static bool is_wanted(const struct syn_rank_info *info)
{
	/* Those of msprof stand beside its output directory. */
	return info->form->text && info->config->level > 0 &&
	       (syn_has_framework(info->form) || syn_has_metadata(info->config));
}

const struct syn_backend syn_comm_json = {
	.name = "communication",
	.is_wanted = is_wanted,
	.open = open_communication,
	.close = close_communication,
};
