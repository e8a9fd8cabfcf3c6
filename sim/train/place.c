/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the rank, the size of the world and the address of rank 0, from the environment or by
 * forking.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "npuprof/realtime.h"
#include "npuprof/text.h"
#include "train.h"

#define LISTEN_FD "NPU_TRAIN_DEMO_LISTEN_FD" /* a socket made by --ranks for its rank 0 */

static int64_t first_number(const char *const *names, size_t count, int64_t fallback)
{
	for (size_t i = 0; i < count; i++) {
		const char *text = getenv(names[i]);
		int64_t value;

		if (text && np_text_to_int(text, strlen(text), &value) && value >= 0)
			return value;
	}
	return fallback;
}

void train_place_find(struct train_place *place)
{
	static const char *const ranks[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
					     "SLURM_PROCID" };
	static const char *const sizes[] = { "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
					     "SLURM_NTASKS" };
	static const char *const locals[] = { "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
					      "MPI_LOCALRANKID", "SLURM_LOCALID" };

	place->rank = first_number(ranks, NP_COUNT(ranks), 0);
	place->world = first_number(sizes, NP_COUNT(sizes), 1);
	place->device = first_number(locals, NP_COUNT(locals), place->rank);
}

/* --- Starting ranks ----------------------------------------------------------------------- */

/* How many ranks of the same simulated host come before this one. */
static int64_t local_rank(int64_t rank)
{
	char host[64];
	int64_t before = 0;

	if (!np_realtime_host_of(rank, host, sizeof(host)))
		return rank;
	for (int64_t other = 0; other < rank; other++) {
		char name[64];

		before += np_realtime_host_of(other, name, sizeof(name)) && strcmp(name, host) == 0;
	}
	return before;
}

static void set_number(const char *name, int64_t value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%lld", (long long)value);
	(void)setenv(name, text, 1);
}

/* A socket that listens somewhere on this machine. */
static int listen_anywhere(int *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 256) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) != 0)
		return -1;
	*port = ntohs(address.sin_port);
	return fd;
}

static void become_rank(int64_t rank, int64_t ranks, int fd, int port, char **argv)
{
	set_number("RANK", rank);
	set_number("RANK_ID", rank);
	set_number("LOCAL_RANK", local_rank(rank));
	set_number("WORLD_SIZE", ranks);
	set_number("LOCAL_WORLD_SIZE", ranks);
	set_number("MASTER_PORT", port);
	(void)setenv("MASTER_ADDR", "127.0.0.1", 1);
	if (rank == 0)
		set_number(LISTEN_FD, fd);
	else
		(void)close(fd);
	(void)execv("/proc/self/exe", argv);
	_exit(127);
}

/* The arguments without --ranks, which the children must not see. */
static void without_ranks(char **argv)
{
	char **out = argv;

	for (; *argv; argv++) {
		if (strncmp(*argv, "--ranks=", 8) == 0)
			continue;
		if (strcmp(*argv, "--ranks") == 0 && argv[1]) {
			argv++;
			continue;
		}
		*out++ = *argv;
	}
	*out = NULL;
}

int train_place_fork(int64_t ranks, char **argv)
{
	int result = 0;
	int port = 0;
	int fd = listen_anywhere(&port);

	if (fd < 0) {
		(void)fprintf(stderr, "npu-train-demo: cannot listen: %s\n", strerror(errno));
		return 1;
	}
	without_ranks(argv);
	for (int64_t rank = 0; rank < ranks; rank++) {
		pid_t pid = fork();

		if (pid == 0)
			become_rank(rank, ranks, fd, port, argv);
		if (pid < 0)
			result = 1;
	}
	(void)close(fd);
	for (;;) {
		int status;

		if (wait(&status) < 0)
			break;
		if (result == 0 && status != 0)
			result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return result;
}

/* --- Telling all ranks the same ----------------------------------------------------------- */

/* Under mpirun without a collector nobody says which port: all ranks derive the same one. */
static int default_port(void)
{
	const char *job = getenv("PMIX_NAMESPACE");
	unsigned hash = job ? 0 : (unsigned)getppid();

	for (; job && *job; job++)
		hash = hash * 131 + (unsigned char)*job;
	return 20000 + (int)(hash % 20000);
}

static int serve_socket(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const char *inherited = getenv(LISTEN_FD);
	int64_t number;
	int yes = 1;
	int fd;

	if (inherited && np_text_to_int(inherited, strlen(inherited), &number))
		return (int)number;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_port = htons((uint16_t)port);
	address.sin_addr.s_addr = htonl(INADDR_ANY);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(fd, 256) != 0) {
		if (fd >= 0)
			(void)close(fd);
		return -1;
	}
	return fd;
}

static bool transfer(int fd, char *data, size_t bytes, bool is_send)
{
	while (bytes > 0) {
		ssize_t n =
			is_send ? send(fd, data, bytes, MSG_NOSIGNAL) : recv(fd, data, bytes, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		bytes -= (size_t)n;
	}
	return true;
}

static int serve(int port, int64_t clients, void *data, size_t bytes, struct np_err *err)
{
	int fd = serve_socket(port);
	const struct timeval patience = { .tv_sec = 30 };

	if (fd < 0)
		return np_fail(err, NP_E_IO, "cannot listen on port %d: %s; set MASTER_PORT", port,
			       strerror(errno));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	for (int64_t i = 0; i < clients; i++) {
		int client = accept(fd, NULL, NULL);
		bool ok = client >= 0 && transfer(client, data, bytes, true);

		if (client >= 0)
			(void)close(client);
		if (!ok) {
			(void)close(fd);
			return np_fail(err, NP_E_IO, "%lld of %lld ranks did not come to port %d",
				       (long long)(clients - i), (long long)clients, port);
		}
	}
	(void)close(fd);
	return NP_OK;
}

static int dial(const char *host, int port)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char service[16];
	int fd = -1;

	(void)snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(host, service, &hints, &found) != 0)
		return -1;
	fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol);
	if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
		(void)close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	return fd;
}

/* Rank 0 may not be there yet. */
static int ask(const char *host, int port, void *data, size_t bytes, struct np_err *err)
{
	for (int i = 0; i < 600; i++) {
		int fd = dial(host, port);
		bool ok = fd >= 0 && transfer(fd, data, bytes, false);

		if (fd >= 0)
			(void)close(fd);
		if (ok)
			return NP_OK;
		(void)usleep(50000);
	}
	return np_fail(err, NP_E_IO, "rank 0 does not answer at %s:%d", host, port);
}

int train_place_share(const struct train_place *place, void *data, size_t bytes, struct np_err *err)
{
	const char *host = getenv("MASTER_ADDR");
	const char *port_text = getenv("MASTER_PORT");
	int64_t port;

	if (!port_text || !np_text_to_int(port_text, strlen(port_text), &port))
		port = default_port();
	if (place->world <= 1)
		return NP_OK;
	if (place->rank == 0)
		return serve((int)port, place->world - 1, data, bytes, err);
	return ask(host ? host : "127.0.0.1", (int)port, data, bytes, err);
}
