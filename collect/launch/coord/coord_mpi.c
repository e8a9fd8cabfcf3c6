/* SPDX-License-Identifier: Apache-2.0 */
/* Coordination over MPI, for launchers that are MPI processes. */
#include "coord_backend.h"

#include <limits.h>
#include <mpi.h>

#include "core/mpi/mpi_library.h"
#include "npuprof/vec.h"

enum {
	TAG_EVENT = 1,
	TAG_STAMP = 2,
};

/* A message on its way: MPI reads it until the request is done. */
struct outgoing {
	MPI_Request request;
	union {
		char event[NP_EVENT_MOST_BYTES];
		struct np_stamp stamp;
	} body;
};

struct mpi {
	struct np_coord coord;
	MPI_Comm comm;     /* what is done together */
	MPI_Comm messages; /* events and stamps */
	MPI_Request leaving;
	NP_VEC(struct outgoing *) sent;
};

static struct mpi *mpi_of(struct np_coord *coord)
{
	return (struct mpi *)coord;
}

/* Free what has been sent. */
static void reap(struct mpi *coord)
{
	size_t kept = 0;

	for (size_t i = 0; i < coord->sent.count; i++) {
		int done = 0;

		MPI_Test(&coord->sent.item[i]->request, &done, MPI_STATUS_IGNORE);
		if (done)
			free(coord->sent.item[i]);
		else
			coord->sent.item[kept++] = coord->sent.item[i];
	}
	coord->sent.count = kept;
}

static void mpi_close(struct np_coord *base)
{
	struct mpi *coord = mpi_of(base);

	reap(coord);
	/* What a rank that left early never received: let MPI forget it. */
	for (size_t i = 0; i < coord->sent.count; i++)
		MPI_Request_free(&coord->sent.item[i]->request);
	MPI_Finalize();
	for (size_t i = 0; i < coord->sent.count; i++)
		free(coord->sent.item[i]);
	np_vec_release(&coord->sent);
	free(coord);
}

static int mpi_bcast(struct np_coord *base, struct np_buf *text, struct np_err *err)
{
	struct mpi *coord = mpi_of(base);
	uint64_t length = text->length;
	char *bytes;

	MPI_Bcast(&length, 1, MPI_UINT64_T, 0, coord->comm);
	if (length > INT_MAX)
		return np_fail(err, NP_E_RANGE, "a message of %ju bytes is too long",
			       (uintmax_t)length);
	bytes = calloc(1, length + 1);
	if (!bytes)
		MPI_Abort(coord->comm, 1); /* the others wait for this rank */
	if (base->rank == 0)
		memcpy(bytes, text->text, length);
	MPI_Bcast(bytes, (int)length, MPI_BYTE, 0, coord->comm);
	if (base->rank != 0) {
		np_buf_clear(text);
		np_buf_add_bytes(text, bytes, length);
	}
	free(bytes);
	return np_buf_check(text, err);
}

static int mpi_gather(struct np_coord *base, const void *bytes, size_t length,
		      struct np_buf *ret_all, struct np_err *err)
{
	struct mpi *coord = mpi_of(base);
	int mine = (int)length;
	int *lengths = calloc((size_t)base->size, sizeof(*lengths));
	int *starts = calloc((size_t)base->size, sizeof(*starts));
	char *all = NULL;
	size_t total = 0;
	int rc = NP_OK;

	if (!lengths || !starts)
		MPI_Abort(coord->comm, 1);
	MPI_Gather(&mine, 1, MPI_INT, lengths, 1, MPI_INT, 0, coord->comm);
	for (int i = 0; base->rank == 0 && i < base->size; i++) {
		starts[i] = (int)total;
		total += (size_t)lengths[i];
	}
	if (total > INT_MAX)
		MPI_Abort(coord->comm, 1);
	all = malloc(total + 1);
	if (!all)
		MPI_Abort(coord->comm, 1);
	MPI_Gatherv(bytes, mine, MPI_BYTE, all, lengths, starts, MPI_BYTE, 0, coord->comm);
	if (base->rank == 0 && !ret_all)
		rc = np_fail_nomem(err, "what the launchers say");
	for (int i = 0; base->rank == 0 && i < base->size && rc == NP_OK; i++) {
		np_buf_add_bytes(&ret_all[i], all + starts[i], (size_t)lengths[i]);
		rc = np_buf_check(&ret_all[i], err);
	}
	free(all);
	free(lengths);
	free(starts);
	return rc;
}

