/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_SCENARIO_H
#define NP_SCENARIO_H

/*
 * Repairs as factors of a replay: a draft begins as it was (scenario.c), and repairs
 * lower what they concern (scenario_repair.c, scenario_types.c, scenario_links.c).
 */
#include "npuprof/map.h"
#include "npuprof/whatif.h"

/* A link, by the ranks at its ends, or all links of one rank (scenario_links.c). */
struct scenario_link {
	int64_t a;
	int64_t b;
	double ratio; /* of its time that it would take */
};

/*
 * A scenario while repairs are put into it: factors, all 1 at first, that only fall. The
 * slowest link of a collective holds it up: what the repair of one saves depends on which
 * others are repaired.
 */
struct scenario_draft {
	float (*work)[NP_WORK_KINDS]; /* by cell */
	float *transfer;              /* by instance */
	NP_VEC(struct scenario_link) links;
	bool others_even; /* no other link that is slow holds anything up */
};

int scenario_init(struct scenario_draft *scenario, const struct np_replay *replay,
		  struct np_err *err) NP_MUST_USE;
void scenario_release(struct scenario_draft *scenario);

/* Put repairs into the scenario. NP_E_USAGE if one names nothing there is, or the data do not say.
 */
int scenario_repair(const struct np_whatif_input *input, const struct np_fix *fixes, size_t count,
		    struct scenario_draft *scenario, struct np_err *err) NP_MUST_USE;

/* A factor that falls to `value`, or stays. */
void scenario_lower(float *factor, double value);

/* So much of the computing of a cell is taken off: where it is beyond that of its peers, there. */
void scenario_take_off(struct scenario_draft *scenario, const struct np_replay *replay, size_t cell,
		       double ns);

/* The work of ranks of one stage in one step, in sum. */
struct mean {
	np_str step;
	int32_t stage;
	uint32_t next; /* of the same step; MEAN_NONE for the last */
	size_t count;
	double work[NP_WORK_KINDS];
};

#define MEAN_NONE UINT32_MAX

struct means {
	NP_VEC(struct mean) list;
	struct np_numbers first; /* of a step → list */
};

void scenario_release_means(struct means *means);

/* The first mean of a step, and the one behind a mean; NULL where there is none. */
const struct mean *scenario_first_mean(const struct means *means, np_str step);
const struct mean *scenario_next_mean(const struct means *means, const struct mean *mean);

/* The one of a step and stage, added if it is new. */
struct mean *scenario_mean(struct means *means, np_str step, int32_t stage, struct np_err *err)
	NP_MUST_USE;

/* All ranks with intervals but these (NULL: but none), by rank. */
int scenario_add_means(const struct np_replay *replay, const bool *leave_out, struct means *ret,
		       struct np_err *err) NP_MUST_USE;

/*
 * Are the ranks of this host slower than their peers in all steps alike, and not
 * just more often than not? True where there are too few steps to know.
 */
int scenario_is_lasting(const struct np_whatif_input *input, const struct np_fix *fix, bool *ret,
			struct np_err *err) NP_MUST_USE;

/* NP_E_USAGE: what the repair names is not there; with what is. */
int scenario_fail_unknown(const struct np_replay *replay, const struct np_fix *fix,
			  struct np_err *err) NP_MUST_USE;

/*
 * All repairs of operator types among these: what a rank takes longer for a type
 * than the mean of its peers is taken off.
 */
int scenario_repair_types(const struct np_replay *replay, const struct np_fix *fixes, size_t count,
			  struct scenario_draft *scenario, struct np_err *err) NP_MUST_USE;

/*
 * How many times as long as the others each stage takes for kernels of a type: the
 * median over all types that it needs time for. By stage; NaN where nothing is known.
 */
int scenario_stage_ratios(const struct np_replay *replay, double *ret, struct np_err *err)
	NP_MUST_USE;

/* Why a stage takes longer than others. */
struct stage_kernels {
	bool longer;   /* most of its ranks do, and not a few of them */
	bool split;    /* it has more, or other, kernels than they have */
	double slower; /* its kernels take so many times as long; NaN where they were not counted */
};

int scenario_stage_kernels(const struct np_replay *replay, int32_t stage, struct stage_kernels *ret,
			   struct np_err *err) NP_MUST_USE;

/* The repair of a slow link: of all links of its end if that is a bad sender or receiver. */
void whatif_name_link(const struct np_link_speed *link, struct np_fix *ret);

/* role:R and group:N; link:A-B, link:A-* and link:*-B. */
int scenario_repair_communicators(const struct np_whatif_input *input, const struct np_fix *fix,
				  struct scenario_draft *scenario, struct np_err *err) NP_MUST_USE;
int scenario_repair_link(const struct np_whatif_input *input, const struct np_fix *fix,
			 struct scenario_draft *scenario, struct np_err *err) NP_MUST_USE;

void scenario_copy(struct scenario_draft *to, const struct scenario_draft *from,
		   const struct np_replay *replay);

/* Take out of a scenario what another one repairs. */
void scenario_undo(struct scenario_draft *scenario, const struct scenario_draft *repaired,
		   const struct np_replay *replay);

/*
 * Transfers of these communicators (NULL: of all) as the median of like ones, of
 * all communicators or of the others only.
 */
int scenario_repair_transfers(const struct np_replay *replay, const bool *these, bool by_others,
			      struct scenario_draft *scenario, size_t *ret_repaired,
			      struct np_err *err) NP_MUST_USE;

#endif /* NP_SCENARIO_H */
