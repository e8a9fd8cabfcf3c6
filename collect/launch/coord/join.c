/* SPDX-License-Identifier: Apache-2.0 */
/* How the launchers of a job find each other, in each of the modes. */
#include "join.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command/cmd.h"
#include "cli/command/launcher.h"
#include "collect/launch/plan/find.h"
#include "collect/protocol.h"
#include "coord_tcp.h"
#include "mpi_address.h"
#include "npuprof/realtime.h"
#include "npuprof/text.h"
#include "secret.h"
#include "tcp_link.h"

/* --- launchers of one host ------------------------------------------------- */

/*
 * Where all launchers of a job are on one host, which mpirun says, no MPI is needed to let them
 * know where launcher 0 listens: it serves that on a unix socket named after mpirun's job. Safer as
 * well: where a helper process has used MPI in the name of a rank before the application does, Open
 * MPI 4.1 forgets one of the ranks in MPI_Init now and then, however long one waits in between
 * (in one job of some hundred, on a machine that is short of processors).
 */
enum {
	NAP_US = 10000,
	ANSWER_MS = 2000,
	RDZV_S = 60,
	STAGE_S = 20,
};

/* Nobody changes the environment. */
static const char *variable(const char *name)
{
	return getenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

/* Are all launchers on this host? */
static bool are_all_here(int size)
{
	struct np_launcher launcher;

	np_launcher_read(&launcher);
	return variable("PMIX_NAMESPACE") && launcher.local_size == size;
}

static void socket_name(char *name, size_t size)
{
	(void)snprintf(name, size, "npuprof-place-%u-%.60s", (unsigned)getuid(),
		       variable("PMIX_NAMESPACE"));
}

static bool serve(const char *name, int count, const struct np_tcp_address *address, np_ns end)
{
	struct np_err err = NP_ERR_INIT;
	int listener = np_protocol_listen(name, &err);
	struct np_message message;
	int served = 0;

	np_message_init(&message, NP_MSG_RENDEZVOUS, 0);
	np_mpi_address_format(address, message.text, sizeof(message.text));
	while (listener >= 0 && served < count && np_steady_ns() < end) {
		int fd = np_protocol_accept(listener);

		if (fd < 0) {
			(void)usleep(NAP_US);
			continue;
		}
		served += np_message_send(fd, &message) ? 1 : 0;
		(void)close(fd);
	}
	if (listener >= 0)
		(void)close(listener);
	return served == count;
}

/* One attempt: launcher 0 may not listen yet. */
static bool fetch(const char *name, struct np_tcp_address *address)
{
	int fd = np_protocol_connect(name);
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	struct np_message message;
	bool found = fd >= 0 && poll(&wait, 1, ANSWER_MS) > 0 &&
		     np_message_receive(fd, &message) > 0 && message.type == NP_MSG_RENDEZVOUS &&
		     np_mpi_address_parse(message.text, address);

	if (fd >= 0)
		(void)close(fd);
	return found;
}

/*
 * Launcher 0 gives `address` to all others, the others get it; false if that takes longer. Only the
 * same user gets it.
 */
static bool join_local(int rank, int size, struct np_tcp_address *address, int seconds)
{
	np_ns end = np_steady_ns() + (np_ns)seconds * 1000000000;
	char name[100];
	bool found = false;

	socket_name(name, sizeof(name));
	if (rank == 0)
		return serve(name, size - 1, address, end);
	while (!found && np_steady_ns() < end) {
		found = fetch(name, address);
		if (!found)
			(void)usleep(NAP_US);
	}
	return found;
}

/* What the helper process says through its pipe. */
struct stage_word {
	int32_t rank;
	int32_t size;
	char address[NP_MPI_ADDRESS_BYTES];
};

/* Become an MPI process, through the library that fits to the launcher. */
static int open_mpi(const struct np_launcher *launcher, struct np_coord **ret, struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	const char *library;
	np_coord_opener *open;
	int rc = np_launcher_backend(launcher, NP_COORD_OPEN, (void **)&open, &problem);

	if (rc < 0)
		return np_fail(err, rc,
			       "the launchers cannot find each other through MPI: %s; use --coord "
			       "tcp, or build npuprof-collect where MPI is installed",
			       problem.text);
	rc = open(ret, &library, err);
	if (rc < 0)
		return rc;
	rc = np_launcher_check(launcher, np_coord_size(*ret), library, err);
	if (rc < 0)
		np_coord_close(*ret);
	return rc;
}

/* Nobody to come together with: neither MPI nor a network is needed. */
static int join_nobody(struct np_job *job, struct np_err *err)
{
	const struct np_tcp_address address = { .rank = 0, .size = 1 };

	return np_coord_tcp_open(&address, -1, 0, &job->coord, err);
}

static int join_mpi(struct np_job *job, const struct np_mode_choice *choice, struct np_err *err)
{
	return np_launcher_has_many(&choice->launcher)
		       ? open_mpi(&choice->launcher, &job->coord, err)
		       : join_nobody(job, err);
}

/*
 * Listen somewhere, and say where. Nobody knows through which of its addresses launchers of other
 * hosts reach this one: then it is all of them.
 */
static int make_address(int size, struct np_tcp_address *address, struct np_err *err)
{
	bool here = are_all_here(size);

	address->port = 0;
	if (here)
		(void)snprintf(address->hosts, sizeof(address->hosts), "127.0.0.1");
	else
		np_tcp_link_addresses(address->hosts, sizeof(address->hosts));
	np_proof_new_token(address->token);
	return np_tcp_link_listen(here ? "127.0.0.1" : NULL, &address->port, err);
}

/* --- the helper process --------------------------------------------------- */

int np_join_stage(const char *descriptor)
{
	NP_CLEANUP(np_buf_release) struct np_buf text = NP_BUF_INIT;
	const char *mine = getenv(NP_ENV_ADDRESS); /* NOLINT(concurrency-mt-unsafe) */
	struct np_err err = NP_ERR_INIT;
	struct stage_word word = { 0 };
	struct np_launcher launcher;
	struct np_coord *coord;
	int64_t fd;

	np_launcher_read(&launcher);
	if (!np_text_to_int(descriptor, strlen(descriptor), &fd) ||
	    open_mpi(&launcher, &coord, &err) < 0)
		return NP_EXIT_FAILED;
	word.rank = np_coord_rank(coord);
	word.size = np_coord_size(coord);
	np_buf_add(&text, mine ? mine : "");
	if (np_coord_bcast(coord, &text, &err) == NP_OK)
		(void)snprintf(word.address, sizeof(word.address), "%s", text.text);
	np_coord_close(coord);
	/* Only after MPI_Finalize: before it is done the application may not begin. */
	return write((int)fd, &word, sizeof(word)) == (ssize_t)sizeof(word) ? NP_EXIT_DONE
									    : NP_EXIT_FAILED;
}

_Noreturn static void become_stage(int out, const char *address)
{
	char descriptor[16];
	char option[] = NP_STAGE_OPTION;
	char name[] = "npuprof-collect";
	char *argv[] = { name, option, descriptor, NULL };
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)snprintf(descriptor, sizeof(descriptor), "%d", out);
	(void)fcntl(out, F_SETFD, 0);
	/* One process after another of a rank may use MPI only with this. NOLINTBEGIN */
	(void)setenv("PMIX_MCA_gds", "hash", 1);
	(void)setenv(NP_ENV_ADDRESS, address, 1);
	/* NOLINTEND */
	(void)execv("/proc/self/exe", argv);
	_exit(127);
}

