/* SPDX-License-Identifier: Apache-2.0 */
/* Hands ranks to other processes, gathers what they made of them, and serves such orders. */
#include "distributed.h"
#include "load_source.h"

#include "npuprof/rank.h"

#include <time.h>

/*
 * Ranks on several processes
 * --------------------------
 *
 * The leader sends one order to each of the others: how to load, and which
 * sources. Each answers with one message for a source, in the order given: a
 * summary, which is either the rank or why it could not be read. So one bad rank
 * costs one rank here too.
 */
/* --- dividing -----------------------------------------------------------------------------------
 */

struct by_size {
	int64_t bytes;
	size_t index;
};

static int largest_first(const void *left, const void *right)
{
	const struct by_size *a = left;
	const struct by_size *b = right;

	return a->bytes != b->bytes ? np_order(b->bytes, a->bytes)
				    : np_order((int64_t)a->index, (int64_t)b->index);
}

int load_divide(const struct np_run *run, size_t processes, uint32_t *owner, struct np_err *err)
{
	size_t count = run->sources.count;
	struct by_size *order = malloc((count + 1) * sizeof(*order));
	int64_t *load = calloc(processes, sizeof(*load));

	for (size_t i = 0; order && i < count; i++)
		order[i] = (struct by_size){ run->sources.item[i].bytes, i };
	if (order && count > 0)
		qsort(order, count, sizeof(*order), largest_first);
	for (size_t i = 0; order && load && i < count; i++) {
		size_t least = 0;

		for (size_t j = 1; j < processes; j++)
			least = load[j] < load[least] ? j : least;
		/* Empty files take some time too. */
		load[least] += order[i].bytes + 1;
		owner[order[i].index] = (uint32_t)least;
	}
	free(order);
	free(load);
	return order && load ? NP_OK : np_fail_nomem(err, "the division of ranks");
}

/* --- the leader ---------------------------------------------------------------------------------
 */

static int send_order(const struct np_run *run, const struct np_load_options *options,
		      const uint32_t *owner, int to, struct np_err *err)
{
	struct np_bytes_writer order = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < run->sources.count; i++)
		count += owner[i] == (uint32_t)to;
	if (count == 0)
		return NP_OK;
	np_bytes_put_text(&order, options->cache);
	np_bytes_put_text(&order, options->program);
	np_bytes_put_number(&order, options->workers.threads);
	np_bytes_put_signed(&order, options->max_memory);
	np_bytes_put_number(&order, options->kernel_framework_op != NULL);
	np_bytes_put_number(&order, options->part);
	np_bytes_put_number(&order, options->steps.want);
	np_bytes_put_text(&order, options->steps.pattern);
	np_bytes_put_number(&order, count);
	for (size_t i = 0; i < run->sources.count; i++) {
		if (owner[i] == (uint32_t)to)
			summary_put_source(&order, &run->sources.item[i]);
	}
	return order_send(options->procs, to, ORDER_LOAD, &order, err);
}

int load_send_orders(const struct np_run *run, const struct np_load_options *options,
		     const uint32_t *owner, struct np_err *err)
{
	int rc = NP_OK;

	for (int to = 1; to < options->procs->size && rc == NP_OK; to++)
		rc = send_order(run, options, owner, to, err);
	return rc;
}

/* Messages that have come and are made into ranks together. */
#define TOGETHER_BYTES ((size_t)64 << 20)

struct load_message {
	size_t index; /* of the source */
	void *bytes;
	size_t length;
};

struct mail {
	NP_VEC(struct load_message) list;
	size_t bytes;
	const struct np_run *run;
	const struct np_load_options *options;
	struct load_outcome *outcomes;
};

static void take_message(const struct load_message *message, const struct np_load_options *options,
			 struct np_strtab *strings, struct load_outcome *ret)
{
	struct np_bytes_reader reader = { .at = message->bytes };
	struct np_summary summary = { 0 };
	char *cache;

	reader.end = reader.at + message->length;
	(void)np_bytes_get_number(&reader);
	cache = np_bytes_get_text(&reader);
	if (cache)
		(void)np_fail(&ret->cache, NP_E_IO, "%s", cache);
	free(cache);
	if (np_summary_decode(reader.at, (size_t)(reader.end - reader.at), "of another process",
			      strings, &summary, &ret->err) < 0)
		return;
	if (summary.rank)
		ret->rank = NP_STEAL(summary.rank);
	else
		(void)np_fail(&ret->err, summary.failure, "%s", summary.failure_text);
	np_summary_release(&summary);
	load_pack(options, ret);
}

static void open_message(void *context, size_t index)
{
	struct mail *mail = context;
	const struct load_message *message = &mail->list.item[index];

	take_message(message, mail->options, mail->run->strings, &mail->outcomes[message->index]);
}

