/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_WHATIF_PRIVATE_H
#define NP_WHATIF_PRIVATE_H

#include "npuprof/whatif.h"

typedef NP_VEC(struct np_fix) fix_list;

/* Add single ranks, or hosts, that are worth trying. */
int whatif_add_ranks(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
	NP_MUST_USE;
int whatif_add_hosts(const struct np_whatif_input *input, fix_list *list, struct np_err *err)
	NP_MUST_USE;

/* A scenario while repairs are put into it: factors, all 1 at first, that only fall. */
struct scenario_draft {
	float (*work)[NP_WORK_KINDS]; /* by cell */
	float *transfer;              /* by instance */
};

int scenario_init(struct scenario_draft *scenario, const struct np_replay *replay,
		  struct np_err *err) NP_MUST_USE;
void scenario_release(struct scenario_draft *scenario);

/* Put repairs into the scenario. NP_E_USAGE if one names nothing there is, or the data do not tell.
 */
int scenario_repair(const struct np_whatif_input *input, const struct np_fix *fixes, size_t count,
		    struct scenario_draft *scenario, struct np_err *err) NP_MUST_USE;

/* A factor that falls to `value`, or stays. */
void scenario_lower(float *factor, double value);

/* The work of ranks of one stage in one step, in sum. */
struct mean {
	np_str step;
	int32_t stage;
	size_t count;
	double work[NP_WORK_KINDS];
};

typedef NP_VEC(struct mean) means;

/* The one of a step and stage, added if it is new. */
struct mean *scenario_mean(means *list, np_str step, int32_t stage, struct np_err *err) NP_MUST_USE;

/* All ranks with intervals but these (NULL: but none), by rank. */
int scenario_add_means(const struct np_replay *replay, const bool *leave_out, means *ret,
		       struct np_err *err) NP_MUST_USE;

/* The ranks that rank:R or host:H names. To be freed, also after NP_E_USAGE: there are none. */
int scenario_named_ranks(const struct np_whatif_input *input, const struct np_fix *fix, bool **ret,
			 struct np_err *err) NP_MUST_USE;

int scenario_repair_host(const struct np_whatif_input *input, const struct np_fix *fix,
			 struct scenario_draft *scenario, struct np_err *err) NP_MUST_USE;

/*
 * Are the ranks of this host slower than their peers in all steps alike, and not
 * just more often than not? True where there are too few steps to tell.
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
 * median over all types that it needs time for. By stage; NaN where nothing tells.
 */
int scenario_stage_ratios(const struct np_replay *replay, double *ret, struct np_err *err)
	NP_MUST_USE;

/* Tell which of the ranks and stages that were tried clearly take longer than their peers. */
int whatif_find_evident(const struct np_whatif_input *input, struct np_whatif *whatif,
			struct np_err *err) NP_MUST_USE;

/* The repair of a slow link: of all links of its end if that is a bad sender or receiver. */
void whatif_name_link(const struct np_link_speed *link, struct np_fix *ret);

/* role:R and group:N; link:A-B, link:A-* and link:*-B. */
int scenario_repair_communicators(const struct np_whatif_input *input, const struct np_fix *fix,
				  struct scenario_draft *scenario, struct np_err *err) NP_MUST_USE;
int scenario_repair_link(const struct np_whatif_input *input, const struct np_fix *fix,
			 struct scenario_draft *scenario, struct np_err *err) NP_MUST_USE;

/* From the last start to the end, on average over the members; NP_UNKNOWN for one alone. */
np_ns scenario_transfer(const struct np_replay *replay, const struct np_instance *instance);

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

/*
 * The step with each of `fixes`, on top of `base`: NP_UNKNOWN for what the data do
 * not allow. Scenarios run side by side, on the input's threads.
 */
int whatif_steps(const struct np_whatif_input *input, const struct np_fix *base, size_t base_count,
		 const struct np_fix *fixes, size_t count, np_ns *ret, struct np_err *err)
	NP_MUST_USE;

/* Likewise with everything repaired but the one. */
int whatif_steps_alone(const struct np_whatif_input *input, const struct np_fix *fixes,
		       size_t count, np_ns *ret, struct np_err *err) NP_MUST_USE;

/* Where no single repair explains the loss: few that do together. */
int whatif_find_team(const struct np_whatif_input *input, struct np_whatif *whatif,
		     struct np_err *err) NP_MUST_USE;

#endif /* NP_WHATIF_PRIVATE_H */
