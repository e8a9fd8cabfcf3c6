/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_WHATIF_H
#define NP_WHATIF_H

#include "npuprof/experts.h"
#include "npuprof/links.h"
#include "npuprof/replay.h"
#include "npuprof/root_cause.h"

/*
 * What a repair would gain
 * ========================
 *
 * A repair replaces durations by those of peers: the ranks of the same stage, in
 * the same step, that are not repaired themselves; what is shorter already stays
 * as it is, so more repairs never make it slower (but for a pipeline that is unevenly
 * split: who gets work of another takes longer). The replay of a scenario with the
 * repair, against the replay of the scenario as it was, is its gain.
 *
 *	rank:R           computing, host gaps and time between steps of this rank as the mean
 *	                 of its peers
 *	host:H           those of its ranks together as of the ranks of other hosts
 *	stage:S          kernels of a stage as fast as the same ones of other stages; one that
 *	                 has more kernels than others gives work to those that have less
 *	optype:GLOB      kernels of these types as the mean of each rank's peers
 *	role:R group:N   transfers of these communicators as the median of like ones
 *	link:A-B         transfers between two ranks at the speed of like links
 *	link:A-* link:*-B  all that a rank transfers to others, or others to it, likewise
 *	host-gaps        no waiting for the host within steps
 *	between          no time between steps but what was launched and had not started:
 *	                 between/dataloader, between/host and between/unknown of all ranks are 0
 *	frequency        computing at the rated clock of the AI cores
 *	experts          as if tokens were spread evenly
 *	hide-comm        no exposed transfer (waiting for late ranks stays)
 *	all              every rank as the mean of the others, every transfer as the median
 */
enum np_fix_kind {
	NP_FIX_RANK,
	NP_FIX_HOST,
	NP_FIX_STAGE,
	NP_FIX_ROLE,
	NP_FIX_OPTYPE,
	NP_FIX_GROUP,
	NP_FIX_LINK,
	NP_FIX_HOST_GAPS,
	NP_FIX_BETWEEN,
	NP_FIX_FREQUENCY,
	NP_FIX_EXPERTS,
	NP_FIX_HIDE_COMM,
	NP_FIX_ALL,
	NP_FIX_KINDS,
};

#define NP_FIX_TEXT 96

struct np_fix {
	enum np_fix_kind kind;
	char what[NP_FIX_TEXT]; /* behind the colon; "" for kinds without */
};

/* "rank:5" and so on. NP_E_USAGE, with what is allowed, for anything else. */
int np_fix_parse(const char *text, struct np_fix *ret, struct np_err *err) NP_MUST_USE;

/* The text of a repair, as np_fix_parse() reads it. */
void np_fix_format(const struct np_fix *fix, char ret[NP_FIX_TEXT + 16]);

/* "rank", "host-gaps" … */
const char *np_fix_kind_name(enum np_fix_kind kind);

/* "late launches of hosts": what a kind that names nothing repairs; NULL of the others. */
const char *np_fix_words(enum np_fix_kind kind);

/* What repairs are made of. */
struct np_whatif_input {
	const struct np_replay *replay;
	const struct np_links *links;
	const struct np_experts *experts;
	const struct np_root_causes *causes; /* which ranks to try first */
	const float *frequency;              /* np_whatif_frequency(); NULL: was not read */
	size_t threads;
	size_t most; /* single ranks, and hosts, that are tried; 0: 64 */
	bool both;   /* also try what each costs by itself, where all else is ideal */
	/*
	 * Of the same run without some of these: what it has tried is not tried again, nor
	 * is a team looked for.
	 */
	const struct np_whatif *known;
};

struct np_whatif_row {
	struct np_fix fix;
	np_ns step;  /* with this repaired */
	np_ns saved; /* against the replay as it was */
	np_ns alone; /* what it costs by itself, where all else is ideal; NP_UNKNOWN if not asked */
	bool lasting; /* false of a host that is slower in some steps and faster in others */
	bool evident; /* a rank, stage or link that clearly takes longer than its peers */
	bool split;   /* a stage that has more, or other, kernels than the others */
	bool steady;  /* a rank that takes longer than its peers in most steps */
};

/* Repairs that explain a loss together, at most: a tensor parallel group. */
#define NP_WHATIF_TEAM 8

struct np_whatif {
	np_ns observed;  /* step */
	np_ns step;      /* as replayed */
	np_ns ideal;     /* with everything repaired */
	double fidelity; /* |replayed − observed| / observed */
	size_t forced;
	NP_VEC(struct np_whatif_row) rows; /* the largest gain first */
	/*
	 * Causes that hide each other: those that together recover most of the loss,
	 * where each adds to what the others do; the most specific and costliest first.
	 * None where a single one recovers as much.
	 */
	struct np_fix team[NP_WHATIF_TEAM];
	size_t team_count;
	np_ns team_step;
	bool team_slow; /* ranks that hide each other, as slow as each other */
};

