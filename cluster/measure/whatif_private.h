/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_WHATIF_PRIVATE_H
#define NP_WHATIF_PRIVATE_H

#include "npuprof/whatif.h"

/* A world while repairs are put into it: factors, all 1 at first, that only fall. */
struct world_draft {
	float (*work)[NP_WORK_KINDS]; /* by cell */
	float *transfer;              /* by instance */
};

int world_init(struct world_draft *world, const struct np_replay *replay, struct np_err *err)
	NP_MUST_USE;
void world_release(struct world_draft *world);

/* Put a repair into the world. NP_E_USAGE if it names nothing there is, or the data do not tell. */
int world_repair(const struct np_whatif_input *input, const struct np_fix *fix,
		 struct world_draft *world, struct np_err *err) NP_MUST_USE;

/* Transfers of like instances outside of a set of communicators (NULL: of all). */
int world_repair_transfers(const struct np_replay *replay, const bool *communicators,
			   struct world_draft *world, size_t *ret_repaired, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_WHATIF_PRIVATE_H */
