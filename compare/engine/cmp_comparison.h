/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMP_COMPARISON_H
#define CMP_COMPARISON_H

#include "cmp_class.h"
#include "cmp_op_names.h"
#include "cmp_significance.h"

#include "npuprof/analysis.h"
#include "npuprof/idmap.h"
#include "npuprof/iteration.h"
#include "npuprof/map.h"
#include "npuprof/ranges.h"
#include "npuprof/run.h"
#include "npuprof/workers.h"

/*
 * Two runs, compared
 * ==================
 *
 * Everything is per step: a side's figure is the mean over its cells, and a cell is
 * one device of a paired rank in one of the chosen steps that has a length on the
 * basis of the comparison: the iteration where both sides know some, else the span
 * (iteration.h). Both sides are always on the same basis. Figures are whole ns;
 * the step is rounded, and what it consists of is rounded by largest remainder so
 * that it sums to the step, on both sides and so in the differences.
 *
 * Texts live in `names` and stay while the comparison does. `base` and `new` are
 * sides[0] and sides[1]; swapping them swaps every sign and nothing else, except
 * for the effects of kernels, which weigh counts by the durations of the base.
 */
enum cmp_which {
	CMP_BASE,
	CMP_NEW,
	CMP_SIDES,
};

/* Kernels, summed. */
struct cmp_kernel_sum {
	int64_t count;
	np_ns total; /* Σ durations */
	np_ns owned; /* of the partition: without what kernels that started earlier took */
	np_ns least;
	np_ns most;
	np_ns computing; /* by the counters, for kernels that also communicate */
};

/* Kernels of one group: what they have in common, with texts of comparison.names, and their sum. */
struct cmp_kernel_group {
	enum cmp_class class;
	enum cmp_class leaf_class; /* of its leaf: coarser where the other side cannot tell */
	bool cube;                 /* it uses the cube unit */
	np_str type;
	np_str core;
	np_str shapes;
	np_str dtypes;
	np_str formats;
	struct cmp_kernel_sum sum;
};

/* What the kernels of a type and class own of a cell. */
struct cmp_kernel_share {
	uint32_t cell; /* index in np_rank.times */
	np_str type;
	enum cmp_class class;
	np_ns owned;
};

/* A kernel in the order of starts. */
struct cmp_kernel_place {
	uint32_t group; /* in cmp_side.groups */
	int64_t block_dim;
	int64_t stream;
};

struct cmp_rank_kernels {
	NP_VEC(struct cmp_kernel_share) shares;   /* by cell */
	NP_VEC(struct cmp_kernel_place) sequence; /* of one step, for the first pair only */
	unsigned classes;                         /* of its kernels in any step: bits */
	unsigned step_classes;                    /* of those in the chosen steps */
	bool types;                               /* are known of some kernels */
	int64_t mhz; /* mean of the frequency samples; NP_UNKNOWN without */
	np_str chip;
};

struct cmp_side {
	struct np_analysis *analysis; /* owned */
	const char *path;
	NP_VEC(np_str) steps; /* chosen: ids in the strings of the run, in order */
	uint32_t *places;     /* id of a step → its place in `steps` + 1; 0 for none */
	size_t place_count;
	enum np_basis basis;              /* of the comparison: that of the other side */
	np_str dropped;                   /* the first step, left out; NP_STR_NONE for none */
	struct cmp_rank_kernels *kernels; /* by index in the run */
	/*
	 * Of the kernels of all paired ranks in the chosen steps: by the first pair, the
	 * first cell there and then the order in which that rank names them.
	 */
	NP_VEC(struct cmp_kernel_group) groups;
	size_t cells;
	np_ns total; /* Σ lengths of the cells */
	np_ns computing;
	np_ns overlapped; /* communication under computing: beside the partition */
	np_ns communication;
	np_ns e2e;            /* NP_UNKNOWN where a cell does not tell */
	size_t *step_cells;   /* by step */
	double *step_length;  /* mean over the cells */
	double *step_overlap; /* of communication that computing hides */
};

/* A rank of each side that play the same part: indexes in the runs. */
struct cmp_pair {
	size_t rank[CMP_SIDES];
	size_t cells[CMP_SIDES];
	np_ns length[CMP_SIDES]; /* mean */
	np_ns busy[CMP_SIDES];   /* mean of what is its own: computing, copies and the host */
	bool outlier;            /* its own work changed unlike that of the others */
};

enum cmp_leaf_kind {
	CMP_LEAF_COMPUTE,
	CMP_LEAF_WAIT,
	CMP_LEAF_TRANSFER,
	CMP_LEAF_COMM, /* either */
	CMP_LEAF_MEMCPY,
	CMP_LEAF_HOST, /* free, or between steps: the host was late */
	CMP_LEAF_FREE,
	CMP_LEAF_BETWEEN, /* idle between steps for another reason, or for one that is unknown */
};

