/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library for the mode "inapp" (launch/plan/mode.h): preloaded into an MPI program it does one
 * thing more in MPI_Init. Rank 0 sends the others where its launcher listens, and everybody
 * reports it to the own launcher. Whatever fails is not the program's concern.
 *
 * Calls go to PMPI_*, so that tools which do the same work beside us. Fortran programs call
 * names with an underscore.
 */
#include <mpi.h>
#include <unistd.h>

#include "collect/launch/coord/mpi_address.h"
#include "collect/protocol.h"

#define HOOK __attribute__((visibility("default")))

HOOK void mpi_init_(MPI_Fint *code);
HOOK void mpi_init_thread_(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code);

static void report_address(const char *address, int rank, int size)
{
	const char *name = getenv(NP_ENV_SOCKET); /* NOLINT(concurrency-mt-unsafe) */
	struct np_message message;
	int fd = name ? np_protocol_connect(name) : -1;

	if (fd < 0)
		return;
	np_message_init(&message, NP_MSG_RENDEZVOUS, rank);
	message.value = size;
	(void)snprintf(message.text, sizeof(message.text), "%s", address);
	(void)np_message_send(fd, &message);
	(void)close(fd);
}

/* Once, whichever of the ways to begin was taken. A program of which we are no part does not wait.
 */
static void meet(void)
{
	static bool met;
	const char *mine = getenv(NP_ENV_ADDRESS); /* NOLINT(concurrency-mt-unsafe) */
	char address[NP_MPI_ADDRESS_BYTES] = "";
	MPI_Comm comm;
	int rank;
	int size;

	if (met || !mine)
		return;
	met = true;
	if (PMPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS)
		return;
	(void)PMPI_Comm_rank(comm, &rank);
	(void)PMPI_Comm_size(comm, &size);
	if (rank == 0)
		(void)snprintf(address, sizeof(address), "%s", mine);
	if (PMPI_Bcast(address, sizeof(address), MPI_BYTE, 0, comm) == MPI_SUCCESS)
		report_address(address, rank, size);
	(void)PMPI_Comm_free(&comm);
}

HOOK int MPI_Init(int *argc, char ***argv)
{
	int code = PMPI_Init(argc, argv);

	if (code == MPI_SUCCESS)
		meet();
	return code;
}

HOOK int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int code = PMPI_Init_thread(argc, argv, required, provided);

	if (code == MPI_SUCCESS)
		meet();
	return code;
}

void mpi_init_(MPI_Fint *code)
{
	*code = MPI_Init(NULL, NULL);
}

void mpi_init_thread_(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *code)
{
	int level = 0;

	*code = MPI_Init_thread(NULL, NULL, *required, &level);
	*provided = level;
}
