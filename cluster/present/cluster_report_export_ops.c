/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_communication.json: what every rank knows of every operator. */
#include "cluster_report_export.h"

#include <inttypes.h>

#include "core/model/vendor/communication_out.h"

#include "npuprof/order.h"

struct op_entry {
	struct export_position at; /* first: see struct export_entries */
	uint32_t rank;             /* index in np_run.ranks */
	uint32_t op;               /* index in np_rank.ops */
	uint32_t nth;              /* how many of this name the rank has before it in the step */
};

struct op_entries {
	const struct text_export *export;
	NP_VEC(struct op_entry) list;
};

struct op_bands {
	NP_VEC(struct np_band) list;
};

/* The first of the rank's bands that is not of an operator before `op`. */
static size_t first_band(const struct np_rank *rank, uint32_t op)
{
	return np_lower_bound(i, (size_t)0, rank->bands.count, rank->bands.item[i].op >= op);
}

/* Rows of one transport of an operator repeat its sums: one counts. */
static int add_op_bands(struct op_bands *bands, const struct np_rank *rank, uint32_t op,
			struct np_err *err)
{
	size_t first = first_band(rank, op);

	for (size_t i = first; i < rank->bands.count && rank->bands.item[i].op == op; i++) {
		const struct np_band *band = &rank->bands.item[i];
		struct np_band *copy = np_vec_add(&bands->list, err);

		if (!copy)
			return NP_E_NOMEM;
		*copy = *band;
		if (i > first && band[-1].type == band->type) {
			copy->bytes = NP_UNKNOWN;
			copy->time = NP_UNKNOWN;
		}
	}
	return NP_OK;
}

static int by_type_and_package(const void *left, const void *right)
{
	const struct np_band *a = left;
	const struct np_band *b = right;
	int order = np_order(a->type, b->type);

	return order ? order : np_order(b->package_bytes, a->package_bytes);
}

/* Packets of one size are one entry. */
static void put_packages(struct np_jsonout *out, const struct np_band *bands, size_t count)
{
	for (size_t from = 0, to = 0; from < count; from = to) {
		int64_t packets = NP_UNKNOWN;
		np_ns time = NP_UNKNOWN;

		for (; to < count && bands[to].package_bytes == bands[from].package_bytes; to++) {
			np_add_known(&packets, bands[to].package_count);
			np_add_known(&time, bands[to].package_time);
		}
		np_communication_put_packets(out, bands[from].package_bytes, packets, time);
	}
}

/* The transports in the vendor's order; one that was not used moved nothing. */
static void put_transport(struct np_jsonout *out, enum np_band_type type,
			  const struct np_band *bands, size_t count, bool total)
{
	const double ratio = count ? bands->large_packet_ratio : 0;
	int64_t bytes = count ? NP_UNKNOWN : 0;
	np_ns time = bytes;

	/* Repeated rows of an operator's band carry no sums: they are left out. */
	for (size_t i = 0; i < count; i++) {
		np_add_known(&bytes, bands[i].bytes);
		np_add_known(&time, bands[i].time);
	}
	np_communication_open_transport(out, type, bytes, time, total ? NULL : &ratio);
	put_packages(out, bands, count);
	np_communication_close_transport(out);
}

/* Without sizes in the data there is nothing here, and no zeros that look like measurements. */
static void put_bands(struct np_jsonout *out, const struct np_rank *rank, struct op_bands *bands,
		      bool total)
{
	static const enum np_band_type order[] = { NP_BAND_RDMA, NP_BAND_HCCS, NP_BAND_PCIE,
						   NP_BAND_SDMA, NP_BAND_SIO };

	if (bands->list.count)
		qsort(bands->list.item, bands->list.count, sizeof(bands->list.item[0]),
		      by_type_and_package);
	np_communication_open_bandwidth(out);
	for (size_t i = 0; i < NP_COUNT(order) && rank->sizes_known; i++) {
		size_t from = 0;
		size_t to;

		while (from < bands->list.count && bands->list.item[from].type != order[i])
			from++;
		for (to = from; to < bands->list.count && bands->list.item[to].type == order[i];)
			to++;
		put_transport(out, order[i], bands->list.item + from, to - from, total);
	}
	np_jsonout_end(out);
}

