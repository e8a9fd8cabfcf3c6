/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes over MPI: a library of its own, so that neither the program
 * nor its start needs MPI. Whoever waits sleeps: MPI's own waiting keeps a
 * processor busy, and the leader needs them all while the others wait.
 */
#include "npuprof/procs.h"

#include "mpi_library.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Messages come in pieces, so that one can be thrown away without memory of its size. */
#define PIECE ((size_t)4 << 20)

static char unwanted[PIECE];

#define SHORTEST_NAP_NS 20000
#define LONGEST_NAP_NS  2000000

enum {
	TAG_LENGTH = 1,
	TAG_BYTES = 2,
	TAG_NEWS = 3
};

struct mpi_comm {
	struct np_procs procs;
	MPI_Comm world;
};

/*
 * A message went wrong halfway: the next one would be taken for its rest, and the
 * other process waits for someone to take it. Nothing is exchanged any more, and MPI
 * is not ended, so that the launcher ends the others.
 */
static bool lost;

/* Sleep a little, and longer each time. */
static void nap(int64_t *length)
{
	const struct timespec time = { .tv_nsec = *length };

	(void)nanosleep(&time, NULL);
	if (*length < LONGEST_NAP_NS)
		*length *= 2;
}

static MPI_Comm world_of(const struct np_procs *procs)
{
	return ((const struct mpi_comm *)procs)->world;
}

static int failed(struct np_err *err, const char *what, int code)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int length = 0;

	(void)MPI_Error_string(code, text, &length);
	return np_fail(err, NP_E_IO, "MPI cannot %s: %s", what, text);
}

/* Done is asked once more before each nap. */
static int finish(MPI_Request *request, const char *what, struct np_err *err)
{
	int64_t length = SHORTEST_NAP_NS;

	for (;;) {
		int done = 0;
		int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);

		if (code != MPI_SUCCESS)
			return failed(err, what, code);
		if (done)
			return NP_OK;
		nap(&length);
	}
}

static int send_piece(const struct np_procs *procs, int to, int tag, const void *bytes,
		      size_t length, struct np_err *err)
{
	MPI_Request request;
	int code = MPI_Isend(bytes, (int)length, MPI_BYTE, to, tag, world_of(procs), &request);

	return code == MPI_SUCCESS ? finish(&request, "send", err) : failed(err, "send", code);
}

static int receive_piece(const struct np_procs *procs, int from, int tag, void *bytes,
			 size_t length, struct np_err *err)
{
	MPI_Request request;
	int code = MPI_Irecv(bytes, (int)length, MPI_BYTE, from, tag, world_of(procs), &request);

	return code == MPI_SUCCESS ? finish(&request, "receive", err)
				   : failed(err, "receive", code);
}

static size_t piece_of(size_t rest)
{
	return rest < PIECE ? rest : PIECE;
}

static int fail_after_loss(struct np_err *err)
{
	return np_fail(err, NP_E_IO, "a message between processes was lost");
}

static int mpi_send(const struct np_procs *procs, int to, const void *bytes, size_t length,
		    struct np_err *err)
{
	uint64_t announced = length;
	int rc = lost ? fail_after_loss(err)
		      : send_piece(procs, to, TAG_LENGTH, &announced, sizeof(announced), err);

	for (size_t done = 0; done < length && rc == NP_OK; done += piece_of(length - done))
		rc = send_piece(procs, to, TAG_BYTES, (const char *)bytes + done,
				piece_of(length - done), err);
	lost = lost || rc < 0;
	return rc;
}

/* Take a message in and forget it, but for its first bytes. */
static int discard(const struct np_procs *procs, int from, size_t length, void *head,
		   size_t head_length, struct np_err *err)
{
	int rc = NP_OK;

	for (size_t done = 0; done < length && rc == NP_OK; done += piece_of(length - done)) {
		rc = receive_piece(procs, from, TAG_BYTES, unwanted, piece_of(length - done), err);
		if (done == 0 && head_length > 0)
			memcpy(head, unwanted, head_length < length ? head_length : length);
	}
	return rc;
}

static int receive_bytes(const struct np_procs *procs, int from, size_t length, void **ret,
			 struct np_err *err)
{
	char *bytes = malloc(length + 1);
	int rc = NP_OK;

