/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_DRAIN_H
#define HIST_DRAIN_H

#include "hist_effects.h"

/*
 * Which machines to take out first
 * ================================
 *
 * For every host and device, what its repair would have gained in each of the runs that it took
 * part in, by the replay of those runs (npuprof/whatif.h). To be drained is one that is slow in
 * whatever role, by hist_effects_measure(); of the others the history cannot say that it is the
 * machine: they are to be tested. A device that explains its host stands for it.
 *
 * What several gain together is no sum: the slower of two hides the other. It is from replays of
 * each run with all of its slowest machines repaired at once, in all combinations.
 */
enum hist_action {
	HIST_DRAIN,
	HIST_TEST,
};

struct hist_candidate {
	enum hist_unit unit; /* HIST_HOST or HIST_DEVICE */
	np_str host;
	int64_t device; /* -1 of a host */
	size_t runs;    /* that it took part in */
	double mean;    /* gain, as a share of the step */
	double low;     /* a tenth of its runs gain less, and */
	double high;    /* a tenth more */
	enum hist_action action;
	const struct hist_unit_effect *effect; /* NULL: none is known */
};

/* A pair of devices whose link was slow in most of the runs that used it. */
struct hist_slow_link {
	np_str src_host;
	int64_t src_device;
	np_str dst_host;
	int64_t dst_device;
	size_t runs; /* that used it */
	size_t slow;
	double share; /* of the speed of its peers, in the middle of its runs */
};

/* What those to be drained gain when all of them are. */
struct hist_together {
	size_t machines; /* 0: fewer than two are to be drained */
	size_t runs;     /* that any of them took part in */
	size_t exact;    /* of these, in which the replay had just them repaired; in others at least
			  * what some of them gained */
	double mean;     /* as of one candidate */
	double low;
	double high;
};

struct hist_drain {
	NP_VEC(struct hist_candidate) list;  /* to be drained first, then by gain */
	NP_VEC(struct hist_slow_link) links; /* the slowest first */
	struct hist_effects effects;
	struct hist_together together; /* of those among the first `most` */
	np_ns step;                    /* of the newest run */
	size_t replayed;               /* runs that say what repairs gain */
};

int hist_drain_plan(const struct hist_store *store, const struct hist_selection *selection,
		    size_t most, struct hist_drain *ret, struct np_err *err) NP_MUST_USE;
void hist_drain_release(struct hist_drain *drain);

#endif /* HIST_DRAIN_H */
