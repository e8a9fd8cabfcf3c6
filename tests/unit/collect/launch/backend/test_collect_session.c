/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what back-ends ask of the session that runs them, with a session that only listens. */
#include "collect/launch/backend/backend.h"

#include <sys/stat.h>
#include <unistd.h>

#include "collect/launch/backend/processes.h"
#include "np_test.h"
#include "npuprof/dirs.h"
#include "npuprof/vec.h"

struct heard {
	NP_VEC(struct np_message) messages;
	NP_VEC(struct np_event) events;
};

static void take(struct np_session *self, const struct np_message *message)
{
	struct heard *heard = (struct heard *)(void *)self;
	struct np_message *slot = np_vec_add(&heard->messages, NULL);

	assert_non_null(slot);
	*slot = *message;
}

static void send_first(struct np_session *self, const struct np_event *event)
{
	struct heard *heard = (struct heard *)(void *)self;
	struct np_event *slot = np_vec_add(&heard->events, NULL);

	assert_non_null(slot);
	*slot = *event;
}

static int64_t step_rate(const struct np_session *self)
{
	(void)self;
	return -1;
}

static bool has_left(const struct np_session *self)
{
	(void)self;
	return false;
}

static struct np_backend backend_of(struct np_job *job, struct heard *heard)
{
	return (struct np_backend){
		.job = job,
		.session = { (struct np_session *)(void *)heard, take, send_first, step_rate,
			     has_left },
		.channel = NP_CHANNEL_INIT,
	};
}

static void release(struct heard *heard)
{
	np_vec_release(&heard->messages);
	np_vec_release(&heard->events);
}

static void processes_that_run_already_are_announced_as_their_library_would(void **state)
{
	struct np_job job = { .finds_ranks = true };
	struct heard heard = { 0 };
	struct np_backend backend = backend_of(&job, &heard);
	char list[64];

	(void)state;
	/* Nobody has these numbers, and so no environment names a rank: their position does. */
	(void)snprintf(list, sizeof(list), "%d,%d", INT32_MAX, INT32_MAX - 1);
	np_processes_announce(&backend, list);
	assert_int_equal(heard.messages.count, 4);
	for (size_t i = 0; i < 2; i++) {
		const struct np_message *hello = &heard.messages.item[2 * i];
		const struct np_message *attached = &heard.messages.item[2 * i + 1];

		assert_int_equal(hello->type, NP_MSG_HELLO);
		assert_int_equal(attached->type, NP_MSG_ATTACHED);
		assert_int_equal(hello->rank, (int)i);
		assert_int_equal(attached->rank, (int)i);
		assert_true(attached->step == NP_UNKNOWN);
	}
	assert_int_equal(heard.messages.item[0].pid, INT32_MAX);
	release(&heard);
}

/* Launcher 1 of a host that launcher 0 speaks for. */
static void launcher_1(struct np_job *job, const char *root)
{
	static struct np_job_layout_rank ranks[] = { { 0, 0 }, { 0, 1 } };
	static struct np_job_layout_host host = { .name = "host", .leader = 0, .ranks = 2 };

	np_plan_init(&job->plan);
	job->plan.backend = NP_BACKEND_TORCH;
	job->rank = 1;
	job->world = job->ranks = 2;
	job->layout = (struct np_job_layout){
		.world = 2, .host_count = 1, .ranks = ranks, .hosts = &host
	};
	(void)snprintf(job->root, sizeof(job->root), "%s", root);
}

static void write_log(const char *root, const char *line)
{
	char path[300];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/.torch/host/log", root);
	(void)mkdir(path, 0700);
	(void)snprintf(path, sizeof(path), "%s/.torch/host/log/dp_host_77_rank_1.log", root);
	file = fopen(path, "ae");
	assert_non_null(file);
	(void)fprintf(file, "%s\n", line);
	assert_int_equal(fclose(file), 0);
}

/* Who does not write for its host has nobody to wait for; its rank comes when its log is there. */
static void torch_is_ready_and_its_rank_is_known_by_its_log(void **state)
{
	char root[] = "/tmp/np-session-XXXXXX";
	struct np_job job = { 0 };
	struct heard heard = { 0 };
	struct np_backend backend = backend_of(&job, &heard);
	NP_CLEANUP(np_env_release) struct np_env env = { 0 };
	struct np_err err = NP_ERR_INIT;
	struct np_record *record;

	(void)state;
	assert_non_null(mkdtemp(root));
	launcher_1(&job, root);
	record = np_vec_add(&job.records, NULL);
	assert_non_null(record);
	np_record_init(record, 1, true);
	assert_ok(np_backend_begin(&backend, &env, &err), err);
	assert_non_null(np_env_get(&env, "PROF_CONFIG_PATH"));
	write_log(root, "hello");
	np_backend_attend(&backend);
	assert_int_equal(heard.events.count, 1);
	assert_int_equal(heard.events.item[0].type, NP_EVENT_READY);
	assert_int_equal(heard.events.item[0].rank, 1);
	assert_true(job.records.item[0].attached);
	assert_int_equal(job.records.item[0].pid, 77);
	np_backend_end(&backend);
	np_vec_release(&job.records);
	np_remove_tree(root);
	release(&heard);
}

