/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/protocol.h"
#include "np_random.h"
#include "np_test.h"

static void a_configuration_survives_the_environment(void **state)
{
	struct np_inject_config config = NP_INJECT_CONFIG_INIT;
	struct np_inject_config back;
	struct np_buf text = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	(void)snprintf(config.job, sizeof(config.job), "job-1");
	(void)snprintf(config.dir, sizeof(config.dir), "/data/a=b c");
	(void)snprintf(config.host, sizeof(config.host), "node1");
	config.rank = 63;
	config.world_size = 64;
	config.selected = true;
	config.step_start = 10;
	config.step_end = 12;
	config.source = NP_STEP_MSTX;
	config.options.level = NP_PROF_LEVEL_2;
	config.options.memory = true;
	config.options.storage_limit_mb = 500;
	assert_ok(np_inject_config_format(&config, &text, &err), err);
	assert_ok(np_inject_config_parse(text.text, &back, &err), err);
	assert_string_equal(back.job, "job-1");
	assert_string_equal(back.dir, "/data/a=b c");
	assert_string_equal(back.host, "node1");
	assert_string_equal(back.pattern, NP_STEP_PATTERN);
	assert_int_equal(back.rank, 63);
	assert_int_equal(back.world_size, 64);
	assert_true(back.selected);
	assert_int_equal(back.step_start, 10);
	assert_int_equal(back.step_end, 12);
	assert_int_equal(back.duration_ms, -1);
	assert_int_equal(back.source, NP_STEP_MSTX);
	assert_int_equal(back.options.level, NP_PROF_LEVEL_2);
	assert_true(back.options.memory);
	assert_false(back.options.l2_cache);
	assert_int_equal(back.options.storage_limit_mb, 500);
	np_buf_release(&text);
}

static void a_configuration_that_makes_no_sense_is_refused(void **state)
{
	const struct {
		const char *text;
		const char *reason;
	} table[] = {
		{ "rang=3", "unknown key 'rang'" },
		{ "rank", "'rank' has no '='" },
		{ "rank=", "'' is no value for rank" },
		{ "rank=-2", "'-2' is no value for rank" },
		{ "rank=99999999999", "'99999999999' is no value for rank" },
		{ "level=4", "'4' is no value for level" },
		{ "selected=yes", "'yes' is no value for selected" },
		{ "selected=1\ndir=prof\n", "dir 'prof' is not an absolute path" },
	};

	(void)state;
	for (size_t i = 0; i < NP_COUNT(table); i++) {
		struct np_inject_config config = { .rank = 77 };
		struct np_err err = NP_ERR_INIT;

		assert_true(np_inject_config_parse(table[i].text, &config, &err) < 0);
		if (!strstr(err.text, table[i].reason))
			fail_msg("'%s' lacks '%s'", err.text, table[i].reason);
		assert_int_equal(config.rank, 77);
	}
}

static void a_text_that_does_not_fit_or_breaks_the_line_is_not_formatted(void **state)
{
	struct np_inject_config config = NP_INJECT_CONFIG_INIT;
	struct np_buf text = NP_BUF_INIT;
	struct np_err err = NP_ERR_INIT;

	(void)state;
	memset(config.job, 'x', sizeof(config.job));
	assert_int_equal(np_inject_config_format(&config, &text, &err), NP_E_RANGE);
	(void)snprintf(config.job, sizeof(config.job), "a\nselected=1");
	assert_int_equal(np_inject_config_format(&config, &text, &err), NP_E_USAGE);
	np_buf_release(&text);
}

/* A pair of connected ends under a name of this process. */
static void connect_ends(int *listener, int *launcher, int *library)
{
	struct np_err err = NP_ERR_INIT;
	char name[60];

	(void)snprintf(name, sizeof(name), "npuprof-test-%d", (int)getpid());
	*listener = np_protocol_listen(name, &err);
	if (*listener < 0)
		fail_msg("%s", err.text);
	assert_int_equal(np_protocol_accept(*listener), -1);
	*library = np_protocol_connect(name);
	assert_true(*library >= 0);
	*launcher = np_protocol_accept(*listener);
	assert_true(*launcher >= 0);
	/* The name is taken. */
	assert_int_equal(np_protocol_listen(name, &err), NP_E_BUSY);
}