/* One rank's part of an operator, or of the total of its communicator. */
static int put_rank(struct np_jsonout *out, const struct text_export *export,
		    const struct op_entry *entries, size_t count, bool total, struct np_err *err)
{
	const struct np_rank *rank = export->run->ranks[entries->rank];
	struct np_op_times times = NP_OP_TIMES_INIT;
	struct op_bands bands = { 0 };
	char label[16];
	int rc = NP_OK;

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		np_op_times_add(&times, rank, entries[i].op);
		rc = add_op_bands(&bands, rank, entries[i].op, err);
	}
	(void)snprintf(label, sizeof(label), "%" PRId32, rank->id);
	np_jsonout_object_line(out, label);
	np_communication_put_times(out, &times, total ? NULL : &rank->ops.item[entries->op].start);
	put_bands(out, rank, &bands, total);
	np_jsonout_end(out);
	np_vec_release(&bands.list);
	return rc;
}

static const char *op_name(const struct text_export *export, const struct op_entry *entry)
{
	const struct np_rank *rank = export->run->ranks[entry->rank];

	return np_strtab_text(export->run->strings, rank->ops.item[entry->op].name);
}

/* By name with its numbers in numeric order, which is the order in which they were issued. */
static int by_name(const struct text_export *export, const struct op_entry *a,
		   const struct op_entry *b)
{
	const char *left = op_name(export, a);
	const char *right = op_name(export, b);

	/* Names are interned: equal ones are the same text. */
	return left == right ? 0 : strverscmp(left, right);
}

static int by_op(const void *left, const void *right, void *context)
{
	const struct op_entry *a = left;
	const struct op_entry *b = right;
	int order = export_by_position(&a->at, &b->at);

	if (!order)
		order = by_name(((const struct op_entries *)context)->export, a, b);
	if (!order)
		order = np_order(a->nth, b->nth);
	if (!order)
		order = np_order(a->rank, b->rank);
	return order ? order : np_order(a->op, b->op);
}

static int by_rank(const void *left, const void *right)
{
	const struct op_entry *a = left;
	const struct op_entry *b = right;
	int order = np_order(a->rank, b->rank);

	return order ? order : np_order(a->op, b->op);
}

/* One operator: what each rank knows of it. */
static int put_op(struct np_jsonout *out, const struct text_export *export,
		  const struct op_entry *entry, size_t count, struct np_buf *name,
		  struct np_err *err)
{
	int rc = NP_OK;

	export_open_op(out, export, name, op_name(export, entry), entry->nth,
		       entry->at.communicator);
	for (size_t i = 0; i < count && rc == NP_OK; i++)
		rc = put_rank(out, export, &entry[i], 1, false, err);
	np_jsonout_end(out);
	return rc;
}

/* The total of a communicator: its entries are put in the order of ranks for this. */
static int put_total(struct np_jsonout *out, const struct text_export *export,
		     struct op_entry *entries, size_t count, struct np_buf *name,
		     struct np_err *err)
{
	int rc = NP_OK;

	qsort(entries, count, sizeof(entries[0]), by_rank);
	export_open_op(out, export, name, NP_COMMUNICATION_TOTAL, 0, entries->at.communicator);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		while (to < count && entries[to].rank == entries[from].rank)
			to++;
		rc = put_rank(out, export, &entries[from], to - from, true, err);
	}
	np_jsonout_end(out);
	return rc;
}

static int put_communicator(struct np_jsonout *out, const struct text_export *export,
			    struct op_entry *entries, size_t count, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf name = NP_BUF_INIT;
	int rc = NP_OK;

	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		while (to < count && entries[to].nth == entries[from].nth &&
		       by_name(export, &entries[from], &entries[to]) == 0)
			to++;
		rc = put_op(out, export, &entries[from], to - from, &name, err);
	}
	if (rc == NP_OK)
		rc = put_total(out, export, entries, count, &name, err);
	return rc == NP_OK ? np_buf_check(&name, err) : rc;
}

static int put_step(struct np_jsonout *out, const struct export_entries *entries, size_t from,
		    size_t to, struct np_err *err)
{
	struct op_entry *item = entries->item;
	int rc = NP_OK;

	for (size_t next = from; from < to && rc == NP_OK; from = next) {
		while (next < to && item[next].at.communicator == item[from].at.communicator)
			next++;
		rc = put_communicator(out, entries->export, &item[from], next - from, err);
	}
	return rc;
}