/* Try every single repair that the data allow. */
int np_whatif_measure(const struct np_whatif_input *input, struct np_whatif *ret,
		      struct np_err *err) NP_MUST_USE;
void np_whatif_release(struct np_whatif *whatif);

/*
 * Several repairs at once. NP_E_USAGE for one that names nothing there is or
 * that the data do not allow.
 */
int np_whatif_together(const struct np_whatif_input *input, const struct np_fix *fixes,
		       size_t count, np_ns *ret_step, struct np_err *err) NP_MUST_USE;

/* How fast the AI cores of a rank were clocked. */
struct np_frequency_rank {
	double *mean;    /* by cell of np_rank.activity, MHz; NaN without samples; NULL: not read */
	int64_t rated;   /* MHz; NP_UNKNOWN */
	int64_t highest; /* of all samples; 0 without any */
};

/* Read from the profiles by who asks for the repair, before it is tried. */
struct np_frequencies {
	struct np_frequency_rank *ranks; /* by index in the run */
	size_t count;
};

void np_frequencies_release(struct np_frequencies *frequencies);

/*
 * By cell of the replay, the mean clock of the AI cores against the rated one: what
 * computing would take at that. NP_E_USAGE where no rank has samples. To be freed.
 */
int np_whatif_frequency(const struct np_replay *replay, const struct np_frequencies *frequencies,
			float **ret, struct np_err *err) NP_MUST_USE;

/* One repair after the other, each the one that gains most on top of those before it. */
struct np_whatif_curve {
	NP_VEC(struct np_whatif_row) list; /* `saved` is by all up to this one */
};

/* Of ranks or hosts (NP_FIX_RANK, NP_FIX_HOST), at most `count` of them. */
int np_whatif_greedy(const struct np_whatif_input *input, enum np_fix_kind kind, size_t count,
		     struct np_whatif_curve *ret, struct np_err *err) NP_MUST_USE;

/*
 * Where the efficiency of the step is lost: mean computing / step = balance ×
 * serialisation × transfer × host, exactly.
 */
struct np_efficiency {
	np_ns step;         /* as replayed */
	np_ns without_host; /* no waiting for the host */
	np_ns without_both; /* nor for transfers */
	np_ns most;         /* computing of the rank that computes most */
	np_ns mean;         /* of all ranks */
};

int np_efficiency_measure(const struct np_replay *replay, struct np_efficiency *ret,
			  struct np_err *err) NP_MUST_USE;

/*
 * The same for each step of the run (np_cluster.steps), to be freed. Steps of ranks
 * overlap, so a factor may exceed 1; the product stays exact.
 */
int np_efficiency_steps(const struct np_replay *replay, struct np_efficiency **ret,
			struct np_err *err) NP_MUST_USE;

/*
 * What the transfers of each role take of the step, without waiting for the host:
 * taken away one after the other, so that they sum to what all transfers take.
 */
struct np_role_transfer {
	np_str role;   /* NP_STR_NONE: communicators without one */
	np_ns with;    /* step before and */
	np_ns without; /* after its transfers are taken away */
};

struct np_role_transfers {
	NP_VEC(struct np_role_transfer) list; /* by name */
};

int np_efficiency_roles(const struct np_replay *replay, struct np_role_transfers *ret,
			struct np_err *err) NP_MUST_USE;
void np_role_transfers_release(struct np_role_transfers *roles);

/* What repairing one rank saves, by its id; NP_UNKNOWN for one that was not tried. */
np_ns np_whatif_saved(const struct np_whatif *whatif, int32_t rank);

/*
 * The ranks with a cost (np_root_cause_sort()), those first whose repair saves most;
 * those whose repair saves nothing, or was not tried, follow by their cost.
 */
int np_whatif_sort(const struct np_whatif *whatif, const struct np_run *run,
		   const struct np_root_causes *causes, struct np_charge_order *ret,
		   struct np_err *err) NP_MUST_USE;

/* Which repair explains the loss. */
struct np_whatif_verdict {
	bool found;
	struct np_fix fix;
	np_ns saved;
	const struct np_fix *with; /* it gains only together with these */
	size_t with_count;
};

/*
 * The most specific repair that gains nearly as much as any other single one, if
 * that is worth it and not less than the replay is wrong by; the first of a team,
 * if that explains more, and a whole host or stage does not explain as much; else one
 * that gains little, but of what evidently takes too long.
 */
struct np_whatif_verdict np_whatif_verdict(const struct np_whatif *whatif);

#endif /* NP_WHATIF_H */
