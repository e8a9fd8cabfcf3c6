/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the sub-tasks of communication operators: payload, waits, packets and links. */
#include "npuprof/comm_tasks.h"

#include "comm_links.h"
#include "comm_transfers.h"

#include "npuprof/text.h"

#include <ctype.h>

/* Packets above these sizes count as large; the vendor's thresholds. */
#define LARGE_BYTES      32000000
#define LARGE_RDMA_BYTES 500000

/* One packet that crossed a link: a transit task, or a whole RDMA group. */
struct packet {
	enum np_band_type band;
	int64_t bytes;
	np_ns time;
};

/* What is gathered while the tasks of one operator are walked, and of all operators. */
struct np_comm_tasks {
	struct np_rank *rank;
	struct np_strtab *strings;
	struct np_spans *scratch;
	uint32_t op;
	size_t rdma_closing; /* tasks that close an RDMA group, by the kind of operator */
	bool on_master;
	bool payload_seen; /* on this plane */
	np_ns transit;
	np_ns wait;
	np_ns sync;
	NP_VEC(struct packet) packets;
	NP_VEC(struct np_span) payload; /* over all planes */
	struct np_op_links *links;
	struct np_transfers *transfers;
	size_t sized;   /* transfers */
	size_t unsized; /* whose size nobody recorded */
	struct np_err *err;
};

static int by_op_plane_time(const void *left, const void *right)
{
	const struct np_comm_task *a = left;
	const struct np_comm_task *b = right;

	if (a->op != b->op)
		return a->op < b->op ? -1 : 1;
	if (a->plane != b->plane)
		return a->plane < b->plane ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return 0;
}

/* A copy over a link, or within the device; newer devices have links of their own kinds. */
static bool is_copied(const struct np_comm_task *task)
{
	return task->transport == NP_TRANSPORT_SDMA || task->transport == NP_TRANSPORT_UB ||
	       task->transport == NP_TRANSPORT_ROCE;
}

static bool is_transit(const struct np_comm_task *task)
{
	return task->kind == NP_TASK_PAYLOAD && is_copied(task) && task->link != NP_LINK_ON_CHIP;
}

static enum np_band_type band_of(uint16_t link)
{
	switch (link) {
	case NP_LINK_HCCS:
	case NP_LINK_HCCS_SW:
		return NP_BAND_HCCS;
	case NP_LINK_PCIE:
		return NP_BAND_PCIE;
	case NP_LINK_SIO:
		return NP_BAND_SIO;
	default:
		return NP_BAND_SDMA;
	}
}

/* A transfer of unknown size has no bandwidth: neither its time nor a size of 0 belongs to one. */
static int add_packet(struct np_comm_tasks *walk, enum np_band_type band, int64_t bytes, np_ns time)
{
	struct packet *packet;

	if (bytes == NP_UNKNOWN || bytes <= 0) {
		walk->unsized += time > 0;
		return NP_OK;
	}
	walk->sized++;
	packet = np_vec_add(&walk->packets, walk->err);
	if (!packet)
		return NP_E_NOMEM;
	*packet = (struct packet){ band, bytes, time };
	return NP_OK;
}

static int add_payload(struct np_comm_tasks *walk, np_ns start, np_ns end)
{
	struct np_span *span = np_vec_add(&walk->payload, walk->err);

	if (!span)
		return NP_E_NOMEM;
	*span = (struct np_span){ start, end };
	return NP_OK;
}

/* Memcpy or Reduce_Inline, on the chip or over a link. */
static int take_payload(struct np_comm_tasks *walk, const struct np_comm_task *task)
{
	np_ns time = task->end - task->start;
	int rc = add_payload(walk, task->start, task->end);

	if (rc == NP_OK && is_copied(task))
		rc = np_op_links_add(walk->links, walk->op, task->src, task->dst,
				     np_link_label(task->link), task->bytes, time, walk->err);
	if (rc < 0 || !is_transit(task))
		return rc;
	if (walk->on_master)
		walk->transit += time;
	walk->payload_seen = true;
	rc = np_transfers_add(walk->transfers, walk->op, task, np_link_label(task->link),
			      task->bytes, task->end, walk->err);
	return rc < 0 ? rc : add_packet(walk, band_of(task->link), task->bytes, time);
}