static int64_t mpi_max(struct np_coord *base, int64_t value)
{
	struct mpi *coord = mpi_of(base);
	int64_t largest = value;

	MPI_Allreduce(&value, &largest, 1, MPI_INT64_T, MPI_MAX, coord->comm);
	return largest;
}

static void post(struct mpi *coord, int to, int tag, const void *body, size_t size)
{
	struct outgoing **slot;
	struct outgoing *message = calloc(1, sizeof(*message));

	reap(coord);
	slot = message ? np_vec_add(&coord->sent, NULL) : NULL;
	if (!slot)
		MPI_Abort(coord->comm, 1); /* a lost event is a job that hangs */
	*slot = message;
	memcpy(&message->body, body, size);
	MPI_Isend(&message->body, (int)size, MPI_BYTE, to, tag, coord->messages, &message->request);
}

/* Receive a message of at most `size` bytes if it is there: how many, and from whom; else -1. */
static int take(struct mpi *coord, int from, int tag, void *body, size_t size, int *ret_from)
{
	MPI_Message message;
	MPI_Status status;
	int there = 0;
	int got = 0;

	MPI_Improbe(from, tag, coord->messages, &there, &message, &status);
	if (!there)
		return -1;
	MPI_Mrecv(body, (int)size, MPI_BYTE, &message, &status);
	MPI_Get_count(&status, MPI_BYTE, &got);
	*ret_from = status.MPI_SOURCE;
	return got;
}

static void mpi_send(struct np_coord *coord, int to, const struct np_event *event)
{
	char bytes[NP_EVENT_MOST_BYTES];

	post(mpi_of(coord), to, TAG_EVENT, bytes, np_event_pack(event, bytes));
}

static bool mpi_poll(struct np_coord *base, struct np_event *ret)
{
	struct mpi *coord = mpi_of(base);
	char bytes[NP_EVENT_MOST_BYTES];
	int from;
	int got;

	reap(coord);
	got = take(coord, MPI_ANY_SOURCE, TAG_EVENT, bytes, sizeof(bytes), &from);
	if (got < 0)
		return false;
	if (!np_event_unpack(bytes, (size_t)got, base->size, from, base->rank, ret))
		MPI_Abort(coord->comm, 1); /* another version of us, and a job that would hang */
	return true;
}

static void mpi_send_stamp(struct np_coord *coord, int to, const struct np_stamp *stamp)
{
	post(mpi_of(coord), to, TAG_STAMP, stamp, sizeof(*stamp));
}

static bool mpi_take_stamp(struct np_coord *coord, int from, struct np_stamp *ret)
{
	int source;

	return take(mpi_of(coord), from, TAG_STAMP, ret, sizeof(*ret), &source) ==
	       (int)sizeof(*ret);
}

static void mpi_leave(struct np_coord *coord)
{
	MPI_Ibarrier(mpi_of(coord)->comm, &mpi_of(coord)->leaving);
}

static bool mpi_all_left(struct np_coord *coord)
{
	int done = 0;

	MPI_Test(&mpi_of(coord)->leaving, &done, MPI_STATUS_IGNORE);
	return done != 0;
}

static bool mpi_lost(const struct np_coord *coord, int rank)
{
	(void)coord;
	(void)rank;
	return false;
}

__attribute__((visibility("default"))) np_coord_opener np_coord_mpi_open;

int np_coord_mpi_open(struct np_coord **ret, const char **ret_library, struct np_err *err)
{
	static const struct np_coord_ops ops = {
		mpi_close,      mpi_bcast,      mpi_gather, mpi_max,      mpi_send, mpi_poll,
		mpi_send_stamp, mpi_take_stamp, mpi_leave,  mpi_all_left, mpi_lost,
	};
	struct mpi *mpi = calloc(1, sizeof(*mpi));

	if (!mpi)
		return np_fail_nomem(err, "the coordination");
	if (MPI_Init(NULL, NULL) != MPI_SUCCESS) {
		free(mpi);
		return np_fail(err, NP_E_IO, "MPI_Init failed");
	}
	mpi->coord.ops = &ops;
	MPI_Comm_rank(MPI_COMM_WORLD, &mpi->coord.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mpi->coord.size);
	MPI_Comm_dup(MPI_COMM_WORLD, &mpi->comm);
	MPI_Comm_dup(MPI_COMM_WORLD, &mpi->messages);
	mpi->leaving = MPI_REQUEST_NULL;
	*ret = &mpi->coord;
	*ret_library = np_mpi_library();
	return NP_OK;
}