static void messages_arrive_one_by_one_and_whole(void **state)
{
	struct np_message message;
	int listener;
	int launcher;
	int library;

	(void)state;
	connect_ends(&listener, &launcher, &library);
	np_message_init(&message, NP_MSG_STEP, 3);
	message.step = 12;
	assert_true(np_message_send(library, &message));
	np_message_init(&message, NP_MSG_WINDOW_OPEN, 3);
	memset(message.text, 'd', sizeof(message.text) - 1);
	assert_true(np_message_send(library, &message));

	assert_int_equal(np_message_receive(launcher, &message), 1);
	assert_int_equal(message.type, NP_MSG_STEP);
	assert_int_equal(message.step, 12);
	assert_int_equal(message.rank, 3);
	assert_int_equal(message.value, NP_UNKNOWN);
	assert_int_equal(message.pid, getpid());
	assert_string_equal(message.text, "");
	assert_int_equal(np_message_receive(launcher, &message), 1);
	assert_int_equal(strlen(message.text), NP_MESSAGE_TEXT - 1);
	assert_int_equal(np_message_receive(launcher, &message), 0);
	(void)close(library);
	assert_int_equal(np_message_receive(launcher, &message), -1);
	(void)close(launcher);
	(void)close(listener);
}

static void what_is_no_message_is_skipped(void **state)
{
	struct np_message message;
	uint64_t random = 1;
	int listener;
	int launcher;
	int library;

	(void)state;
	connect_ends(&listener, &launcher, &library);
	for (size_t size = 1; size < 200; size++) {
		unsigned char junk[200];

		for (size_t i = 0; i < size; i++)
			junk[i] = (unsigned char)np_random(&random);
		assert_int_equal(send(library, junk, size, MSG_DONTWAIT), size);
	}
	np_message_init(&message, NP_MSG_PING, 0);
	message.version = NP_PROTOCOL_VERSION + 1;
	assert_true(np_message_send(library, &message));
	/* No job has so many ranks. */
	np_message_init(&message, NP_MSG_PING, NP_MOST_RANKS);
	assert_true(np_message_send(library, &message));
	np_message_init(&message, NP_MSG_PING, 0);
	assert_true(np_message_send(library, &message));
	assert_int_equal(np_message_receive(launcher, &message), 1);
	assert_int_equal(message.type, NP_MSG_PING);
	assert_int_equal(np_message_receive(launcher, &message), 0);
	(void)close(library);
	(void)close(launcher);
	(void)close(listener);
}

/* A launcher that reads nothing costs messages, never time. */
static void a_full_line_refuses_rather_than_waits(void **state)
{
	struct np_message message;
	int listener;
	int launcher;
	int library;
	int sent = 0;

	(void)state;
	connect_ends(&listener, &launcher, &library);
	np_message_init(&message, NP_MSG_STEP, 0);
	while (sent < 1000000 && np_message_send(library, &message))
		sent++;
	assert_in_range(sent, 1, 999999);
	(void)close(launcher);
	assert_false(np_message_send(library, &message)); /* and no SIGPIPE */
	(void)close(library);
	(void)close(listener);
}

static void nobody_there_is_not_an_error(void **state)
{
	(void)state;
	assert_int_equal(np_protocol_connect("npuprof-nobody-listens-here"), -1);
	assert_int_equal(np_protocol_connect(""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_configuration_survives_the_environment),
		cmocka_unit_test(a_configuration_that_makes_no_sense_is_refused),
		cmocka_unit_test(a_text_that_does_not_fit_or_breaks_the_line_is_not_formatted),
		cmocka_unit_test(messages_arrive_one_by_one_and_whole),
		cmocka_unit_test(what_is_no_message_is_skipped),
		cmocka_unit_test(a_full_line_refuses_rather_than_waits),
		cmocka_unit_test(nobody_there_is_not_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
