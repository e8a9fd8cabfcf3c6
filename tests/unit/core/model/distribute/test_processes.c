/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of several processes, played by threads. Messages are handed over as
 * a strict MPI would: who sends a long one waits until it is taken. Nobody waits for
 * ever here, so that a test of whether somebody does can end.
 */
#include "np_fault.h"
#include "np_fixture.h"

#include "npuprof/detail.h"
#include "npuprof/details.h"
#include "npuprof/discover.h"
#include "npuprof/load_run.h"
#include "npuprof/run.h"

#include <pthread.h>
#include <time.h>

#define PROCESSES   3
#define PATIENCE_S  60
#define MOST_POSTED 64
#define STATUS      7

struct letter {
	const void *bytes;
	size_t length;
	uint8_t copy[NP_PROCS_SHORT];
};

/* From one process to another; letters are taken in order. */
struct line {
	struct letter letters[MOST_POSTED];
	size_t posted;
	size_t taken;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct line lines[PROCESSES][PROCESSES];
	size_t waited_for; /* letters that were too long to be sent before they were taken */
	bool stuck;
} office = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* With the lock held: wait until the count is greater than `than`. */
static int await(const size_t *count, size_t than, struct np_err *err)
{
	struct timespec deadline;

	(void)clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += PATIENCE_S;
	while (*count <= than && !office.stuck) {
		if (pthread_cond_timedwait(&office.changed, &office.lock, &deadline) == ETIMEDOUT)
			office.stuck = true;
	}
	(void)pthread_cond_broadcast(&office.changed);
	return office.stuck ? np_fail(err, NP_E_IO, "waited too long") : NP_OK;
}

static int post(const struct np_procs *procs, int to, const void *bytes, size_t length,
		struct np_err *err)
{
	struct line *line = &office.lines[procs->rank][to];
	struct letter *letter;
	int rc = NP_OK;

	(void)pthread_mutex_lock(&office.lock);
	assert_true(line->posted - line->taken < MOST_POSTED);
	letter = &line->letters[line->posted++ % MOST_POSTED];
	letter->bytes = bytes;
	letter->length = length;
	(void)pthread_cond_broadcast(&office.changed);
	if (length <= sizeof(letter->copy)) {
		memcpy(letter->copy, bytes, length);
		letter->bytes = letter->copy;
	} else {
		office.waited_for++;
		rc = await(&line->taken, line->posted - 1, err);
	}
	(void)pthread_mutex_unlock(&office.lock);
	return rc;
}

/* The next letter is there; what is done with it ends with taken(). */
static int next_letter(const struct np_procs *procs, int from, const struct letter **ret,
		       struct np_err *err)
{
	struct line *line = &office.lines[from][procs->rank];
	int rc;

	(void)pthread_mutex_lock(&office.lock);
	rc = await(&line->posted, line->taken, err);
	*ret = &line->letters[line->taken % MOST_POSTED];
	(void)pthread_mutex_unlock(&office.lock);
	return rc;
}

static void taken(const struct np_procs *procs, int from)
{
	(void)pthread_mutex_lock(&office.lock);
	office.lines[from][procs->rank].taken++;
	(void)pthread_cond_broadcast(&office.changed);
	(void)pthread_mutex_unlock(&office.lock);
}

static int take(const struct np_procs *procs, int from, void **ret, size_t *ret_length,
		struct np_err *err)
{
	const struct letter *letter;
	void *bytes;
	int rc = next_letter(procs, from, &letter, err);

	if (rc < 0)
		return rc;
	bytes = malloc(letter->length + 1);
	if (bytes) {
		memcpy(bytes, letter->bytes, letter->length);
		*ret = bytes;
		*ret_length = letter->length;
	}
	taken(procs, from);
	return bytes ? NP_OK : np_fail_nomem(err, "a message");
}

static int skim(const struct np_procs *procs, int from, void *head, size_t length,
		struct np_err *err)
{
	const struct letter *letter;
	int rc = next_letter(procs, from, &letter, err);

	if (rc < 0)
		return rc;
	memset(head, 0, length);
	memcpy(head, letter->bytes, length < letter->length ? length : letter->length);
	taken(procs, from);
	return NP_OK;
}

static bool is_there(const struct np_procs *procs, int from)
{
	const struct line *line = &office.lines[from][procs->rank];
	bool there;

	(void)pthread_mutex_lock(&office.lock);
	there = line->posted > line->taken || office.stuck;
	(void)pthread_mutex_unlock(&office.lock);
	return there;
}

static void tell_nobody(const struct np_procs *procs, const struct np_procs_news *news)
{
	(void)procs;
	(void)news;
}

static bool hear_nothing(const struct np_procs *procs, int *ret_from, struct np_procs_news *ret)
{
	(void)procs;
	(void)ret_from;
	(void)ret;
	return false;
}

static struct np_procs comm_of(int rank)
{
	return (struct np_procs){ .rank = rank,
				  .size = PROCESSES,
				  .send = post,
				  .receive = take,
				  .skim = skim,
				  .arrived = is_there,
				  .tell = tell_nobody,
				  .hear = hear_nothing };
}

static const char *output(int rank, const char *file)
{
	return below("run/rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT/%s", rank, file);
}

static int kernels_of(int rank)
{
	return 100 + rank;
}

/* --- the processes --------------------------------------------------------------------------- */

struct process {
	struct np_procs procs;
	pthread_t thread;
	size_t fault; /* the allocation that fails; what is left of it at the end */
	int rc;
	int status;
	struct np_err err;
};

