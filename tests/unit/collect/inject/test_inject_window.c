/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "collect/inject/inject.h"
#include "np_test.h"
#include "npuprof/json.h"

/*
 * The library with an AscendCL made of functions that note what is called. Each returns
 * what `answer` says for its letter: i init, c config, s start, p stop, d destroy, f finalize,
 * y synchronize, t synchronize with timeout, w warmup, k set config. n: no profile is
 * written, z: STOP arrives while the device is waited for.
 */
static struct np_inject inject;
static char calls[200];
static int answer[128];
static char root[100];

static int note(char letter)
{
	size_t used = strlen(calls);

	assert_true(used + 1 < sizeof(calls));
	calls[used] = letter;
	calls[used + 1] = '\0';
	return answer[(int)letter];
}

static aclError fake_init(const char *path, size_t length)
{
	char prof[5000];

	assert_int_equal(strlen(path), length);
	(void)snprintf(prof, sizeof(prof), "%s/PROF_000001_20260101000000000_ABCDEFGH", path);
	if (answer['n'] == 0)
		assert_int_equal(mkdir(prof, 0750), 0);
	return note('i');
}

static aclError fake_start(const aclprofConfig *config)
{
	assert_non_null(config);
	return note('s');
}

static aclError fake_stop(const aclprofConfig *config)
{
	assert_non_null(config);
	return note('p');
}

static aclError fake_finalize(void)
{
	return note('f');
}

static aclprofConfig *fake_create(uint32_t *devices, uint32_t count, aclprofAicoreMetrics metrics,
				  const aclprofAicoreEvents *events, uint64_t mask)
{
	(void)metrics;
	assert_null(events);
	assert_int_equal(count, 1);
	assert_int_equal(devices[0], 3);
	assert_int_equal(mask, 0x27);
	return note('c') == 0 ? (aclprofConfig *)root : NULL;
}

static aclError fake_destroy(const aclprofConfig *config)
{
	assert_non_null(config);
	return note('d');
}

static aclError fake_set_config(aclprofConfigType key, const char *value, size_t length)
{
	(void)key;
	assert_int_equal(strlen(value), length);
	return note('k');
}

static aclError fake_warmup(const aclprofConfig *config)
{
	assert_non_null(config);
	return note('w');
}

static void say(enum np_message_type type, int64_t number, int64_t value)
{
	struct np_message message;

	np_message_init(&message, type, 2);
	message.step = number;
	message.value = value;
	np_inject_message(&inject, &message);
}

static aclError fake_synchronize(void)
{
	/* The launcher loses patience while the device works. */
	if (answer['z'])
		say(NP_MSG_STOP, -1, NP_UNKNOWN);
	return note('y');
}

static aclError fake_synchronize_timeout(int32_t milliseconds)
{
	assert_int_equal(milliseconds, 5000); /* half of the grace time */
	return note('t');
}

static const struct np_acl fake_acl = {
	.prof_init = fake_init,
	.prof_start = fake_start,
	.prof_stop = fake_stop,
	.prof_finalize = fake_finalize,
	.prof_create_config = fake_create,
	.prof_destroy_config = fake_destroy,
	.prof_set_config = fake_set_config,
	.prof_warmup = fake_warmup,
	.synchronize_device = fake_synchronize,
	.synchronize_device_timeout = fake_synchronize_timeout,
};

static struct np_inject_config config_of(int64_t first, int64_t end)
{
	struct np_inject_config config = NP_INJECT_CONFIG_INIT;

	(void)snprintf(config.dir, sizeof(config.dir), "%s", root);
	(void)snprintf(config.host, sizeof(config.host), "node1");
	config.rank = 2;
	config.world_size = 4;
	config.selected = true;
	config.step_start = first;
	config.step_end = end;
	return config;
}

static void begin_with(struct np_inject_config config)
{
	np_inject_release(&inject);
	memset(&inject, 0, sizeof(inject));
	memset(calls, 0, sizeof(calls));
	np_inject_init(&inject, &config);
	inject.acl = fake_acl;
	inject.bound = true;
}

static void step(int64_t number)
{
	np_inject_step(&inject, NP_STEP_EXPLICIT, number, "test");
}

static struct np_json *read_rank_file(void)
{
	struct np_err err = NP_ERR_INIT;
	struct np_json *doc = NULL;
	char path[5000];

	(void)snprintf(path, sizeof(path), "%s/npuprof_rank.json", inject.window.dir);
	assert_ok(np_json_read_file(path, 1 << 20, &doc, &err), err);
	return doc;
}