static bool await_word(int fd, struct stage_word *word, np_ns end)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	np_ns left = end - np_steady_ns();

	return left > 0 && poll(&wait, 1, (int)(left / 1000000)) > 0 &&
	       read(fd, word, sizeof(*word)) == (ssize_t)sizeof(*word);
}

/* Wait for a process until `end`, then kill it. True if it ended well by itself. */
static bool await_end(pid_t pid, np_ns end)
{
	int status = 0;

	for (;;) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0;
		if (got < 0 || np_steady_ns() >= end)
			break;
		(void)usleep(NAP_US);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return false;
}

static bool run_stage(const struct np_tcp_address *mine, int seconds, struct stage_word *word)
{
	np_ns end = np_steady_ns() + (np_ns)seconds * 1000000000;
	char text[NP_MPI_ADDRESS_BYTES];
	int ends[2];
	bool said;
	pid_t pid;

	np_mpi_address_format(mine, text, sizeof(text));
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0)
		become_stage(ends[1], text);
	(void)close(ends[1]);
	said = pid > 0 && await_word(ends[0], word, end);
	(void)close(ends[0]);
	if (pid > 0 && !await_end(pid, said ? end : np_steady_ns()))
		said = false;
	return said;
}

/* --- the modes ------------------------------------------------------------ */

static int join_late(struct np_job *job, const struct np_mode_choice *choice,
		     struct np_tcp_address *address, int listener, struct np_err *err)
{
	char name[64];

