/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterCommunicationMatrix: what went over each link of a communicator. */
#include "tables.h"

#include "npuprof/align.h"
#include "npuprof/comm_tasks.h"
#include "npuprof/op_times.h"

enum {
	STEP,
	OP_NAME,
	GROUP,
	SRC,
	DST,
	SIZE,
	TIME,
	BANDWIDTH,
	TRANSPORT,
	SOURCE_OP,
	COLUMNS,
};

static const struct np_column columns[COLUMNS] = {
	[STEP] = { "step", NP_TEXT },
	[OP_NAME] = { "hccl_op_name", NP_TEXT },
	[GROUP] = { "group_name", NP_TEXT },
	[SRC] = { "src_rank", NP_REAL },
	[DST] = { "dst_rank", NP_REAL },
	[SIZE] = { "transit_size", NP_REAL },
	[TIME] = { "transit_time", NP_REAL },
	[BANDWIDTH] = { "bandwidth", NP_REAL },
	[TRANSPORT] = { "transport_type", NP_TEXT },
	[SOURCE_OP] = { "op_name", NP_TEXT },
};

/* One row: a link of the communicator, its ends as global ranks. */
struct matrix_entry {
	np_str step;
	size_t step_order;
	np_str op_class;
	const char *class_text; /* NULL in the total over all classes */
	enum np_link_pick pick;
	int64_t src;
	int64_t dst;
	int64_t bytes;
	np_ns time;
	np_str transport;
	np_str op_name;
};

struct matrix_entries {
	NP_VEC(struct matrix_entry) list;
};

static int add_link(const struct np_cluster *cluster, const struct np_communicator *communicator,
		    const struct np_rank *rank, const struct np_link *link,
		    struct matrix_entries *entries, struct np_err *err)
{
	int64_t src = np_communicator_rank(communicator, link->src);
	int64_t dst = np_communicator_rank(communicator, link->dst);
	np_str step = np_vendor_step_id(rank, link->step);
	struct matrix_entry *entry;

	/* Readers of this table take every number for a rank; np_link has the others. */
	if (src < 0 || dst < 0)
		return NP_OK;
	entry = np_vec_add(&entries->list, err);
	if (!entry)
		return NP_E_NOMEM;
	*entry = (struct matrix_entry){ .step = step,
					.step_order = np_cluster_step(cluster, step),
					.op_class = link->op_class,
					.class_text = np_strtab_text(cluster->run->strings,
								     link->op_class),
					.pick = link->pick,
					.src = src,
					.dst = dst,
					.bytes = link->bytes,
					.time = link->time,
					.transport = link->transport,
					.op_name = link->op_name };
	return NP_OK;
}

static int collect_of(const struct np_cluster *cluster, const struct np_communicator *communicator,
		      const struct np_rank *rank, uint32_t group, struct matrix_entries *entries,
		      struct np_err *err)
{
	struct np_rank_links links;
	int rc = np_rank_links(rank, group, &links, err);

	for (size_t i = 0; i < links.count && rc == NP_OK; i++) {
		const struct np_link *link = &links.item[i];

		if (link->group == group && np_vendor_step(rank, link->step) != NP_NO_STEP)
			rc = add_link(cluster, communicator, rank, link, entries, err);
	}
	np_rank_links_release(&links);
	return rc;
}

/* All links of a communicator, from the ranks that have operators of it. */
static int collect(const struct np_cluster *cluster, const struct np_communicator *communicator,
		   struct matrix_entries *entries, struct np_err *err)
{
	int rc = NP_OK;

	entries->list.count = 0;
	for (size_t i = 0; i < communicator->observed_count && rc == NP_OK; i++) {
		const struct np_rank *rank = np_run_rank(cluster->run, communicator->observed[i]);

		for (uint32_t j = 0; rank && j < rank->groups.count && rc == NP_OK; j++) {
			if (rank->groups.item[j].hash == communicator->hash)
				rc = collect_of(cluster, communicator, rank, j, entries, err);
		}
	}
	return rc;
}

static int by_link(const void *left, const void *right)
{
	const struct matrix_entry *a = left;
	const struct matrix_entry *b = right;
	int order = np_order((int64_t)a->step_order, (int64_t)b->step_order);

	if (!order)
		order = strcmp(a->class_text, b->class_text);
	if (!order)
		order = np_order(a->pick, b->pick);
	if (!order)
		order = np_order(a->src, b->src);
	return order ? order : np_order(a->dst, b->dst);
}