/*
 * An RDMA transfer is a run of payload sends followed by a fixed number of
 * tasks that close it: it lasts until the end of the closing one. Returns how
 * many tasks it took, 0 for a run that is not closed, or a negative code.
 */
static int take_rdma_group(struct np_comm_tasks *walk, const struct np_comm_task *task, size_t left)
{
	size_t sends = 1;
	int64_t bytes = 0;
	size_t closing;
	np_ns time;
	int rc;

	while (sends < left && task[sends].kind == NP_TASK_RDMA_PAYLOAD)
		sends++;
	closing = sends + walk->rdma_closing - 2;
	if (closing >= left)
		return 0;
	/* One that is not known makes the sum unknown. */
	for (size_t i = 0; i < sends && bytes != NP_UNKNOWN; i++)
		bytes = task[i].bytes == NP_UNKNOWN || task[i].bytes <= 0 ? NP_UNKNOWN
									  : bytes + task[i].bytes;
	time = task[closing].end - task->start;
	rc = add_payload(walk, task->start, task[closing].end);
	if (rc == NP_OK)
		rc = add_packet(walk, NP_BAND_RDMA, bytes, time);
	if (rc == NP_OK)
		rc = np_op_links_add(walk->links, walk->op, task->src, task->dst, "RDMA", bytes,
				     time, walk->err);
	if (rc == NP_OK)
		rc = np_transfers_add(walk->transfers, walk->op, task, "RDMA", bytes,
				      task[closing].end, walk->err);
	if (rc < 0)
		return rc;
	if (walk->on_master)
		walk->transit += time;
	walk->payload_seen = true;
	return (int)(closing + 1);
}

static void take_wait(struct np_comm_tasks *walk, const struct np_comm_task *task)
{
	np_ns time = task->end - task->start;

	if (!walk->on_master)
		return;
	walk->wait += time;
	if (!walk->payload_seen)
		walk->sync += time;
}

static int walk_plane(struct np_comm_tasks *walk, const struct np_comm_task *tasks, size_t count)
{
	size_t i = 0;

	walk->payload_seen = false;
	while (i < count) {
		int taken = 1;

		if (tasks[i].kind == NP_TASK_RDMA_PAYLOAD) {
			taken = take_rdma_group(walk, &tasks[i], count - i);
			/* Not closed: skip the run of sends. */
			for (; taken == 0 && i < count && tasks[i].kind == NP_TASK_RDMA_PAYLOAD;)
				i++;
		} else if (tasks[i].kind == NP_TASK_PAYLOAD) {
			int rc = take_payload(walk, &tasks[i]);

			taken = rc < 0 ? rc : 1;
		} else if (tasks[i].kind == NP_TASK_NOTIFY_WAIT) {
			take_wait(walk, &tasks[i]);
		}
		if (taken < 0)
			return taken;
		i += (size_t)taken;
	}
	return NP_OK;
}

/*
 * The plane whose times the vendor reports. Newer profiles mark it; in older
 * ones it is the first plane above 0 on which something was sent or awaited.
 */
static uint32_t master_plane(const struct np_comm_task *tasks, size_t count, bool has_master)
{
	const struct np_comm_task *first = NULL;

	for (size_t i = 0; has_master && i < count; i++) {
		if (tasks[i].master && (!first || tasks[i].start < first->start))
			first = &tasks[i];
	}
	if (first)
		return first->plane;
	for (size_t i = 0; i < count; i++) {
		if (tasks[i].plane > 0 &&
		    (is_transit(&tasks[i]) || tasks[i].kind == NP_TASK_NOTIFY_WAIT ||
		     tasks[i].kind == NP_TASK_RDMA_PAYLOAD))
			return tasks[i].plane;
	}
	return 0;
}