enum cmp_verdict {
	CMP_UNTESTED,
	CMP_NOISE,
	CMP_REGRESSION,
	CMP_IMPROVEMENT,
};

const char *cmp_verdict_name(enum cmp_verdict verdict);

/* A quantity on both sides with its test. */
struct cmp_change {
	np_ns ns[CMP_SIDES];
	np_ns delta;
	double q; /* adjusted p for leaves; NaN: untested */
	struct cmp_test test;
	enum cmp_verdict verdict;
};

struct cmp_leaf {
	const char *path;
	enum cmp_leaf_kind kind;
	enum cmp_class class;   /* of computing */
	np_str type;            /* likewise, of comparison.names; NONE: not recorded */
	size_t comm;            /* of communication: in comparison.comms; SIZE_MAX for none */
	np_ns total[CMP_SIDES]; /* over the cells */
	double *steps[CMP_SIDES];
	double *ranks[CMP_SIDES]; /* mean over the cells of each pair */
	struct cmp_change change;
};

/* A communicator, or all with one name, on both sides. */
struct cmp_comm_side {
	size_t communicators;
	bool incomplete; /* not all members were profiled */
	bool tasks;      /* waiting is known from sub-tasks alone */
	size_t ops;
	int64_t bytes; /* per step, over the paired ranks, as all below; NP_UNKNOWN */
	np_ns elapsed;
	np_ns wait;
	np_ns transit;
	np_ns exposed;
	np_ns overlapped;
	double gb_per_s;
};

struct cmp_comm {
	const char *name;
	const char *matched_by; /* "pg_name", "ranks", "fingerprint"; NULL: on one side only */
	struct cmp_comm_side side[CMP_SIDES];
	/*
	 * Waiting was measured in another way on either side, so that what the one calls waiting
	 * the other calls transfer: they are one leaf.
	 */
	bool unlike;
	np_ns delta; /* of its leaves together, as the four effects sum up */
	np_ns bytes_effect;
	np_ns bandwidth_effect;
	np_ns wait_effect;
	np_ns overlap_effect; /* what is hidden under computing, and what no estimator tells */
};

/* Kernels of one class, type and shape of inputs. */
struct cmp_kernel {
	size_t leaf; /* in comparison.leaves */
	np_str type;
	np_str shapes;
	double count[CMP_SIDES]; /* per cell */
	np_ns ns[CMP_SIDES];     /* Σ durations per cell */
	np_ns least[CMP_SIDES];
	np_ns most[CMP_SIDES];
	np_ns count_effect;
	np_ns speed_effect;
	np_ns mix_effect;
	np_ns overlap_effect;
	np_ns delta; /* of its share of the leaf = Σ of the four */
};

/* Kernels of one type that compute and communicate at once; sums over the cells. */
struct cmp_mc2 {
	np_str type;
	int64_t count[CMP_SIDES];
	np_ns total[CMP_SIDES];
	np_ns computing[CMP_SIDES];
	np_ns communication[CMP_SIDES]; /* NP_UNKNOWN where its tasks were not recorded */
};

/* Something that is different in the order or the make of kernels. */
struct cmp_structure {
	const char *kind; /* "new", "removed", "fused", "conversion", "shape", "dtype", … */
	const char *what; /* the type, or the types */
	const char *from;
	const char *to;
	int64_t count; /* times in the step looked at */
};

/* What explains the difference best, the largest first. */
enum cmp_cause_kind {
	CMP_CAUSE_RANK,
	CMP_CAUSE_LINK,
	CMP_CAUSE_KERNELS,
	CMP_CAUSE_HOST,
	CMP_CAUSE_COMM,
	CMP_CAUSE_BETWEEN,
	CMP_CAUSE_OTHER,
};

struct cmp_cause {
	enum cmp_cause_kind kind;
	const char *what; /* "rank 3", "link 2-5", "MatMulV2", "host" … */
	const char *text; /* a sentence */
	np_ns ns;         /* what of the step it explains */
	bool against;     /* the step changed the other way: it explains nothing, and hides some */
};

/* Smaller changes are noise, unless the user says otherwise. */
#define CMP_MIN_NS    0.05e6
#define CMP_MIN_SHARE 0.01

struct cmp_options {
	const char *map_ranks;                    /* "0:4,1:5"; NULL */
	const struct np_ranges *steps[CMP_SIDES]; /* chosen by the user; NULL: automatic */
	double min_ns;
	double min_share;
	bool no_stats;
	const struct cmp_op_names *op_names; /* of operators of the framework; NULL: as they are */
	bool by_shape;    /* operators are the same only with the same shapes of inputs */
	bool new_is_lent; /* the new run stays with whoever gave it */
	const struct np_workers *workers;
};