static void open_mail(struct mail *mail, const struct np_workers *workers)
{
	const struct np_workers silent = { .threads = workers->threads };

	np_workers_run(&silent, mail->list.count, open_message, mail);
	for (size_t i = 0; i < mail->list.count; i++)
		free(mail->list.item[i].bytes);
	mail->list.count = 0;
	mail->bytes = 0;
}

#define SHORTEST_NAP_NS 50000
#define LONGEST_NAP_NS  2000000
#define TICK_NS         100000000

void load_nap(int64_t *length)
{
	struct timespec nap = { .tv_nsec = *length > 0 ? *length : SHORTEST_NAP_NS };

	(void)nanosleep(&nap, NULL);
	*length = nap.tv_nsec < LONGEST_NAP_NS ? nap.tv_nsec * 2 : nap.tv_nsec;
}

/* Until there is a message, with a look at how far all are now and then. */
static void wait_for(const struct np_procs *procs, int from, struct load_watch *watch)
{
	int64_t nap = 0;
	int64_t slept = 0;

	while (!procs->arrived(procs, from)) {
		load_nap(&nap);
		slept += nap;
		if (slept < TICK_NS)
			continue;
		load_watch_tick(watch, 0, 0);
		slept = 0;
	}
}

int load_gather(struct np_run *run, const struct np_load_options *options, const uint32_t *owner,
		struct load_watch *watch, struct load_outcome *outcomes, struct np_err *err)
{
	struct mail mail = { .run = run, .options = options, .outcomes = outcomes };
	int rc = NP_OK;

	for (int from = 1; from < options->procs->size; from++) {
		for (size_t i = 0; i < run->sources.count && rc == NP_OK; i++) {
			struct load_message *message;

			if (owner[i] != (uint32_t)from)
				continue;
			message = np_vec_add(&mail.list, err);
			if (!message) {
				rc = NP_E_NOMEM;
				break;
			}
			message->index = i;
			wait_for(options->procs, from, watch);
			rc = order_receive(options->procs, from, &message->bytes, &message->length,
					   err);
			mail.bytes += message->length;
			if (rc == NP_OK && mail.bytes > TOGETHER_BYTES)
				open_mail(&mail, &options->workers);
		}
	}
	/* Everything that was told has been heard then. */
	load_watch_tick(watch, 0, 0);
	open_mail(&mail, &options->workers);
	np_vec_release(&mail.list);
	return rc;
}

/* --- the others ---------------------------------------------------------------------------------
 */

struct load_service {
	const struct np_procs *procs;
	np_kernel_framework_op *kernel_framework_op;
	struct np_load_options options;
	struct load_count count;
	atomic_bool over; /* what is left is not wanted */
	char *cache;
	char *program;
	char *pattern; /* of steps */
	struct np_strtab *strings;
	struct load_gate gate;
	NP_VEC(struct np_source_files) sources;
	struct np_bytes *answers; /* by source */
	struct np_err *errors;
};

static void release_service(struct load_service *service)
{
	for (size_t i = 0; i < service->sources.count; i++) {
		np_source_files_release(&service->sources.item[i]);
		if (service->answers)
			np_bytes_release(&service->answers[i]);
	}
	np_vec_release(&service->sources);
	free(service->answers);
	free(service->errors);
	free(service->cache);
	free(service->program);
	free(service->pattern);
	np_strtab_free(service->strings);
	load_gate_release(&service->gate);
}

static int answer(const struct np_source_files *source, const struct np_strtab *strings,
		  struct load_outcome *outcome, struct np_bytes *ret, struct np_err *err)
{
	struct np_bytes_writer writer = { 0 };
	const struct np_summary summary = {
		.source = *source,
		.rank = outcome->rank,
		.failure = outcome->rank ? NP_OK : outcome->err.code,
		.failure_text = outcome->rank ? NULL : outcome->err.text,
	};
	int rc;

	np_bytes_put_number(&writer, ANSWER_PART);
	np_bytes_put_text(&writer, outcome->cache.code == NP_OK ? NULL : outcome->cache.text);
	rc = np_bytes_written(&writer, "a summary", err);
	*ret = writer.bytes;
	if (rc == NP_OK)
		rc = np_summary_encode(&summary, strings, ret, err);
	np_rank_freep(&outcome->rank);
	return rc;
}

static void serve_one(void *context, size_t index)
{
	struct load_service *service = context;
	const struct np_source_files *source = &service->sources.item[index];
	struct load_outcome outcome = { 0 };

	if (atomic_load(&service->over))
		return;
	load_gate_enter(&service->gate, source);
	load_source(&service->options, source, service->strings, &outcome);
	load_gate_leave(&service->gate, source);
	/* errors[index] is read when all are done */
	(void)!answer(source, service->strings, &outcome, &service->answers[index],
		      &service->errors[index]);
	load_count_add(&service->count, source);
}