static int64_t integer_of(const struct np_json *object, const char *key)
{
	int64_t value = NP_UNKNOWN;

	(void)np_json_integer(np_json_member(object, key), &value);
	return value;
}

static void the_window_opens_and_closes_at_its_steps(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	const struct np_json *steps;

	(void)state;
	begin_with(config_of(5, 7));
	np_inject_device_set(&inject, 3);
	for (int64_t i = 0; i < 5; i++)
		step(i);
	assert_string_equal(calls, "");
	step(5);
	assert_string_equal(calls, "yics"); /* the device is idle when the profiler starts */
	step(6);
	assert_string_equal(calls, "yics");
	step(7);
	assert_string_equal(calls, "yicsypdf"); /* and when it stops */
	step(8);
	assert_string_equal(calls, "yicsypdf");

	doc = read_rank_file();
	steps = np_json_member(doc, "steps");
	assert_string_equal(np_json_text(np_json_member(doc, "state")), "closed");
	assert_string_equal(np_json_text(np_json_member(doc, "step_source")), "explicit");
	assert_int_equal(integer_of(doc, "rank"), 2);
	assert_int_equal(integer_of(doc, "device"), 3);
	assert_int_equal(integer_of(doc, "mask"), 0x27);
	assert_int_equal(np_json_count(steps), 2);
	assert_int_equal(integer_of(np_json_item(steps, 0), "step"), 5);
	assert_int_equal(integer_of(np_json_item(steps, 0), "end_ns"),
			 integer_of(np_json_item(steps, 1), "begin_ns"));
	assert_true(integer_of(np_json_item(steps, 1), "end_ns") >=
		    integer_of(np_json_item(steps, 1), "begin_ns"));
	assert_int_equal(integer_of(np_json_member(doc, "window"), "last_step"), 6);
	assert_int_equal(np_json_count(np_json_member(doc, "prof_codes")), 7);
}

static void a_rank_that_is_not_selected_leaves_nothing(void **state)
{
	struct np_inject_config config = config_of(0, 2);

	(void)state;
	config.selected = false;
	begin_with(config);
	np_inject_device_set(&inject, 3);
	for (int64_t i = 0; i < 5; i++)
		step(i);
	assert_string_equal(calls, "");
	assert_string_equal(inject.window.dir, "");
	assert_int_equal(inject.steps.current, 4);
}

static void without_a_device_the_window_waits_for_one(void **state)
{
	(void)state;
	begin_with(config_of(1, 4));
	inject.acl.get_device = NULL;
	step(1);
	assert_string_equal(calls, "");
	np_inject_device_set(&inject, 3);
	step(2);
	assert_string_equal(calls, "yics");
	assert_int_equal(inject.window.first_step, 2);
	step(4);
	assert_int_equal(inject.window.state, NP_WINDOW_CLOSED);
}

static void a_window_that_has_passed_is_reported(void **state)
{
	(void)state;
	begin_with(config_of(1, 4));
	np_inject_device_set(&inject, 3);
	step(9);
	assert_int_equal(inject.window.state, NP_WINDOW_FAILED);
	assert_non_null(strstr(inject.window.reason, "step 9"));
	assert_string_equal(calls, "");
}

static void a_failed_start_is_stopped_and_never_tried_again(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;

	(void)state;
	begin_with(config_of(1, 4));
	np_inject_device_set(&inject, 3);
	answer['s'] = 500005;
	step(1);
	answer['s'] = 0;
	step(2);
	step(3);
	assert_string_equal(calls, "yicspdf");
	assert_int_equal(inject.window.state, NP_WINDOW_FAILED);
	doc = read_rank_file();
	assert_string_equal(np_json_text(np_json_member(doc, "state")), "failed");
	assert_string_equal(np_json_text(np_json_member(doc, "reason")),
			    "aclprofStart returned 500005 (PROFILING_FAILURE)");
	assert_int_equal(integer_of(np_json_item(np_json_member(doc, "prof_codes"), 2), "code"),
			 500005);
}

static void a_failed_init_makes_no_further_calls(void **state)
{
	(void)state;
	begin_with(config_of(1, 4));
	np_inject_device_set(&inject, 3);
	answer['i'] = 100042;
	step(1);
	step(2);
	answer['i'] = 0;
	assert_string_equal(calls, "yi");
	assert_non_null(strstr(inject.window.reason, "100042"));
}

static void a_refused_configuration_is_finalized(void **state)
{
	(void)state;
	begin_with(config_of(1, 4));
	np_inject_device_set(&inject, 3);
	answer['c'] = 1;
	step(1);
	answer['c'] = 0;
	assert_string_equal(calls, "yicf");
	assert_int_equal(inject.window.state, NP_WINDOW_FAILED);
}

