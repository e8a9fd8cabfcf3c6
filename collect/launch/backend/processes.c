/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that run already (--pid): their ranks, and when all of them have ended. */
#include "processes.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "backend.h"
#include "msprof.h"
#include "npuprof/text.h"

enum {
	NAP_US = 100000,
	MOST_BYTES = 1 << 20,
};

/* The next number of the list; 0: there is none left, -1: that is no process. */
static int64_t next_pid(const char **at)
{
	size_t length = strcspn(*at, ",");
	int64_t pid;

	if (!**at)
		return 0;
	if (!np_text_to_int(*at, length, &pid) || pid < 1 || pid > INT_MAX)
		return -1;
	*at += length + ((*at)[length] == ',' ? 1 : 0);
	return pid;
}

int np_processes_check(const char *list, struct np_err *err)
{
	const char *at = list;
	int64_t pid;

	while ((pid = next_pid(&at)) > 0) {
		char path[PATH_MAX];

		if (kill((pid_t)pid, 0) < 0)
			return np_fail(err, NP_E_NOTFOUND, "process %d: %s", (int)pid,
				       strerrordesc_np(errno));
		if (!np_msprof_socket((int)pid, path, sizeof(path)) || access(path, F_OK) < 0)
			return np_fail(
				err, NP_E_NOTFOUND,
				"process %d does not listen for msprof ('%.200s'): was it "
				"started with PROFILING_MODE=dynamic, and has it set a device?",
				(int)pid, path);
	}
	return pid == 0 && *list
		       ? NP_OK
		       : np_fail(err, NP_E_USAGE, "--pid: '%.200s' is no list of processes", list);
}

/* A number in the environment of a process, by the first of these names that is there; or -1. */
static int64_t number_of(const struct np_buf *environment, const char *const *names)
{
	for (; *names; names++) {
		size_t length = strlen(*names);

		for (size_t at = 0; at < environment->length;
		     at += strlen(environment->text + at) + 1) {
			const char *word = environment->text + at;
			int64_t value;

			if (strncmp(word, *names, length) == 0 && word[length] == '=' &&
			    np_text_to_int(word + length + 1, strlen(word + length + 1), &value) &&
			    value >= 0)
				return value;
		}
	}
	return -1;
}

static void read_environment(int64_t pid, struct np_buf *text)
{
	char path[64];
	char part[4096];
	size_t got;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%lld/environ", (long long)pid);
	file = fopen(path, "re");
	while (file && text->length < MOST_BYTES && (got = fread(part, 1, sizeof(part), file)) > 0)
		np_buf_add_bytes(text, part, got);
	if (file)
		(void)fclose(file);
}

void np_processes_announce(struct np_backend *backend, const char *list)
{
	static const char *const ranks[] = { "RANK",     "RANK_ID",      "OMPI_COMM_WORLD_RANK",
					     "PMI_RANK", "SLURM_PROCID", NULL };
	static const char *const worlds[] = { "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					      "SLURM_NTASKS", NULL };
	const char *at = list;
	int64_t pid;

	for (int position = 0; (pid = next_pid(&at)) > 0; position++) {
		NP_CLEANUP(np_buf_release) struct np_buf environment = NP_BUF_INIT;
		struct np_message message;
		int64_t rank;
		int64_t world;

		read_environment(pid, &environment);
		rank = number_of(&environment, ranks);
		world = number_of(&environment, worlds);
		np_message_init(&message, NP_MSG_HELLO, (int32_t)(rank >= 0 ? rank : position));
		message.pid = (int32_t)pid;
		backend->session.take(backend->session.self, &message);
		message.type = NP_MSG_ATTACHED;
		message.step = world >= 0 ? world : NP_UNKNOWN;
		backend->session.take(backend->session.self, &message);
	}
}

int np_processes_await(const char *list)
{
	bool alive = true;

	while (alive) {
		const char *at = list;
		int64_t pid;

		alive = false;
		while ((pid = next_pid(&at)) > 0)
			alive |= kill((pid_t)pid, 0) == 0 || errno == EPERM;
		if (alive)
			(void)usleep(NAP_US);
	}
	return 0;
}