static void sort(struct op_entries *ops)
{
	if (ops->list.count)
		qsort_r(ops->list.item, ops->list.count, sizeof(ops->list.item[0]), by_op, ops);
}

/*
 * A name may come twice in a step, where numbers start again or several devices
 * share a rank. An object has a key once, so the second one is called "name#2":
 * theirs drops it, and its totals fall short.
 */
static bool number_repeats(struct op_entries *ops)
{
	bool found = false;

	for (size_t i = 1; i < ops->list.count; i++) {
		struct op_entry *entry = &ops->list.item[i];

		if (entry->rank == entry[-1].rank &&
		    export_by_position(&entry->at, &entry[-1].at) == 0 &&
		    by_name(ops->export, entry, &entry[-1]) == 0) {
			entry->nth = entry[-1].nth + 1;
			found = true;
		}
	}
	return found;
}

static uint32_t find_step(const struct np_cluster *cluster, np_str id)
{
	uint32_t step = 0;

	/* The vendor does not know iterations that were found, nor ranges. */
	if (np_steps_are_ours(np_run_steps_from(cluster->run)))
		return 0;
	while (step < cluster->steps.count && cluster->steps.item[step] != id)
		step++;
	return step;
}

/* What the numbers of a rank mean among all ranks. */
struct rank_maps {
	uint32_t *steps;
	uint32_t *communicators;
};

static int map_rank(const struct text_export *export, const struct np_rank *rank,
		    struct rank_maps *ret, struct np_err *err)
{
	ret->steps = calloc(rank->steps.count + 1, sizeof(*ret->steps));
	ret->communicators = calloc(rank->groups.count + 1, sizeof(*ret->communicators));
	if (!ret->steps || !ret->communicators)
		return np_fail_nomem(err, "operators");
	for (size_t i = 0; i < rank->steps.count; i++)
		ret->steps[i] = find_step(export->cluster, rank->steps.item[i].id);
	for (size_t i = 0; i < rank->groups.count; i++)
		ret->communicators[i] = export_communicator(export, rank->groups.item[i].hash);
	return NP_OK;
}

static int add_op(struct op_entries *ops, uint32_t rank, uint32_t op, const struct rank_maps *maps,
		  struct np_err *err)
{
	const struct np_comm_op *from = &ops->export->run->ranks[rank]->ops.item[op];
	uint32_t communicator = maps->communicators[from->group];
	struct op_entry *entry = np_vec_add(&ops->list, err);

	if (!entry)
		return NP_E_NOMEM;
	*entry = (struct op_entry){
		.at = { .key = ops->export->keys[communicator],
			.step = from->step == NP_NO_STEP ? 0 : maps->steps[from->step],
			.communicator = communicator },
		.rank = rank,
		.op = op,
	};
	return NP_OK;
}

static int add_rank(struct op_entries *ops, uint32_t index, struct np_err *err)
{
	const struct np_rank *rank = ops->export->run->ranks[index];
	struct rank_maps maps = { 0 };
	int rc = map_rank(ops->export, rank, &maps, err);

	for (uint32_t i = 0; i < rank->ops.count && rc == NP_OK; i++) {
		if (rank->ops.item[i].step != NP_NO_STEP || np_steps_are_ours(rank->steps_from))
			rc = add_op(ops, index, i, &maps, err);
	}
	free(maps.steps);
	free(maps.communicators);
	return rc;
}

static int find(struct op_entries *ops, struct np_err *err)
{
	const struct np_run *run = ops->export->run;
	int rc = NP_OK;

	for (uint32_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
		if (run->ranks[i])
			rc = add_rank(ops, i, err);
	}
	if (rc < 0)
		return rc;
	sort(ops);
	if (number_repeats(ops))
		sort(ops);
	return NP_OK;
}

int export_ops(const struct text_export *export, const char *path, struct np_err *err)
{
	struct op_entries ops = { .export = export };
	int rc = export->times ? find(&ops, err) : NP_OK;

	if (rc == NP_OK) {
		const struct export_entries entries = { .export = export,
							.item = ops.list.item,
							.size = sizeof(struct op_entry),
							.count = ops.list.count,
							.put_step = put_step };

		rc = export_write_entries(&entries, path, err);
	}
	np_vec_release(&ops.list);
	return rc;
}