static void a_refused_setting_costs_a_warning(void **state)
{
	struct np_inject_config config = config_of(1, 4);

	(void)state;
	config.options.sys_io = true;
	begin_with(config);
	np_inject_device_set(&inject, 3);
	answer['k'] = 100010;
	step(1);
	answer['k'] = 0;
	assert_string_equal(calls, "yikcs");
	assert_int_equal(inject.window.state, NP_WINDOW_OPEN);
	assert_string_equal(inject.window.warnings.item[0], "SYS_IO_FREQ=100 was refused");
	np_inject_finish(&inject);
}

static void a_profiler_that_writes_nothing_is_noticed(void **state)
{
	(void)state;
	begin_with(config_of(1, 2));
	np_inject_device_set(&inject, 3);
	answer['n'] = 1;
	step(1);
	step(2);
	answer['n'] = 0;
	assert_int_equal(inject.window.state, NP_WINDOW_FAILED);
	assert_non_null(strstr(inject.window.reason, "wrote nothing"));
}

static void a_directory_that_cannot_be_made_costs_the_window(void **state)
{
	struct np_inject_config config = config_of(1, 2);

	(void)state;
	(void)snprintf(config.dir, sizeof(config.dir), "/proc/no/such/place");
	begin_with(config);
	np_inject_device_set(&inject, 3);
	step(1);
	step(2);
	assert_string_equal(calls, "y");
	assert_non_null(strstr(inject.window.reason, "cannot make the directory"));
}

static void warming_up_happens_one_step_ahead(void **state)
{
	struct np_inject_config config = config_of(3, 4);

	(void)state;
	config.warmup = true;
	begin_with(config);
	np_inject_device_set(&inject, 3);
	step(1);
	step(2);
	assert_string_equal(calls, "icw");
	step(3);
	assert_string_equal(calls, "icwys");
	step(4);
	assert_string_equal(calls, "icwysypdf");
}

static void an_older_cann_is_profiled_without_warming_up(void **state)
{
	struct np_inject_config config = config_of(3, 4);

	(void)state;
	config.warmup = true;
	begin_with(config);
	inject.acl.prof_warmup = NULL;
	inject.acl.prof_set_config = NULL;
	inject.acl.synchronize_device_timeout = NULL;
	np_inject_device_set(&inject, 3);
	step(2);
	step(3);
	assert_string_equal(calls, "yics");
	np_inject_finish(&inject);
	assert_string_equal(calls, "yicspdf"); /* no limited wait to be had: none at all */
	assert_int_equal(inject.window.warnings.count, 2);
}

static void an_application_that_profiles_itself_is_left_alone(void **state)
{
	(void)state;
	begin_with(config_of(1, -1));
	np_inject_device_set(&inject, 3);
	step(1);
	np_inject_self_profiling(&inject, "aclprofInit");
	assert_string_equal(calls, "yicsypdf");
	step(2);
	assert_string_equal(calls, "yicsypdf");

	begin_with(config_of(1, -1));
	np_inject_device_set(&inject, 3);
	np_inject_self_profiling(&inject, "aclprofInit");
	step(1);
	assert_string_equal(calls, "");
}

static void the_end_of_the_device_closes_the_window(void **state)
{
	(void)state;
	begin_with(config_of(1, -1));
	np_inject_device_set(&inject, 3);
	step(1);
	np_inject_ending(&inject, 4, "aclrtResetDevice"); /* another one */
	assert_int_equal(inject.window.state, NP_WINDOW_OPEN);
	np_inject_ending(&inject, 3, "aclrtResetDevice");
	assert_string_equal(calls, "yicstpdf");
	assert_string_equal(inject.window.reason, "aclrtResetDevice");
	assert_int_equal(inject.window.last_step, 1);
}

static void the_launcher_can_stop_now_or_at_a_step(void **state)
{
	(void)state;
	begin_with(config_of(1, -1));
	np_inject_device_set(&inject, 3);
	step(1);
	say(NP_MSG_STOP, 3, NP_UNKNOWN);
	step(2);
	assert_int_equal(inject.window.state, NP_WINDOW_OPEN);
	step(3);
	assert_string_equal(calls, "yicsypdf");

	begin_with(config_of(1, -1));
	np_inject_device_set(&inject, 3);
	step(1);
	say(NP_MSG_STOP, -1, NP_UNKNOWN);
	assert_string_equal(calls, "yicstpdf");
}

