/* SPDX-License-Identifier: Apache-2.0 */
/* Orders the details that other processes read, takes them in, and reads those that are ordered. */
#include "npuprof/details.h"

#include "distributed.h"
#include "load_source.h"

#include "npuprof/workers.h"

#include <stdatomic.h>

/*
 * Details on several processes
 * ----------------------------
 *
 * Who loaded a rank reads its detail too: its files are near there. The leader
 * orders all details that its threads are about to ask for, with the ranks as they
 * are now (steps may have been left out). They come from each process in that
 * order; a thread that waits for one takes in those that come before it.
 */

struct item {
	const struct np_run *run;
	size_t index;
	unsigned wants;
	int from;
	bool arrived;
	bool taken;
	void *bytes;
	size_t length;
};

/* What is known of a process. */
struct sender {
	size_t next;       /* where to look for the item that it sends next */
	struct np_err err; /* why no more come */
};

struct np_details {
	const struct np_procs *procs;
	NP_VEC(struct item) items;
	struct sender *senders; /* by process */
	pthread_mutex_t lock;   /* also of the communicator */
};

/* --- the leader -----------------------------------------------------------------------------  */

/* What only tables show of a rank may be packed, and is not told: details do not rest on it. */
static void put_item(struct np_bytes_writer *order, const struct item *item)
{
	const struct np_summary summary = { .source = item->run->sources.item[item->index],
					    .rank = item->run->ranks[item->index] };
	struct np_bytes bytes = { 0 };

	np_bytes_put_number(order, item->wants);
	if (np_summary_encode(&summary, item->run->strings, &bytes, NULL) < 0)
		order->failed = true;
	np_bytes_put_number(order, bytes.count);
	np_bytes_put_raw(order, bytes.item, bytes.count);
	np_bytes_release(&bytes);
}

static int send_order(const struct np_details *details, int to, size_t threads, struct np_err *err)
{
	struct np_bytes_writer order = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < details->items.count; i++)
		count += details->items.item[i].from == to;
	if (count == 0)
		return NP_OK;
	np_bytes_put_number(&order, threads);
	np_bytes_put_number(&order, count);
	for (size_t i = 0; i < details->items.count; i++) {
		if (details->items.item[i].from == to)
			put_item(&order, &details->items.item[i]);
	}
	return order_send(details->procs, to, ORDER_DETAILS, &order, err);
}

/* Items of ranks that others have; those of this process are left out. */
static int list_items(struct np_details *details, const struct np_detail_want *list, size_t count,
		      struct np_err *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct np_run *run = list[i].run;
		struct item *item;

		if (!run->distributed || run->distributed->owner[list[i].index] == 0 ||
		    !run->ranks[list[i].index] || list[i].wants == 0)
			continue;
		item = np_vec_add(&details->items, err);
		if (!item)
			return NP_E_NOMEM;
		*item = (struct item){ .run = run,
				       .index = list[i].index,
				       .wants = list[i].wants,
				       .from = (int)run->distributed->owner[list[i].index] };
		details->procs = run->distributed->procs;
	}
	return NP_OK;
}

static void release(struct np_details *details)
{
	for (size_t i = 0; i < details->items.count; i++) {
		struct item *item = &details->items.item[i];

		item->run->distributed->details = NULL;
		item->run->distributed->asked[item->index] = 0;
		free(item->bytes);
	}
	np_vec_release(&details->items);
	(void)pthread_mutex_destroy(&details->lock);
	free(details->senders);
	free(details);
}

static int send_orders(struct np_details *details, size_t threads, struct np_err *err)
{
	int rc = NP_OK;

	details->senders = calloc((size_t)details->procs->size, sizeof(*details->senders));
	if (!details->senders)
		return np_fail_nomem(err, "details");
	for (int to = 1; to < details->procs->size && rc == NP_OK; to++)
		rc = send_order(details, to, threads, err);
	if (rc < 0)
		orders_stop(details->procs);
	return rc;
}

int np_details_begin(const struct np_detail_want *list, size_t count, size_t threads,
		     struct np_details **ret, struct np_err *err)
{
	struct np_details *details = calloc(1, sizeof(*details));
	int rc;

	*ret = NULL;
	if (!details)
		return np_fail_nomem(err, "details");
	(void)pthread_mutex_init(&details->lock, NULL);
	rc = list_items(details, list, count, err);
	if (rc == NP_OK && details->items.count > 0)
		rc = send_orders(details, threads, err);
	if (rc < 0 || details->items.count == 0) {
		release(details);
		return rc;
	}
	for (size_t i = 0; i < details->items.count; i++) {
		struct np_distributed *distributed = details->items.item[i].run->distributed;

		distributed->details = details;
		distributed->asked[details->items.item[i].index] = (uint32_t)i + 1;
	}
	*ret = details;
	return NP_OK;
}