	if (!bytes) {
		rc = discard(procs, from, length, NULL, 0, err);
		return rc < 0 ? rc : np_fail_nomem(err, "a message");
	}
	for (size_t done = 0; done < length && rc == NP_OK; done += piece_of(length - done))
		rc = receive_piece(procs, from, TAG_BYTES, bytes + done, piece_of(length - done),
				   err);
	if (rc < 0) {
		free(bytes);
		return rc;
	}
	*ret = bytes;
	return NP_OK;
}

static int mpi_receive(const struct np_procs *procs, int from, void **ret, size_t *ret_length,
		       struct np_err *err)
{
	uint64_t length = 0;
	int rc = lost ? fail_after_loss(err)
		      : receive_piece(procs, from, TAG_LENGTH, &length, sizeof(length), err);

	if (rc == NP_OK)
		rc = receive_bytes(procs, from, (size_t)length, ret, err);
	if (rc == NP_OK)
		*ret_length = (size_t)length;
	lost = lost || (rc < 0 && rc != NP_E_NOMEM);
	return rc;
}

static int mpi_skim(const struct np_procs *procs, int from, void *head, size_t head_length,
		    struct np_err *err)
{
	uint64_t length = 0;
	int rc = lost ? fail_after_loss(err)
		      : receive_piece(procs, from, TAG_LENGTH, &length, sizeof(length), err);

	memset(head, 0, head_length);
	if (rc == NP_OK)
		rc = discard(procs, from, (size_t)length, head, head_length, err);
	lost = lost || rc < 0;
	return rc;
}

static bool mpi_arrived(const struct np_procs *procs, int from)
{
	int there = 0;

	/* Receiving it fails at once. */
	if (lost)
		return true;
	return MPI_Iprobe(from, TAG_LENGTH, world_of(procs), &there, MPI_STATUS_IGNORE) ==
		       MPI_SUCCESS &&
	       there;
}

/* So few bytes are on their way when the call returns. What is lost is not missed. */
static void mpi_tell(const struct np_procs *procs, const struct np_procs_news *news)
{
	const int64_t words[] = { news->ranks, news->bytes };

	(void)MPI_Send(words, (int)NP_COUNT(words), MPI_INT64_T, 0, TAG_NEWS, world_of(procs));
}

static bool mpi_hear(const struct np_procs *procs, int *ret_from, struct np_procs_news *ret)
{
	int64_t words[2];
	MPI_Status status;
	int there = 0;

	if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_NEWS, world_of(procs), &there, &status) != MPI_SUCCESS ||
	    !there)
		return false;
	if (MPI_Recv(words, (int)NP_COUNT(words), MPI_INT64_T, status.MPI_SOURCE, TAG_NEWS,
		     world_of(procs), MPI_STATUS_IGNORE) != MPI_SUCCESS)
		return false;
	*ret_from = status.MPI_SOURCE;
	*ret = (struct np_procs_news){ words[0], words[1] };
	return true;
}

static void mpi_close(const struct np_procs *procs)
{
	(void)procs;
	if (!lost)
		(void)MPI_Finalize();
}

__attribute__((visibility("default"))) np_procs_opener np_procs_mpi_open;

int np_procs_mpi_open(const struct np_procs **ret, struct np_err *err)
{
	static struct mpi_comm mpi = {
		.procs = { .send = mpi_send,
			   .receive = mpi_receive,
			   .skim = mpi_skim,
			   .arrived = mpi_arrived,
			   .tell = mpi_tell,
			   .hear = mpi_hear,
			   .close = mpi_close },
	};
	int provided;
	int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);

	if (code != MPI_SUCCESS)
		return failed(err, "start", code);
	if (provided < MPI_THREAD_SERIALIZED)
		return np_fail(err, NP_E_IO, "this MPI knows no threads");
	mpi.world = MPI_COMM_WORLD;
	(void)MPI_Comm_rank(mpi.world, &mpi.procs.rank);
	(void)MPI_Comm_size(mpi.world, &mpi.procs.size);
	mpi.procs.library = np_mpi_library();
	*ret = &mpi.procs;
	return NP_OK;
}