static void a_stop_gets_through_while_a_step_waits_for_the_device(void **state)
{
	(void)state;
	begin_with(config_of(1, 2));
	np_inject_device_set(&inject, 3);
	step(1);
	answer['z'] = 1;
	step(2);
	answer['z'] = 0;
	assert_string_equal(calls, "yicstpdfy"); /* closed by the stop, and not again */
	assert_string_equal(inject.window.reason, "the launcher said stop");
}

static void the_launcher_can_start_a_window_later(void **state)
{
	struct np_inject_config config = config_of(0, 0);

	(void)state;
	config.selected = false;
	begin_with(config);
	np_inject_device_set(&inject, 3);
	step(10);
	say(NP_MSG_START, 10, 2); /* too late */
	step(11);
	assert_string_equal(calls, "");
	say(NP_MSG_START, 13, 1);
	step(12);
	assert_string_equal(calls, "");
	step(13);
	assert_string_equal(calls, "yics");
	say(NP_MSG_START, 20, 1); /* one at a time */
	step(14);
	assert_string_equal(calls, "yicsypdf");
	assert_int_equal(inject.window.first, 13);
	say(NP_MSG_START, -1, 1);
	step(15);
	assert_int_equal(inject.window.state, NP_WINDOW_OPEN);
	np_inject_finish(&inject);
}

static void communicators_are_told_with_the_members_that_can_be_known(void **state)
{
	NP_CLEANUP(np_json_freep) struct np_json *doc = NULL;
	struct np_comm_info world = {
		.handle = &root[0], .name = "w%0", .size = 4, .group_rank = 2
	};
	struct np_comm_info pair = {
		.handle = &root[1], .name = "p%1", .size = 2, .group_rank = 0
	};
	struct np_comm_info part = {
		.handle = &root[2], .name = "s%2", .given_name = "tp_12", .size = 2, .group_rank = 1
	};
	const uint32_t ranks[] = { 0, 2 };
	const struct np_json *list;

	(void)state;
	begin_with(config_of(1, 2));
	np_inject_device_set(&inject, 3);
	np_inject_communicator(&inject, &world, NULL, NULL);
	np_inject_communicator(&inject, &world, NULL, NULL); /* the same again */
	np_inject_communicator(&inject, &pair, NULL, NULL);
	np_inject_communicator(&inject, &part, world.handle, ranks);
	step(1);
	step(2);
	doc = read_rank_file();
	list = np_json_member(doc, "communicators");
	assert_int_equal(np_json_count(list), 3);
	assert_int_equal(np_json_count(np_json_member(np_json_item(list, 0), "ranks")), 4);
	assert_string_equal(np_json_text(np_json_member(np_json_item(list, 0), "pg_name")),
			    "default_group");
	assert_int_equal(np_json_type(np_json_member(np_json_item(list, 1), "ranks")),
			 NP_JSON_NULL);
	assert_int_equal(np_json_type(np_json_member(np_json_item(list, 1), "pg_name")),
			 NP_JSON_NULL);
	assert_int_equal(np_json_count(np_json_member(np_json_item(list, 2), "ranks")), 2);
	assert_string_equal(np_json_text(np_json_member(np_json_item(list, 2), "pg_name")), "tp");
}

static int make_root(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/npuprof-inject-XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[200];

	(void)state;
	np_inject_release(&inject);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command); /* NOLINT(cert-env33-c): a path of our own */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_window_opens_and_closes_at_its_steps),
		cmocka_unit_test(a_rank_that_is_not_selected_leaves_nothing),
		cmocka_unit_test(without_a_device_the_window_waits_for_one),
		cmocka_unit_test(a_window_that_has_passed_is_reported),
		cmocka_unit_test(a_failed_start_is_stopped_and_never_tried_again),
		cmocka_unit_test(a_failed_init_makes_no_further_calls),
		cmocka_unit_test(a_refused_configuration_is_finalized),
		cmocka_unit_test(a_refused_setting_costs_a_warning),
		cmocka_unit_test(a_profiler_that_writes_nothing_is_noticed),
		cmocka_unit_test(a_directory_that_cannot_be_made_costs_the_window),
		cmocka_unit_test(warming_up_happens_one_step_ahead),
		cmocka_unit_test(an_older_cann_is_profiled_without_warming_up),
		cmocka_unit_test(an_application_that_profiles_itself_is_left_alone),
		cmocka_unit_test(the_end_of_the_device_closes_the_window),
		cmocka_unit_test(the_launcher_can_stop_now_or_at_a_step),
		cmocka_unit_test(a_stop_gets_through_while_a_step_waits_for_the_device),
		cmocka_unit_test(the_launcher_can_start_a_window_later),
		cmocka_unit_test(communicators_are_told_with_the_members_that_can_be_known),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