/* By its log and its directory; one window after the other. */
static void a_window_of_torch_is_accepted_when_its_log_says_that_it_began(void **state)
{
	char root[] = "/tmp/np-session-XXXXXX";
	struct np_job job = { 0 };
	struct heard heard = { 0 };
	struct np_backend backend = backend_of(&job, &heard);
	NP_CLEANUP(np_env_release) struct np_env env = { 0 };
	const struct np_event event = { .type = NP_EVENT_START,
					.step = 12,
					.value = 2,
					.level = -1,
					.window = 2,
					.wait_ms = 500 };
	struct np_err err = NP_ERR_INIT;
	struct np_message start;
	char dir[100];

	(void)state;
	assert_non_null(mkdtemp(root));
	launcher_1(&job, root);
	np_record_init(np_vec_add(&job.records, NULL), 1, true);
	assert_ok(np_backend_begin(&backend, &env, &err), err);
	write_log(root, "hello");
	np_backend_attend(&backend);
	np_torch_request(&backend, &event);
	assert_true(backend.torch.wait_ms == 500);
	np_message_init(&start, NP_MSG_START, 1);
	start.step = 12;
	(void)snprintf(start.text, sizeof(start.text), "%s", root);
	assert_true(np_backend_send(&backend, 1, &start));
	assert_false(np_backend_send(&backend, 5, &start));
	/* The second request of one window is refused. */
	assert_true(np_backend_send(&backend, 1, &start));
	assert_int_equal(heard.messages.count, 1);
	assert_int_equal(heard.messages.item[0].type, NP_MSG_REFUSED);
	(void)snprintf(dir, sizeof(dir), "%s/host_77_20250101000000000_ascend_pt", root);
	assert_int_equal(mkdir(dir, 0700), 0);
	write_log(root, "[INFO] Start Dynamic Profiler at 12 step");
	np_backend_attend(&backend);
	assert_int_equal(heard.messages.count, 3);
	assert_int_equal(heard.messages.item[1].type, NP_MSG_ACCEPTED);
	assert_int_equal(heard.messages.item[2].type, NP_MSG_WINDOW_OPEN);
	assert_true(heard.messages.item[2].step == 12);
	assert_string_equal(heard.messages.item[2].text, dir);
	np_backend_end(&backend);
	np_vec_release(&job.records);
	np_remove_tree(root);
	release(&heard);
}

static void a_window_has_a_directory_of_its_own_unless_it_is_that_of_the_plan(void **state)
{
	struct np_job job = { .root = "/profile/job" };
	char text[100];

	(void)state;
	np_job_name_window(&job, 1, text, sizeof(text));
	assert_string_equal(text, "/profile/job");
	np_job_name_window(&job, 3, text, sizeof(text));
	assert_string_equal(text, "/profile/job/window-3");
	job.plan.dynamic = true;
	np_job_name_window(&job, 1, text, sizeof(text));
	assert_string_equal(text, "/profile/job/window-1");
}

static void a_request_concerns_the_ranks_it_names_or_those_of_the_plan(void **state)
{
	bool chosen[] = { false, true };
	struct np_job job = { .chosen = chosen };

	(void)state;
	launcher_1(&job, "/profile");
	assert_true(np_job_concerns(&job, 1, ""));
	assert_false(np_job_concerns(&job, 0, ""));
	assert_true(np_job_concerns(&job, 0, "0-1"));
	assert_false(np_job_concerns(&job, 2, "0-1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_that_run_already_are_announced_as_their_library_would),
		cmocka_unit_test(torch_is_ready_and_its_rank_is_known_by_its_log),
		cmocka_unit_test(a_window_of_torch_is_accepted_when_its_log_says_that_it_began),
		cmocka_unit_test(a_window_has_a_directory_of_its_own_unless_it_is_that_of_the_plan),
		cmocka_unit_test(a_request_concerns_the_ranks_it_names_or_those_of_the_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
