/* SPDX-License-Identifier: Apache-2.0 */
#include "npuprof/realtime.h"

#include <sys/wait.h>
#include <unistd.h>

#include "np_test.h"

/*
 * The environment is read once in a process: each row is a child. What it answers
 * is compared with what the row says.
 */
struct row {
	const char *rank;
	const char *hosts;
	const char *skews;
	const char *epoch;
	const char *host; /* expected; "" none */
	int64_t ahead;    /* of the true time one second after the epoch */
};

#define EPOCH    "1700000000000000000"
#define EPOCH_NS INT64_C(1700000000000000000)

static bool answers(const struct row *row)
{
	np_ns when = EPOCH_NS + 1000000000;
	const char *host;

	(void)setenv("RANK", row->rank, 1);
	(void)setenv("NPUSIM_HOST_OF", row->hosts, 1);
	(void)setenv("NPUSIM_CLOCK_SKEW", row->skews, 1);
	(void)setenv("NPUSIM_CLOCK_EPOCH", row->epoch, 1);
	host = np_realtime_host();
	return strcmp(host ? host : "", row->host) == 0 &&
	       np_realtime_at(when) - when == row->ahead;
}

/* Whether the build lets the environment change the clock. */
static bool can_simulate(void)
{
	char name[8];
	bool can;

	(void)setenv("NPUSIM_HOST_OF", "1:x", 1);
	can = np_realtime_host_of(1, name, sizeof(name));
	(void)unsetenv("NPUSIM_HOST_OF");
	return can;
}

static void check(const struct row *row)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(answers(row) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("rank %s, hosts %s, skews %s: wrong", row->rank, row->hosts, row->skews);
}

static void a_simulated_host_has_a_clock_of_its_own(void **state)
{
	static const struct row rows[] = {
		{ "0", "0-3:hostA,4-7:hostB", "hostB:5000000", EPOCH, "hostA", 0 },
		{ "3", "0-3:hostA,4-7:hostB", "hostB:5000000", EPOCH, "hostA", 0 },
		{ "4", "0-3:hostA,4-7:hostB", "hostB:5000000", EPOCH, "hostB", 5000000 },
		{ "7", "0-3:hostA,4-7:hostB", "hostA:1,hostB:-5000000", EPOCH, "hostB", -5000000 },
		/* 20 ppm for one second: 20 µs */
		{ "7", "7:hostB", "hostB:5000:20", EPOCH, "hostB", 25000 },
		{ "7", "7:hostB", "hostB:0:-0.5", EPOCH, "hostB", -500 },
		{ "8", "0-3:hostA,4-7:hostB", "hostB:5000000", EPOCH, "", 0 },
		{ "x", "0-3:hostA", "hostA:5", EPOCH, "", 0 },
		/* A host whose name begins like another's. */
		{ "0", "0:host", "hostB:5", EPOCH, "host", 0 },
		{ "0", "0:hostB", "host:5", EPOCH, "hostB", 0 },
		/* What cannot be read has no effect. */
		{ "0", "0-:a,b,0:hostA", "hostA", EPOCH, "hostA", 0 },
		{ "0", "0:hostA", "hostA:soon", "later", "hostA", 0 },
	};

	(void)state;
	if (!can_simulate())
		skip();
	for (size_t i = 0; i < NP_COUNT(rows); i++)
		check(&rows[i]);
}

static void without_simulation_it_is_the_clock_of_the_machine(void **state)
{
	struct timespec now;
	np_ns before;
	np_ns asked;

	(void)state;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	before = (np_ns)now.tv_sec * 1000000000 + now.tv_nsec;
	asked = np_realtime_ns();
	assert_true(asked >= before);
	assert_true(asked - before < 60000000000);
	assert_null(np_realtime_host());
}

static void the_rank_is_the_first_number_in_the_environment(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		(void)setenv("RANK", "", 1);
		(void)setenv("RANK_ID", "none", 1);
		(void)setenv("OMPI_COMM_WORLD_RANK", "5", 1);
		(void)setenv("SLURM_PROCID", "6", 1);
		_exit(np_realtime_rank() == 5 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	/* The last one asks in this process, so it comes after those that fork. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_simulated_host_has_a_clock_of_its_own),
		cmocka_unit_test(the_rank_is_the_first_number_in_the_environment),
		cmocka_unit_test(without_simulation_it_is_the_clock_of_the_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