static int by_band_and_size(const void *left, const void *right)
{
	const struct packet *a = left;
	const struct packet *b = right;

	if (a->band != b->band)
		return a->band < b->band ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return 0;
}

static struct np_band *add_band(struct np_comm_tasks *walk, const struct np_band *totals)
{
	struct np_band *band = np_vec_add(&walk->rank->bands, walk->err);

	if (band)
		*band = *totals;
	return band;
}

/* Rows of one transport: its packets sorted by size, one row for each size. */
static int add_sizes(struct np_comm_tasks *walk, const struct packet *packets, size_t count)
{
	int64_t large = packets->band == NP_BAND_RDMA ? LARGE_RDMA_BYTES : LARGE_BYTES;
	struct np_band totals = { .op = walk->op, .type = packets->band };
	struct np_band *row = NULL;
	size_t large_count = 0;

	for (size_t i = 0; i < count; i++) {
		totals.bytes += packets[i].bytes;
		totals.time += packets[i].time;
		large_count += packets[i].bytes > large;
	}
	/* The vendor leaves out a transport that moved nothing in no time. */
	if (totals.bytes == 0 && totals.time == 0)
		return NP_OK;
	totals.large_packet_ratio = np_round((double)large_count / (double)count, 4);
	for (size_t i = 0; i < count; i++) {
		if (!row || row->package_bytes != packets[i].bytes) {
			row = add_band(walk, &totals);
			if (!row)
				return NP_E_NOMEM;
			row->package_bytes = packets[i].bytes;
		}
		row->package_count++;
		row->package_time += packets[i].time;
	}
	return NP_OK;
}

/* The vendor's SDMA row sums everything but RDMA and has no distribution of sizes. */
static int add_sdma(struct np_comm_tasks *walk)
{
	struct np_band totals = { .op = walk->op, .type = NP_BAND_SDMA };

	for (size_t i = 0; i < walk->packets.count; i++) {
		if (walk->packets.item[i].band == NP_BAND_RDMA)
			continue;
		totals.bytes += walk->packets.item[i].bytes;
		totals.time += walk->packets.item[i].time;
	}
	if (totals.bytes == 0 && totals.time == 0)
		return NP_OK;
	return add_band(walk, &totals) ? NP_OK : NP_E_NOMEM;
}

/* Those of an operator are mostly alike. */
static bool packets_sorted(const struct packet *packets, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (by_band_and_size(&packets[i - 1], &packets[i]) > 0)
			return false;
	}
	return true;
}

static int add_bands(struct np_comm_tasks *walk)
{
	struct packet *packets = walk->packets.item;
	size_t count = walk->packets.count;
	size_t from = 0;
	int rc = NP_OK;

	if (!packets_sorted(packets, count))
		qsort(packets, count, sizeof(packets[0]), by_band_and_size);
	for (int band = 0; band < NP_BAND_COUNT && rc == NP_OK; band++) {
		size_t to = from;

		while (to < count && packets[to].band == (enum np_band_type)band)
			to++;
		if (band == NP_BAND_SDMA)
			rc = add_sdma(walk);
		else if (to > from)
			rc = add_sizes(walk, &packets[from], to - from);
		from = to;
	}
	return rc;
}

static np_ns union_of(struct np_comm_tasks *walk, struct np_span *extent)
{
	np_spans_clear(walk->scratch);
	if (np_spans_add_all(walk->scratch, walk->payload.item, walk->payload.count, walk->err) < 0)
		return NP_UNKNOWN;
	(void)np_spans_extent(walk->scratch, NULL, extent);
	return np_spans_total(walk->scratch);
}