static void tell(void *context, size_t done, size_t total)
{
	struct load_service *service = context;
	struct np_procs_news news = load_count_news(&service->count);

	(void)done;
	(void)total;
	service->procs->tell(service->procs, &news);
	if (order_is_over(service->procs))
		atomic_store(&service->over, true);
}

static int read_order(struct np_bytes_reader *reader, struct load_service *service,
		      struct np_err *err)
{
	uint64_t count;
	bool sums;

	service->cache = np_bytes_get_text(reader);
	service->program = np_bytes_get_text(reader);
	service->options.cache = service->cache;
	service->options.program = service->program;
	service->options.workers.threads = (size_t)np_bytes_get_number(reader);
	service->options.max_memory = np_bytes_get_signed(reader);
	sums = np_bytes_get_at_most(reader, 1) != 0;
	service->options.part = (enum np_load_part)np_bytes_get_at_most(reader, NP_LOAD_OPERATORS);
	service->options.steps.want =
		(enum np_steps_want)np_bytes_get_at_most(reader, NP_STEPS_WANT_COUNT - 1);
	service->pattern = np_bytes_get_text(reader);
	service->options.steps.pattern = service->pattern;
	if (service->options.steps.want == NP_WANT_RANGE && !service->pattern)
		service->options.steps.want = NP_WANT_NONE;
	count = np_bytes_get_number(reader);
	for (uint64_t i = 0; i < count && !reader->problem; i++) {
		struct np_source_files *source = np_vec_add(&service->sources, err);

		if (!source)
			return NP_E_NOMEM;
		summary_get_source(reader, source);
		source->steps = service->options.steps;
		source->part = service->options.part;
		source->kernel_framework_op = sums ? service->kernel_framework_op : NULL;
	}
	service->strings = np_strtab_new();
	service->answers = calloc((size_t)count + 1, sizeof(*service->answers));
	service->errors = calloc((size_t)count + 1, sizeof(*service->errors));
	if (!service->strings || !service->answers || !service->errors)
		return np_fail_nomem(err, "an order");
	service->gate.most = service->options.max_memory;
	return summary_read(reader, "an order", err);
}

static int serve_order(const struct np_procs *procs, np_kernel_framework_op *kernel_framework_op,
		       struct np_bytes_reader *reader, struct np_err *err)
{
	struct load_service service = { .procs = procs,
					.kernel_framework_op = kernel_framework_op };
	int rc;

	load_gate_init(&service.gate, 0);
	rc = read_order(reader, &service, err);
	service.options.workers.tick = tell;
	service.options.workers.tick_context = &service;
	if (rc == NP_OK)
		np_workers_run(&service.options.workers, service.sources.count, serve_one,
			       &service);
	for (size_t i = 0; i < service.sources.count && rc == NP_OK && !order_is_over(procs); i++) {
		rc = service.errors[i].code;
		if (rc < 0)
			*err = service.errors[i];
		else
			rc = procs->send(procs, 0, service.answers[i].item,
					 service.answers[i].count, err);
	}
	release_service(&service);
	return rc;
}

/* Take the rest of an order in, and carry it out. */
static int serve(const struct np_procs *procs, np_kernel_framework_op *kernel_framework_op,
		 uint64_t order, struct np_err *err)
{
	struct np_bytes_reader reader = { 0 };
	void *bytes = NULL;
	size_t length = 0;
	int rc = procs->receive(procs, 0, &bytes, &length, err);

	if (rc < 0)
		return rc;
	reader.at = bytes;
	reader.end = reader.at + length;
	if (order == ORDER_LOAD)
		rc = serve_order(procs, kernel_framework_op, &reader, err);
	else
		rc = details_serve(procs, &reader, err);
	free(bytes);
	return rc;
}

int np_load_serve(const struct np_procs *procs, np_kernel_framework_op *kernel_framework_op,
		  int *ret_status, struct np_err *err)
{
	uint64_t order = 0;
	int rc = NP_OK;

	while (rc == NP_OK && order != ORDER_END) {
		struct np_err problem = NP_ERR_INIT;

		rc = order_await(procs, &order, ret_status, err);
		if (rc < 0)
			break;
		if (order == ORDER_END || order == ORDER_STOP)
			rc = order_say_stopped(procs, err);
		else if (serve(procs, kernel_framework_op, order, &problem) < 0)
			rc = order_say_failed(procs, &problem, err);
	}
	return rc;
}