/* The item that comes next from a process; NULL if none does. */
static struct item *next_of(struct np_details *details, int from)
{
	size_t *next = &details->senders[from].next;

	while (*next < details->items.count &&
	       (details->items.item[*next].from != from || details->items.item[*next].arrived))
		++*next;
	return *next < details->items.count ? &details->items.item[*next] : NULL;
}

/* A failure is that of all items that have not come. */
static void receive_next(struct np_details *details, int from)
{
	struct item *item = next_of(details, from);

	item->arrived = order_receive(details->procs, from, &item->bytes, &item->length,
				      &details->senders[from].err) == NP_OK;
}

void np_details_end(struct np_details *details)
{
	bool open = false;

	if (!details)
		return;
	/* What nobody asked for is on its way all the same. */
	for (int from = 1; from < details->procs->size && !open; from++)
		open = next_of(details, from) != NULL;
	if (open)
		orders_stop(details->procs);
	release(details);
}

void np_details_endp(struct np_details **details)
{
	np_details_end(*details);
	*details = NULL;
}

int np_details_begin_run(const struct np_run *run, unsigned wants, size_t threads,
			 struct np_details **ret, struct np_err *err)
{
	struct np_detail_want *list = malloc((run->sources.count + 1) * sizeof(*list));
	int rc;

	if (!list)
		return np_fail_nomem(err, "details");
	for (size_t i = 0; i < run->sources.count; i++)
		list[i] = (struct np_detail_want){ run, i, wants };
	rc = np_details_begin(list, run->sources.count, threads, ret, err);
	free(list);
	return rc;
}

static bool detail_comes(const struct np_run *run, size_t index, unsigned wants)
{
	const struct np_distributed *distributed = run->distributed;
	const struct item *item;

	if (!distributed || !distributed->details || distributed->asked[index] == 0)
		return false;
	item = &distributed->details->items.item[distributed->asked[index] - 1];
	return item->wants == wants && !item->taken;
}

static int wait_for(struct np_details *details, const struct item *item, struct np_err *err)
{
	struct sender *sender = &details->senders[item->from];
	int64_t length = 0;

	for (;;) {
		int rc;
		bool arrived;

		(void)pthread_mutex_lock(&details->lock);
		if (!item->arrived && sender->err.code == NP_OK &&
		    details->procs->arrived(details->procs, item->from))
			receive_next(details, item->from);
		arrived = item->arrived;
		rc = arrived ? NP_OK : sender->err.code;
		(void)pthread_mutex_unlock(&details->lock);
		/* Nobody changes it once it is set. */
		if (rc < 0 && err)
			*err = sender->err;
		if (arrived || rc < 0)
			return rc;
		load_nap(&length);
	}
}

static int take_detail(const struct np_run *run, size_t index, struct np_detail **ret,
		       struct np_err *err)
{
	struct np_details *details = run->distributed->details;
	struct item *item = &details->items.item[run->distributed->asked[index] - 1];
	struct np_detail *detail = NULL;
	struct np_bytes_reader reader = { .problem = NULL };
	char *reason;
	int64_t code;
	int rc = wait_for(details, item, err);

	if (rc < 0)
		return rc;
	item->taken = true;
	reader.at = item->bytes;
	reader.end = reader.at + item->length;
	(void)np_bytes_get_number(&reader);
	code = np_bytes_get_signed(&reader);
	reason = np_bytes_get_text(&reader);
	if (code < 0) {
		rc = np_fail(err, (enum np_code)code, "%s", reason ? reason : "");
	} else {
		detail = np_detail_new(run->ranks[index]);
		if (detail)
			detail_get(&reader, detail);
		rc = detail ? summary_read(&reader, "of another process", err)
			    : np_fail_nomem(err, "details");
	}
	free(reason);
	free(item->bytes);
	item->bytes = NULL;
	if (rc < 0)
		np_detail_free(detail);
	else
		*ret = detail;
	return rc;
}

/* --- the run --------------------------------------------------------------------------------  */

static void distributed_free(struct np_distributed *distributed)
{
	free(distributed->owner);
	free(distributed->asked);
	free(distributed);
}

static const struct np_distributed_calls calls = {
	.detail_comes = detail_comes,
	.take_detail = take_detail,
	.free = distributed_free,
};