static int measure_op(struct np_comm_tasks *walk, const struct np_comm_task *tasks, size_t count,
		      struct np_comm_tasks_form form)
{
	struct np_comm_op *op = &walk->rank->ops.item[walk->op];
	uint32_t master = master_plane(tasks, count, form.has_master);
	struct np_span extent = { op->end, op->end };
	np_ns elapsed = op->end - op->start;
	np_ns transfer;
	int rc;

	for (size_t from = 0, to = 0; from < count; from = to) {
		while (to < count && tasks[to].plane == tasks[from].plane)
			to++;
		walk->on_master = tasks[from].plane == master;
		rc = walk_plane(walk, &tasks[from], to - from);
		if (rc < 0)
			return rc;
	}
	transfer = union_of(walk, &extent);
	if (transfer == NP_UNKNOWN)
		return walk->err->code;
	if (transfer > elapsed)
		transfer = elapsed;
	rc = np_rank_shorten(walk->rank, transfer, &op->transfer, walk->err);
	if (rc < 0)
		return rc;
	if (!form.has_links)
		return np_rank_set_vendor_times(
			walk->rank, walk->op, transfer, elapsed - transfer,
			extent.begin > op->start ? extent.begin - op->start : 0, walk->err);
	rc = np_rank_set_vendor_times(walk->rank, walk->op, walk->transit, walk->wait, walk->sync,
				      walk->err);
	return rc < 0 ? rc : add_bands(walk);
}

/* Send and receive close an RDMA group with fewer tasks than collectives do. */
static size_t closing_tasks(const char *op_name)
{
	return strcasestr(op_name, "send") || strcasestr(op_name, "receive") ? 3 : 5;
}

static void start_walk(struct np_comm_tasks *walk, uint32_t op, const char *op_name)
{
	walk->op = op;
	walk->rdma_closing = closing_tasks(op_name);
	walk->transit = 0;
	walk->wait = 0;
	walk->sync = 0;
	walk->packets.count = 0;
	walk->payload.count = 0;
}

static bool sorted(const struct np_comm_task *tasks, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (by_op_plane_time(&tasks[i - 1], &tasks[i]) > 0)
			return false;
	}
	return true;
}

/* So many places for an operator and plane, or for each task, are looked at in no time. */
#define PLACES_LEAST    1024
#define PLACES_PER_TASK 4

/*
 * Tables have tasks in the order of time: it is enough to put together those of each operator and
 * plane, in the order in which they are. With numbers that are far from each other they stay where
 * they are.
 */
static int gather_planes(struct np_comm_task *tasks, size_t count, struct np_err *err)
{
	uint32_t first = UINT32_MAX;
	uint32_t last = 0;
	uint64_t planes = 1;
	struct np_comm_task *copy;
	uint64_t places;
	size_t from = 0;
	size_t *place;
	bool there;

	for (size_t i = 0; i < count; i++) {
		first = tasks[i].op < first ? tasks[i].op : first;
		last = tasks[i].op > last ? tasks[i].op : last;
		planes = tasks[i].plane >= planes ? (uint64_t)tasks[i].plane + 1 : planes;
	}
	places = ((uint64_t)last - first + 1) * planes;
	if (planes > UINT16_MAX || places > PLACES_LEAST + count * PLACES_PER_TASK)
		return NP_OK;
	place = calloc(places, sizeof(*place));
	copy = malloc(count * sizeof(*copy));
	there = place && copy;
	if (there) {
		for (size_t i = 0; i < count; i++)
			place[(tasks[i].op - first) * planes + tasks[i].plane]++;
		for (uint64_t i = 0; i < places; i++) {
			size_t here = place[i];

			place[i] = from;
			from += here;
		}
		memcpy(copy, tasks, count * sizeof(*copy));
		for (size_t i = 0; i < count; i++)
			tasks[place[(copy[i].op - first) * planes + copy[i].plane]++] = copy[i];
	}
	free(place);
	free(copy);
	return there ? NP_OK : np_fail_nomem(err, "tasks of operators");
}

