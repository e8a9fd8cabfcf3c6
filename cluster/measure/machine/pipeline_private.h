/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_PIPELINE_PRIVATE_H
#define NP_PIPELINE_PRIVATE_H

#include "npuprof/align.h"
#include "npuprof/pipeline.h"

#include <math.h>

/* What an operator is to the pipeline. */
enum pipeline_role {
	ROLE_OTHER,
	ROLE_FROM_PREVIOUS, /* an input */
	ROLE_TO_PREVIOUS,   /* a gradient */
	ROLE_FROM_NEXT,     /* a gradient */
	ROLE_TO_NEXT,       /* an input */
	ROLE_PREVIOUS,      /* a batch in which anything may go either way */
	ROLE_NEXT,
	ROLES,
};

/* The messages of a rank in a step, and when its pipeline is full. */
struct pipeline_phases {
	np_ns full;     /* waiting until then belongs to the filling */
	np_ns draining; /* from here on to the draining */
	np_ns last;     /* end of the last message */
	uint32_t micro_batches;
};

/* Who is where, for all ranks. */
struct pipeline_stages {
	const struct np_cluster *cluster;
	const struct np_align *align;
	const struct np_waits *waits;
	int32_t *stage; /* by index in the run; -1 when not known */
	int32_t count;
};

/* A rank with the roles of its operators. */
struct pipeline_rank {
	const struct pipeline_stages *stages;
	const struct np_rank *rank;
	uint32_t index;
	uint8_t *roles; /* enum pipeline_role, by operator */
};

/* By place in the parallel dimensions, else by the stages found from communicators; -1 for none. */
int32_t pipeline_stage_of(const struct np_cluster *cluster, size_t index);

/* The same of any member of a communicator, profiled or not. */
int32_t pipeline_stage_of_member(const struct np_cluster *cluster,
				 const struct np_communicator *communicator, size_t local);

/* pipeline_phases.c: the roles of operators (to be freed), and the phases of a step. */
int pipeline_find_roles(const struct pipeline_stages *stages, uint32_t rank,
			struct pipeline_rank *ret, struct np_err *err) NP_MUST_USE;
bool pipeline_find_phases(const struct pipeline_rank *rank, uint32_t step,
			  struct pipeline_phases *ret);

#endif /* NP_PIPELINE_PRIVATE_H */