	/* The application decides which MPI it is; a script leaves that to its launcher. */
	(void)snprintf(name, sizeof(name), "libnpuprof_inapp-%s.so",
		       np_mpi_family_name(choice->mpi ? choice->mpi
						      : np_launcher_family(&choice->launcher)));
	if (!np_find_beside(name, job->mpi_library, sizeof(job->mpi_library))) {
		(void)close(listener);
		return np_fail(err, NP_E_NOTFOUND,
			       "%s is not where it was installed: without it the mode inapp is not "
			       "possible; build npuprof-collect where that MPI is installed",
			       name);
	}
	address->rank = choice->rank;
	address->size = choice->size;
	job->mode = NP_MODE_INAPP;
	np_mpi_address_format(address, job->mpi_address, sizeof(job->mpi_address));
	if (choice->rank != 0) {
		(void)close(listener);
		listener = -1;
	}
	return np_coord_tcp_late(address, listener, &job->coord, err);
}

/* Learn where launcher 0 is, and which one this is: from each other, or through MPI. */
static bool find_first(const struct np_mode_choice *choice, struct np_tcp_address *address,
		       int seconds)
{
	struct np_tcp_address mine = *address;
	struct stage_word word;

	if (are_all_here(choice->size)) {
		address->rank = choice->rank;
		address->size = choice->size;
		if (!join_local(choice->rank, choice->size, address, seconds))
			return false;
		address->rank = choice->rank;
		address->size = choice->size;
		return true;
	}
	if (!run_stage(&mine, seconds, &word) || !np_mpi_address_parse(word.address, address))
		return false;
	address->rank = word.rank;
	address->size = word.size;
	return true;
}

static int join_helper(struct np_job *job, const struct np_collect_options *options,
		       struct np_mode_choice *choice, struct np_err *err)
{
	bool given = options->rdzv_timeout != NP_UNKNOWN;
	int seconds = given ? (int)options->rdzv_timeout : STAGE_S;
	struct np_tcp_address mine = { 0 };
	struct np_tcp_address address;
	int listener = make_address(choice->size, &mine, err);

	if (listener < 0)
		return NP_E_IO;
	address = mine;
	if (!find_first(choice, &address, seconds)) {
		choice->mode = NP_MODE_INAPP;
		(void)snprintf(choice->reason, sizeof(choice->reason),
			       "the stage before the application failed or took longer than %d s",
			       seconds);
		return join_late(job, choice, &mine, listener, err);
	}
	if (address.rank != 0) {
		(void)close(listener);
		listener = -1;
	}
	return np_coord_tcp_open(&address, listener, given ? seconds : RDZV_S, &job->coord, err);
}

static int join_inapp(struct np_job *job, const struct np_mode_choice *choice, struct np_err *err)
{
	struct np_tcp_address address = { 0 };
	int listener = make_address(choice->size, &address, err);

	return listener < 0 ? NP_E_IO : join_late(job, choice, &address, listener, err);
}

static int join_tcp(struct np_job *job, const struct np_collect_options *options,
		    const struct np_mode_choice *choice, struct np_err *err)
{
	int seconds = options->rdzv_timeout == NP_UNKNOWN ? RDZV_S : (int)options->rdzv_timeout;
	struct np_tcp_address address = { .rank = choice->rank,
					  .size = choice->size,
					  .port = choice->port };
	struct np_secret secret = NP_SECRET_INIT;
	int listener = -1;
	int rc;

	job->finds_ranks = true;
	(void)snprintf(address.hosts, sizeof(address.hosts), "%s", choice->host);
	if (choice->size == 1)
		return np_coord_tcp_open(&address, -1, seconds, &job->coord, err);
	rc = np_secret_find(&secret, options, choice->rank, seconds, address.token, err);
	if (choice->rank != 0)
		(void)snprintf(address.token_file, sizeof(address.token_file), "%s", secret.path);
	if (rc == NP_OK && choice->rank == 0) {
		listener = np_tcp_link_listen(choice->host, &address.port, err);
		rc = listener < 0 ? NP_E_IO : NP_OK;
	}
	if (rc == NP_OK)
		rc = np_coord_tcp_open(&address, listener, seconds, &job->coord, err);
	/* All have come, or will not: nobody needs it any more. */
	np_secret_forget(&secret);
	return rc;
}

int np_join(struct np_job *job, const struct np_collect_options *options,
	    struct np_mode_choice *choice, struct np_err *err)
{
	int rc;

	job->mode = choice->mode;
	switch (choice->mode) {
	case NP_MODE_HELPER:
		rc = join_helper(job, options, choice, err);
		break;
	case NP_MODE_INAPP:
		rc = join_inapp(job, choice, err);
		break;
	case NP_MODE_TCP:
		rc = join_tcp(job, options, choice, err);
		break;
	default:
		rc = join_mpi(job, choice, err);
		break;
	}
	if (rc < 0)
		return rc;
	job->rank = np_coord_rank(job->coord);
	job->world = np_coord_size(job->coord);
	job->ranks = job->finds_ranks ? 0 : job->world;
	return NP_OK;
}
