/* SPDX-License-Identifier: Apache-2.0 */
/* The name of the MPI library that back-ends were loaded with. */
#include "mpi_library.h"

#include <mpi.h>
#include <string.h>

const char *np_mpi_library(void)
{
	static char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length = 0;

	(void)MPI_Get_library_version(text, &length);
	/* Behind these comes who built it, and how. */
	text[strcspn(text, ",\n")] = '\0';
	/* "MPICH Version:<tab>4.0.2" */
	for (char *blank = strpbrk(text, ":\t"); blank; blank = strpbrk(blank, ":\t"))
		*blank = ' ';
	return text;
}