struct np_comm_tasks *np_comm_tasks_new(struct np_rank *rank, struct np_strtab *strings)
{
	struct np_comm_tasks *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	walk->rank = rank;
	walk->strings = strings;
	walk->scratch = np_spans_new();
	walk->links = np_op_links_new();
	walk->transfers = np_transfers_new();
	if (walk->scratch && walk->links && walk->transfers)
		return walk;
	np_comm_tasks_free(walk);
	return NULL;
}

void np_comm_tasks_free(struct np_comm_tasks *walk)
{
	if (!walk)
		return;
	np_spans_free(walk->scratch);
	np_op_links_free(walk->links);
	np_transfers_free(walk->transfers);
	np_vec_release(&walk->packets);
	np_vec_release(&walk->payload);
	free(walk);
}

int np_comm_tasks_add(struct np_comm_tasks *walk, struct np_comm_task *tasks, size_t count,
		      struct np_comm_tasks_form form, struct np_err *err)
{
	struct np_err own = NP_ERR_INIT;
	int rc = NP_OK;

	walk->err = err ? err : &own;
	if (!sorted(tasks, count))
		rc = gather_planes(tasks, count, walk->err);
	if (rc == NP_OK && !sorted(tasks, count))
		qsort(tasks, count, sizeof(tasks[0]), by_op_plane_time);
	for (size_t from = 0, to = 0; from < count && rc == NP_OK; from = to) {
		uint32_t op = tasks[from].op;

		while (to < count && tasks[to].op == op)
			to++;
		start_walk(walk, op, np_strtab_text(walk->strings, walk->rank->ops.item[op].name));
		rc = measure_op(walk, &tasks[from], to - from, form);
	}
	return rc;
}

int np_comm_tasks_finish(struct np_comm_tasks *walk, struct np_comm_tasks_form form,
			 struct np_err *err)
{
	int rc;

	if (!form.has_links)
		return NP_OK;
	if (walk->unsized > 0)
		/* None at all is what a low level records. */
		np_note_add(&walk->rank->notes,
			    walk->sized > 0 && !form.may_lack
				    ? np_note_of_loss(walk->unsized, walk->sized)
				    : NP_NOTE_WARNING,
			    walk->rank->id, walk->rank->path, "sizes of transfers",
			    "%zu of %zu transfers have none recorded: they count as transfer time,"
			    " but for no bandwidth and no link",
			    walk->unsized, walk->unsized + walk->sized);
	if (walk->unsized > 0 && walk->sized == 0)
		walk->rank->sizes_known = false;
	rc = np_op_links_pick(walk->links, walk->rank, walk->strings, err);
	return rc < 0 ? rc : np_transfers_reduce(walk->transfers, walk->rank, walk->strings, err);
}

int np_comm_tasks_measure(struct np_rank *rank, struct np_strtab *strings,
			  struct np_comm_task *tasks, size_t count, struct np_comm_tasks_form form,
			  struct np_err *err)
{
	struct np_comm_tasks *walk = np_comm_tasks_new(rank, strings);
	int rc = walk ? np_comm_tasks_add(walk, tasks, count, form, err)
		      : np_fail_nomem(err, "communication tasks");

	if (rc == NP_OK)
		rc = np_comm_tasks_finish(walk, form, err);
	np_comm_tasks_free(walk);
	return rc;
}

size_t np_op_class(const char *op_name, char *ret, size_t size)
{
	const char *begin = strncasecmp(op_name, "hcom_", 5) == 0 ? op_name + 5 : op_name;
	const char *end = strstr(begin, "__");
	size_t length = end ? (size_t)(end - begin) : strlen(begin);

	/* "hcom_allReduce_" is the type of an operator whose name has no number. */
	while (length > 0 && begin[length - 1] == '_')
		length--;
	if (length >= size)
		length = size - 1;
	for (size_t i = 0; i < length; i++)
		ret[i] = (char)tolower((unsigned char)begin[i]);
	ret[length] = '\0';
	return length;
}