int distributed_attach(struct np_run *run, const struct np_procs *procs, uint32_t *owner,
		       struct np_err *err)
{
	struct np_distributed *distributed = calloc(1, sizeof(*distributed));
	uint32_t *asked = calloc(run->sources.count + 1, sizeof(*asked));

	if (!distributed || !asked) {
		free(distributed);
		free(asked);
		free(owner);
		return np_fail_nomem(err, "ranks");
	}
	*distributed = (struct np_distributed){ .procs = procs, .owner = owner, .asked = asked };
	run->distributed = distributed;
	run->distributed_calls = &calls;
	return NP_OK;
}

/* --- the others -----------------------------------------------------------------------------  */

struct details_service {
	struct np_run *run;
	NP_VEC(unsigned) wants;
	size_t first; /* of those that are read at once */
	const struct np_procs *procs;
	atomic_bool over; /* what is left is not wanted */
	struct np_bytes_writer *answers;
};

static int read_item(struct np_bytes_reader *reader, struct details_service *service,
		     struct np_err *err)
{
	unsigned *wants = np_vec_add(&service->wants, err);
	struct np_source_files *source = np_vec_add(&service->run->sources, err);
	struct np_summary summary = { 0 };
	uint64_t length;
	int rc;

	if (!wants || !source)
		return NP_E_NOMEM;
	*source = (struct np_source_files){ 0 };
	*wants = (unsigned)np_bytes_get_number(reader);
	length = np_bytes_get_at_most(reader, (uint64_t)(reader->end - reader->at));
	rc = np_summary_decode(reader->at, (size_t)length, "an order", service->run->strings,
			       &summary, err);
	if (rc < 0)
		return rc;
	reader->at += length;
	*source = summary.source;
	summary.source = (struct np_source_files){ 0 };
	service->run->ranks[service->run->sources.count - 1] = NP_STEAL(summary.rank);
	np_summary_release(&summary);
	return NP_OK;
}

static void read_detail(void *context, size_t index)
{
	struct details_service *service = context;
	struct np_bytes_writer *answer = &service->answers[index];
	NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;
	struct np_err err = NP_ERR_INIT;
	size_t at = service->first + index;
	int rc;

	if (atomic_load(&service->over))
		return;
	rc = np_detail_load(service->run, at, service->wants.item[at], &detail, &err);
	np_bytes_put_number(answer, ANSWER_PART);
	np_bytes_put_signed(answer, rc);
	np_bytes_put_text(answer, rc < 0 ? err.text : NULL);
	if (rc == NP_OK)
		detail_put(answer, detail);
}

static void look_whether_over(void *context, size_t done, size_t total)
{
	struct details_service *service = context;

	(void)done;
	(void)total;
	if (order_is_over(service->procs))
		atomic_store(&service->over, true);
}

/* Some at once, so that those that wait to be sent do not pile up. */
static int read_details(struct details_service *service, size_t threads, struct np_err *err)
{
	const struct np_workers workers = { .threads = threads,
					    .tick = look_whether_over,
					    .tick_context = service };
	size_t together = 2 * (threads ? threads : np_processors());
	int rc = NP_OK;

	service->answers = calloc(together, sizeof(*service->answers));
	if (!service->answers)
		return np_fail_nomem(err, "details");
	for (; service->first < service->wants.count && rc == NP_OK && !service->over;
	     service->first += together) {
		size_t count = service->wants.count - service->first;

		count = count < together ? count : together;
		np_workers_run(&workers, count, read_detail, service);
		for (size_t i = 0; i < count; i++) {
			look_whether_over(service, i, count);
			if (rc == NP_OK && !service->over)
				rc = answer_send(service->procs, &service->answers[i], err);
			np_bytes_release(&service->answers[i].bytes);
			service->answers[i] = (struct np_bytes_writer){ 0 };
		}
	}
	free(service->answers);
	return rc;
}

int details_serve(const struct np_procs *procs, struct np_bytes_reader *reader, struct np_err *err)
{
	struct details_service service = { .run = np_run_new(), .procs = procs };
	size_t threads = (size_t)np_bytes_get_number(reader);
	uint64_t count = np_bytes_get_at_most(reader, (uint64_t)(reader->end - reader->at));
	int rc = NP_OK;

	if (service.run)
		service.run->ranks = calloc((size_t)count + 1, sizeof(*service.run->ranks));
	if (!service.run || !service.run->ranks)
		rc = np_fail_nomem(err, "an order");
	for (uint64_t i = 0; i < count && rc == NP_OK; i++)
		rc = read_item(reader, &service, err);
	if (rc == NP_OK)
		rc = read_details(&service, threads, err);
	np_vec_release(&service.wants);
	np_run_free(service.run);
	return rc;
}