struct comparison {
	struct cmp_options options;
	struct cmp_side sides[CMP_SIDES];
	struct np_strtab *names;
	struct np_arena *arena;
	NP_VEC(struct cmp_pair) pairs; /* by rank of the base */
	const char *paired_by;         /* "id", "role", "map", "order" */
	enum np_basis basis;           /* what the length of a step is, on both sides */
	/*
	 * Only one side knows the types of kernels (Level0 on the other), or one is of
	 * a GPU, whose kernels are others: leaves of computing are then by what classes
	 * both can tell.
	 */
	bool coarse;
	bool gpu_and_npu;
	bool gpu_operators; /* and the GPU's trace has the operators that launched kernels */
	struct cmp_change step;
	/*
	 * The verdict on the step follows from leaves that changed for certain: by this
	 * together. 0 where the step itself tells.
	 */
	np_ns by_parts;
	struct cmp_change overlapped;
	NP_VEC(struct cmp_leaf) leaves; /* by |delta|, the largest first */
	NP_VEC(struct cmp_comm) comms;
	struct np_map comm_names;               /* → comms */
	struct np_idmap *comm_index[CMP_SIDES]; /* hash → comms */
	NP_VEC(struct cmp_kernel) kernels;      /* by |delta| */
	NP_VEC(struct cmp_mc2) mc2;             /* by type */
	NP_VEC(struct cmp_structure) structure;
	NP_VEC(struct cmp_cause) causes; /* those against the step last, by size */
	struct np_notes warnings;        /* about comparability */
};

/*
 * Compare two measured runs, which are taken over also on failure, unless lent. NP_E_USAGE for
 * a map that names no rank; NP_E_NOTFOUND if no ranks can be paired or no step is
 * left.
 */
int comparison_build(struct np_analysis *base, struct np_analysis *new_,
		     const struct cmp_options *options, struct comparison **ret, struct np_err *err)
	NP_MUST_USE;
void comparison_free(struct comparison *comparison);
void comparison_freep(struct comparison **comparison);

static inline const char *cmp_text(const struct comparison *comparison, np_str id)
{
	return id == NP_STR_NONE ? NULL : np_strtab_text(comparison->names, id);
}

/* The rank of a pair on a side. */
static inline const struct np_rank *cmp_rank(const struct comparison *comparison,
					     const struct cmp_pair *pair, enum cmp_which which)
{
	return comparison->sides[which].analysis->run->ranks[pair->rank[which]];
}

/*
 * The place of the step of a time of a rank among those of a side, or SIZE_MAX if it
 * is no cell: not chosen, or without a length on the basis of the comparison.
 */
size_t cmp_cell_of(const struct cmp_side *side, const struct np_rank *rank,
		   const struct np_step_time *time);

/* Has a rank a cell in this step, an index in np_rank.steps or NP_NO_STEP? */
bool cmp_has_cell(const struct cmp_side *side, const struct np_rank *rank, uint32_t step);

/* Is this the path of a leaf of the time between steps? */
bool cmp_is_between(const char *path);

/* --- the stages, in order -------------------------------------------------------------------- */

int cmp_pair_ranks(struct comparison *comparison, struct np_err *err) NP_MUST_USE;
int cmp_choose_steps(struct comparison *comparison, struct np_err *err) NP_MUST_USE;

/* The side without marks of steps, all of which is one, where the other has some; else NULL. */
const struct cmp_side *cmp_unmarked(const struct comparison *comparison);
int cmp_reduce_kernels(struct comparison *comparison, struct np_err *err) NP_MUST_USE;
int cmp_match_communicators(struct comparison *comparison, struct np_err *err) NP_MUST_USE;
int cmp_measure_leaves(struct comparison *comparison, struct np_err *err) NP_MUST_USE;
int cmp_measure_comms(struct comparison *comparison, struct np_err *err) NP_MUST_USE;
int cmp_measure_kernels(struct comparison *comparison, struct np_err *err) NP_MUST_USE;
int cmp_measure_mc2(struct comparison *comparison, struct np_err *err) NP_MUST_USE;
int cmp_measure_structure(struct comparison *comparison, struct np_err *err) NP_MUST_USE;
int cmp_test_changes(struct comparison *comparison, struct np_err *err) NP_MUST_USE;
int cmp_find_causes(struct comparison *comparison, struct np_err *err) NP_MUST_USE;
void cmp_check_comparable(struct comparison *comparison);

/*
 * The communicator of a side under its hash, by the matching of both sides: an
 * index in comparison.comms, or SIZE_MAX.
 */
size_t cmp_comm_of(const struct comparison *comparison, enum cmp_which which, uint64_t hash);

/* A text that lives as long as the comparison; NULL if memory runs out. */
const char *cmp_keep(struct comparison *comparison, const struct np_buf *buf);

#endif /* CMP_COMPARISON_H */