static void *follow(void *argument)
{
	struct process *process = argument;

	np_fault_left = process->fault;
	process->rc = np_load_serve(&process->procs, NULL, &process->status, &process->err);
	process->fault = np_fault_left;
	np_fault_left = 0;
	return NULL;
}

/* Order all details, and ask for those of the first `count` ranks. */
static int look_at_details(const struct np_run *run, size_t count, struct np_err *err)
{
	NP_CLEANUP(np_details_endp) struct np_details *details = NULL;
	int rc = np_details_begin_run(run, NP_DETAIL_KERNELS, 1, &details, err);

	for (size_t i = 0; i < count && rc == NP_OK; i++) {
		NP_CLEANUP(np_detail_freep) struct np_detail *detail = NULL;

		if (!run->ranks[i])
			continue;
		rc = np_detail_load(run, i, NP_DETAIL_KERNELS, &detail, err);
		if (rc == NP_OK && (detail->has & NP_DETAIL_KERNELS))
			assert_int_equal(detail->kernels.count, kernels_of((int)i));
	}
	return rc;
}

/* Load all, and go over all details; where it is `cut`, leave off in the middle once before. */
static int work(struct np_run *run, const struct np_procs *procs, bool cut, struct np_err *err)
{
	const struct np_load_options how = { .procs = procs, .workers = { .threads = 1 } };
	int rc = np_load_run(run, &how, err);

	if (rc == NP_OK && cut)
		rc = look_at_details(run, 2, err);
	return rc < 0 ? rc : look_at_details(run, run->sources.count, err);
}

/*
 * Everything once, where one process fails to get the fault-th piece of memory it asks
 * for. All must come to their end; returns whether the fault has happened.
 */
static bool play(int who, size_t fault, bool cut, int *ret_rc)
{
	struct process others[PROCESSES];
	struct np_procs leader = comm_of(0);
	const struct np_discover_options all = { 0 };
	const char *dirs[] = { below("run") };
	struct np_run *run = np_run_new();
	struct np_err err = NP_ERR_INIT;
	bool happened;

	assert_ok(np_discover(run, dirs, 1, &all, &err), err);
	memset(office.lines, 0, sizeof(office.lines));
	for (int i = 1; i < PROCESSES; i++) {
		others[i] = (struct process){ .procs = comm_of(i), .fault = who == i ? fault : 0 };
		assert_int_equal(pthread_create(&others[i].thread, NULL, follow, &others[i]), 0);
	}
	np_fault_left = who == 0 ? fault : 0;
	*ret_rc = work(run, &leader, cut, &err);
	assert_ok(np_load_dismiss(&leader, STATUS, &err), err);
	happened = fault > 0 && np_fault_left == 0;
	np_fault_left = 0;
	for (int i = 1; i < PROCESSES; i++) {
		(void)pthread_join(others[i].thread, NULL);
		assert_ok(others[i].rc, others[i].err);
		assert_int_equal(others[i].status, STATUS);
		if (who == i)
			happened = fault > 0 && others[i].fault == 0;
	}
	assert_false(office.stuck);
	np_run_free(run);
	return happened;
}

/* Ranks of few files, and so many rows that neither they nor their details are short messages. */
static void write_run(void)
{
	for (int rank = 0; rank < 5; rank++) {
		NP_CLEANUP(np_buf_release) struct np_buf steps = NP_BUF_INIT;
		NP_CLEANUP(np_buf_release) struct np_buf kernels = NP_BUF_INIT;

		np_buf_printf(&steps, "Step,Computing,Communication(Not Overlapped),Overlapped,"
				      "Communication,Free\n");
		np_buf_printf(&kernels, "Name,Type,Accelerator Core,Start Time(us),Duration(us)\n");
		for (int i = 0; i < kernels_of(rank); i++) {
			np_buf_printf(&steps, "%d,%d.5,1,1,1,1\n", i, i);
			np_buf_printf(&kernels, "kernel%d,MatMul,AI_CORE,%d.0,5.0\n", i,
				      100 + 10 * i);
		}
		make_dirs(below("run/rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT", rank));
		write_text(below("run/rank%d_ascend_pt/profiler_info_%d.json", rank, rank), "{}");
		write_text(output(rank, "step_trace_time.csv"), steps.text);
		write_text(output(rank, "kernel_details.csv"), kernels.text);
	}
}

static void assert_all_end(int who)
{
	int rc = NP_OK;

	if (!NP_FAULTS)
		skip();
	write_run();
	for (size_t n = 1; play(who, n, false, &rc) || n == 1; n++)
		(void)snprintf(np_fixture_doing, sizeof(np_fixture_doing), "allocation %zu", n);
	*np_fixture_doing = '\0';
	assert_int_equal(rc, NP_OK);
	assert_true(office.waited_for > 0);
}

static void all_processes_end_wherever_the_first_runs_out_of_memory(void **state)
{
	(void)state;
	assert_all_end(0);
}

static void all_processes_end_wherever_another_runs_out_of_memory(void **state)
{
	(void)state;
	assert_all_end(1);
}

static void details_that_are_not_asked_for_hold_nobody_up_and_are_not_taken_for_others(void **state)
{
	int rc;

	(void)state;
	write_run();
	assert_false(play(0, 0, true, &rc));
	assert_int_equal(rc, NP_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_fixture(all_processes_end_wherever_the_first_runs_out_of_memory),
		with_fixture(all_processes_end_wherever_another_runs_out_of_memory),
		with_fixture(
			details_that_are_not_asked_for_hold_nobody_up_and_are_not_taken_for_others),
	};

	return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
