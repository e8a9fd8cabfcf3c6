/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_EXPERTS_WORK_H
#define NP_EXPERTS_WORK_H

#include "npuprof/experts.h"

/* Work of one rank after one exchange, with the instance of that exchange. */
struct expert_work {
	uint32_t communicator;
	uint32_t instance;
	uint32_t rank;
	uint32_t op;      /* of the exchange: index in np_rank.ops */
	uint32_t kernels; /* 0 for a rank that got no tokens */
	np_str step;
	int64_t step_number; /* 0 for one without */
	int64_t tokens;
	np_ns time;
	double per_token; /* ns, the same for one instance; NaN: by the times of the step */
};

struct expert_works {
	NP_VEC(struct expert_work) list;
};

/* The works of a run of which no kernel says the tokens, from the exchanges alone. */
int experts_from_exchanges(const struct np_align *align, struct expert_works *works,
			   struct np_err *err) NP_MUST_USE;

#endif /* NP_EXPERTS_WORK_H */