static int by_ends(const void *left, const void *right)
{
	const struct matrix_entry *a = left;
	const struct matrix_entry *b = right;
	int order = np_order((int64_t)a->step_order, (int64_t)b->step_order);

	if (!order)
		order = np_order(a->src, b->src);
	return order ? order : np_order(a->dst, b->dst);
}

/* Several ranks may report one link: join what compares equal. */
static void join_equal(struct matrix_entries *entries, int (*order)(const void *, const void *))
{
	size_t kept = 0;

	if (entries->list.count == 0)
		return;
	qsort(entries->list.item, entries->list.count, sizeof(struct matrix_entry), order);
	for (size_t i = 1; i < entries->list.count; i++) {
		struct matrix_entry *last = &entries->list.item[kept];
		const struct matrix_entry *next = &entries->list.item[i];

		if (order(last, next) == 0) {
			last->bytes += next->bytes;
			last->time += next->time;
		} else {
			entries->list.item[++kept] = *next;
		}
	}
	entries->list.count = kept + 1;
}

static int produce_entry(const struct np_run *run, const struct np_communicator *communicator,
			 const struct matrix_entry *entry, struct np_sink *sink, struct np_err *err)
{
	struct np_cell cells[COLUMNS];
	char step[64];
	char group[24];
	char name[96] = "Total Op Info";

	np_step_label(run, entry->step, step, sizeof(step));
	np_group_label(communicator->hash, group, sizeof(group));
	if (entry->class_text)
		(void)snprintf(name, sizeof(name), "%s-%s", entry->class_text,
			       np_link_pick_name(entry->pick));
	cells[STEP] = np_cell_text(step);
	cells[OP_NAME] = np_cell_text(name);
	cells[GROUP] = np_cell_text(group);
	cells[SRC] = np_cell_scaled(entry->src, 1);
	cells[DST] = np_cell_scaled(entry->dst, 1);
	cells[SIZE] = np_cell_scaled(entry->bytes, B_PER_MB);
	cells[TIME] = np_cell_scaled(entry->time, NS_PER_MS);
	cells[BANDWIDTH] =
		np_cell_real(entry->time > 0 ? np_gb_per_s(entry->bytes, entry->time) : 0);
	cells[TRANSPORT] = np_cell_text(np_run_text(run, entry->transport));
	cells[SOURCE_OP] =
		np_cell_text(entry->op_name == NP_STR_NONE ? "" : np_run_text(run, entry->op_name));
	return np_sink_row(sink, cells, err);
}

static int produce_entries(const struct np_run *run, const struct np_communicator *communicator,
			   const struct matrix_entries *entries, struct np_sink *sink,
			   struct np_err *err)
{
	int rc = NP_OK;

	for (size_t i = 0; i < entries->list.count && rc == NP_OK; i++)
		rc = produce_entry(run, communicator, &entries->list.item[i], sink, err);
	return rc;
}

/* The total of a link over all classes of operators. */
static void keep_totals(struct matrix_entries *entries)
{
	size_t kept = 0;

	for (size_t i = 0; i < entries->list.count; i++) {
		if (entries->list.item[i].pick != NP_LINK_TOTAL)
			continue;
		entries->list.item[kept] = entries->list.item[i];
		entries->list.item[kept++].class_text = NULL;
	}
	entries->list.count = kept;
	join_equal(entries, by_ends);
}

static int produce(const void *model, struct np_sink *sink, struct np_err *err)
{
	const struct np_analysis *analysis = model;
	const struct np_cluster *cluster = analysis->cluster;
	struct matrix_entries entries = { 0 };
	int rc = NP_OK;

	for (size_t i = 0; i < cluster->communicators.count; i++) {
		const struct np_communicator *communicator = &cluster->communicators.item[i];

		rc = collect(cluster, communicator, &entries, err);
		if (rc < 0)
			break;
		join_equal(&entries, by_link);
		rc = produce_entries(cluster->run, communicator, &entries, sink, err);
		if (rc < 0)
			break;
		keep_totals(&entries);
		rc = produce_entries(cluster->run, communicator, &entries, sink, err);
		if (rc < 0)
			break;
	}
	np_vec_release(&entries.list);
	return rc;
}

NP_DEFINE_TABLE(np_table_communication_matrix, "ClusterCommunicationMatrix",
		"links of each communicator by class of operator, in MB, ms and GB/s", columns,
		produce);
