/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a job that calls MPI_Init and learns its rank there. */
#include <mpi.h>

#include "train.h"

int train_mpi_init(struct train_place *place, char **argv, struct np_err *err)
{
	int rank;
	int size;

	(void)argv;
	if (MPI_Init(NULL, NULL) != MPI_SUCCESS ||
	    MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS ||
	    MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS)
		return np_fail(err, NP_E_IO, "MPI does not start");
	place->rank = rank;
	place->world = size;
	return NP_OK;
}

int train_mpi_share(void *data, size_t bytes)
{
	return MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

int train_mpi_sum(double *value)
{
	double mine = *value;

	return MPI_Allreduce(&mine, value, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS
		       ? 0
		       : -1;
}

void train_mpi_finalize(void)
{
	(void)MPI_Finalize();
}
