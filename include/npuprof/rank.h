/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_RANK_H
#define NP_RANK_H

#include "npuprof/activity.h"
#include "npuprof/err.h"
#include "npuprof/iteration.h"
#include "npuprof/map.h"
#include "npuprof/notes.h"
#include "npuprof/parallel.h"
#include "npuprof/strtab.h"
#include "npuprof/vec.h"

/*
 * One rank, loaded
 * ================
 *
 * What is left of a rank's profile after it was read: its steps, what each of
 * its devices did in them, and its communication operators. Kernels are gone,
 * their unions and sums are here, so the size follows the communication
 * operators and not the kernels. Every reader (database, text) fills the same
 * structure; nobody behind `load` knows which one did.
 *
 * Times are local to the rank's host clock. What is not known is NP_UNKNOWN.
 */

struct np_arena;
struct np_buf;
struct np_kernel_sums;
struct np_packed_rows;
struct np_packed_sums;
struct np_rank_places;

/* Which input a quantity was taken from. */
enum np_source {
	NP_FROM_NOTHING,
	NP_FROM_RANK_DB,
	NP_FROM_ANALYSIS_DB,
	NP_FROM_TRACE,
	NP_FROM_KERNELS,
	NP_FROM_TEXT,  /* step_trace_time.csv, communication.json */
	NP_FROM_MARKS, /* operators by mstx marks in the rank database */
};

/* "rank database" … for messages and lists. */
const char *np_source_name(enum np_source source);

/* A step of the training loop as this rank saw it. */
struct np_step {
	np_str id;        /* "50"; NP_STR_NONE for the one pseudo step of a run without steps */
	np_ns host_begin; /* of the framework's step; NP_UNKNOWN for the pseudo step */
	np_ns host_end;
	/*
	 * Window on the device: what starts in [begin, end) belongs to the step.
	 * Where two windows met, the earlier was cut at the start of the later.
	 */
	np_ns begin;
	np_ns end;
	np_ns past; /* how far it reached into the next one before that */
	bool cut;   /* the window, or the one before it, was cut so */
};

/*
 * What one device did in one step. With C the union of computing and M the
 * union of communication: computing + communication_not_overlapped + free =
 * stage + bubble = span, the time from the first start to the last end of C ∪ M.
 */
struct np_step_time {
	uint32_t step; /* index in np_rank.steps */
	int32_t device;
	np_ns computing;
	np_ns communication;
	np_ns communication_not_overlapped;
	np_ns overlapped;
	np_ns free;
	np_ns bubble; /* Σ of receive operators, as the vendor defines it */
	np_ns stage;
	np_ns preparing; /* from the start of the host's step to the first start */
	np_ns span;
	np_ns e2e;                       /* extent of all tasks of the step, beside the span */
	np_ns begin;                     /* of the span; NP_UNKNOWN without intervals */
	np_ns iteration;                 /* see iteration.h; NP_UNKNOWN when it has none */
	np_ns between[NP_BETWEEN_KINDS]; /* after the span, before the next step */
	/*
	 * Idle time that begins behind the span and in the step's window, up to what
	 * the device did next: the vendor's text files count it as free.
	 */
	np_ns trailing;
};

/* Exposed communication without the receives of a pipeline, which are its bubble. */
static inline np_ns np_step_without_receive(const struct np_step_time *time)
{
	np_ns rest;

	if (time->communication_not_overlapped == NP_UNKNOWN || time->bubble == NP_UNKNOWN)
		return NP_UNKNOWN;
	rest = time->communication_not_overlapped - time->bubble;
	return rest > 0 ? rest : 0;
}

/* A communicator as this rank knows it. */
struct np_group {
	uint64_t hash;  /* the vendor's name for it in analysis files, in decimal */
	np_str name;    /* the communicator string; NONE when only the hash is known */
	np_str pg_name; /* "tp", "dp" …; NONE when not known */
	int32_t group_rank;
	/* Global ranks, ascending; NULL when not known. Kept once for all ranks when it is loaded.
	 */
	const int32_t *members;
	size_t member_count;
};

/*
 * A length of time in 32 bits, for there is one in every operator: nanoseconds
 * below 2^31, else a place in np_rank.long_times. See np_rank_length().
 */
typedef uint32_t np_length;

#define NP_LENGTH_UNKNOWN UINT32_MAX
#define NP_LENGTH_LONG    ((np_length)1 << 31)

/*
 * One operator of a communicator: a collective, a send, a receive or a batch of
 * them. A run has millions: keep it at 48 bytes.
 */
struct np_comm_op {
	np_ns start;
	np_ns end;
	int64_t bytes; /* count × size of an element */
	np_str name;
	np_str type;        /* "hcom_allReduce_" */
	uint32_t group;     /* index in np_rank.groups */
	uint32_t step;      /* index in np_rank.steps, or NP_NO_STEP */
	np_length transfer; /* union of payload over all planes; the rest of the operator is wait */
	/*
	 * The only other rank that its sub-tasks name, local to the communicator,
	 * + 1; NP_PEERS when they name several, 0 when none.
	 */
	uint16_t peer;
	int8_t device; /* see np_device_of() */
	bool p2p : 1;
	bool retried : 1;      /* sent again after an error, or */
	bool relayed : 1;      /* over another path: direct evidence of a bad link */
	uint8_t data_type : 5; /* the vendor's number + 1; 0 when not known */
};

/* An operator's times as the vendor defines them, on the master plane (np_comm_tasks_measure()). */
struct np_vendor_times {
	np_length transit;
	np_length wait;
	np_length sync;
};

#define NP_NO_STEP UINT32_MAX
#define NP_PEERS   UINT16_MAX

/* The number of a device: a host has a few, so all others are damage and as good as none, -1. */
static inline int8_t np_device_of(int64_t number)
{
	return (int8_t)(number < 0 || number > INT8_MAX ? -1 : number);
}

/*
 * A sub-task of the operator goes from `src`, the rank itself, to `dst`; negative for nobody.
 * Some write those of a receive the other way around: the rank is `own`, negative where that
 * is not known; then the first sub-task of an operator is believed.
 */
static inline void np_comm_op_meet(struct np_comm_op *op, int32_t own, int32_t src, int32_t dst)
{
	uint16_t peer;

	/* Local ranks beyond 16 bits are not told apart: nobody sends messages over such groups. */
	if (src < 0 || dst < 0 || src == dst || src >= NP_PEERS - 1 || dst >= NP_PEERS - 1)
		return;
	peer = (uint16_t)((dst == own || (own < 0 && op->peer == src + 1) ? src : dst) + 1);
	op->peer = op->peer == 0 || op->peer == peer ? peer : NP_PEERS;
}

/* How payload travels. The sums of SDMA include HCCS, PCIE and SIO: never add them. */
enum np_band_type {
	NP_BAND_HCCS,
	NP_BAND_PCIE,
	NP_BAND_SDMA,
	NP_BAND_RDMA,
	NP_BAND_SIO,
	NP_BAND_COUNT,
};

/* One packet size of one transport of one operator; the totals repeat on each. */
struct np_band {
	uint32_t op; /* index in np_rank.ops */
	enum np_band_type type;
	int64_t bytes; /* of all packets of this operator and transport */
	np_ns time;
	double large_packet_ratio;
	int64_t package_bytes; /* 0 in the SDMA row, which has no distribution */
	int64_t package_count;
	np_ns package_time;
};

enum np_link_pick {
	NP_LINK_TOP1,
	NP_LINK_MIDDLE,
	NP_LINK_BOTTOM1,
	NP_LINK_BOTTOM2,
	NP_LINK_BOTTOM3,
	NP_LINK_TOTAL,
	NP_LINK_PICKS,
};

/*
 * A link of a communicator for one class of operator ("allreduce") in one step:
 * the operator with the best, the middle and the worst bandwidth on it, and the
 * total over all. Ranks are local to the communicator.
 */
struct np_link {
	uint32_t group;
	uint32_t step; /* or NP_NO_STEP */
	np_str op_class;
	enum np_link_pick pick;
	int32_t src;
	int32_t dst;
	np_str transport; /* "LOCAL", "HCCS", "RDMA" … */
	int64_t bytes;
	np_ns time;
	np_str op_name; /* the operator picked; NONE for the total */
	bool p2p;
};

/*
 * Transfers of the rank that run at once: 0 one, 1 two, 2 up to 4 …, and from bit
 * NP_CONCURRENCY_LINK_SHIFT on, likewise, those of them over the same link.
 */
#define NP_CONCURRENCY_MOST       31
#define NP_CONCURRENCY_LINK_SHIFT 5
#define NP_CONCURRENCY_LINK_MOST  7

/*
 * What went over one link in one step in pieces of one size, while as many others
 * ran beside it: what links are compared by. Ranks are local to the communicator.
 * What was moved within the device is not here.
 */
struct np_transfer {
	uint32_t group;
	uint32_t step; /* or NP_NO_STEP */
	int32_t src;
	int32_t dst;
	np_str transport;
	uint32_t plane;
	uint16_t size_class; /* np_transfer_class() */
	uint8_t concurrency; /* who ran beside it: see NP_CONCURRENCY_MOST */
	bool p2p : 1;        /* of messages */
	bool reduces : 1;    /* the data is added to what is there, which takes longer */
	uint32_t count;
	uint32_t troubled; /* of operators that were retried or relayed */
	int64_t bytes;
	np_ns time;
	int64_t middle_bytes; /* of the one with the middle bandwidth */
	np_ns middle_time;
};

/* The class of a size: four to the octave. */
uint16_t np_transfer_class(int64_t bytes);

/* What a communicator cost this rank in one step (design: Definitions). */
struct np_comm_step {
	uint32_t group;
	uint32_t step;
	int32_t device;
	size_t ops;
	int64_t bytes;
	int64_t moved_bytes;
	np_ns moved_time;
	np_ns elapsed;
	np_ns transfer; /* NP_UNKNOWN when it is of any of the operators */
	np_ns exposed;
	np_ns overlapped;
};

/* Kernels of one type, or calls of one function, over the whole capture. */
struct np_statistic {
	np_str name; /* operator type, or function */
	np_str kind; /* core it ran on, or level of the call */
	int64_t count;
	np_ns total;
	np_ns least;
	np_ns most;
};

/* The most that a component of the memory management held during the capture. */
struct np_memory_peak {
	np_str component;  /* "PTA", "GE", "APP" …, "module/HCCL" … */
	int64_t allocated; /* bytes; NP_UNKNOWN for components that only reserve */
	int64_t reserved;
};

/* What a component held in one step, at most and at least: allocated, else reserved. */
struct np_memory_step {
	np_str component;
	np_str step; /* id */
	int64_t most;
	int64_t least;
};

/* The type of the kernels that compute what experts do; those of variants begin with it. */
#define NP_EXPERT_TYPE "GroupedMatmul"

/* What the experts of a rank computed between two exchanges of tokens. */
struct np_expert_work {
	uint32_t op;   /* the exchange before: index in np_rank.ops, or NP_NO_OP */
	uint32_t step; /* or NP_NO_STEP */
	uint32_t kernels;
	int64_t tokens; /* Σ first dimensions of the kernels' inputs, as the vendor counts */
	np_ns time;     /* Σ */
};

#define NP_NO_OP UINT32_MAX

/* What the samples of one quantity of a device or of the host come to, over the whole capture. */
struct np_counter {
	np_str table; /* "NETDEV_STATS": where it was sampled */
	np_str name;  /* "roceNewPktRty"; "bandwidth read" where rows differ by what they are of */
	int32_t device; /* -1: of the host */
	bool level;     /* the mean of the samples counts, not their sum: a rate, a share */
	int64_t samples;
	double total; /* Σ; of a counter that only rises, how far it rose */
	double most;  /* of one sample */
};

/* A table or column of a database that is not known here: it came with a newer version. */
struct np_unknown {
	np_str table;
	np_str column; /* NP_STR_NONE: the whole table */
};

/*
 * A block of kernels that repeats within a found iteration, or within the block before it: a layer,
 * or a micro batch with layers in it.
 */
struct np_layer {
	np_ns time;         /* from the begin of one to that of the next, the median; NP_UNKNOWN */
	uint32_t members;   /* kernels of one */
	uint32_t repeats;   /* in all */
	uint32_t stretches; /* in which they follow each other */
	uint32_t of;        /* kernels of what it repeats in */
	uint32_t depth;     /* 0 in the iteration, 1 in the last one of depth 0 */
};

/* Asynchronous copies of memory that belong to a step, on the first device. */
struct np_step_copies {
	np_ns time;    /* Σ */
	np_ns exposed; /* nothing computed or communicated meanwhile: in its step */
	np_ns inside;  /* of these, between the first and the last that did */
	np_ns again;   /* of computing: where the window of the step before reached into this one */
};

/* What else a profile holds, as bits: later analyses read it, lists name it. */
enum np_contents {
	NP_HAS_MEMORY = 1 << 0,
	NP_HAS_FREQUENCY = 1 << 1,
	NP_HAS_HOST_CALLS = 1 << 2,
	NP_HAS_FRAMEWORK_CALLS = 1 << 3,
	NP_HAS_COUNTERS = 1 << 4, /* of the AI cores, per task */
	NP_HAS_MARKS = 1 << 5,    /* mstx */
	NP_OF_GPU = 1 << 6,       /* it ran on one: kernels of CUDA, operators of NCCL */
	NP_HAS_LAUNCHES = 1 << 7, /* when tasks were launched, where there are no calls */
};

/* From this bit on: tables of its database that have rows (vendor_compared). */
#define NP_CONTENTS_TABLES 8

/*
 * How much of what another file of the rank says a file holds, of computing or of
 * communication, whichever is less; listed where that is not all of it.
 */
struct np_file_coverage {
	np_str file;    /* "kernel_details.csv" */
	np_str against; /* "step_trace_time.csv" */
	double share;   /* above 1 where it holds more than it can; not a number: unknown */
	bool withholds; /* nothing is said against the rank: its intervals may be wrong */
};

/* Below this share a file is partial: whole ones agree to 99.99 %. */
#define NP_COVERAGE_WHOLE 0.98

/* What a file says was done in a step, on all devices. */
struct np_seen_step {
	np_str id;
	np_ns computing;
	np_ns communication;
	np_ns past; /* how far its window reached into that of the next step, which has what is
		       there */
};

/* Sums of one file, by which the files of a rank are compared while it is loaded. */
struct np_seen {
	NP_VEC(struct np_seen_step) steps; /* by what ran, not by what was derived from it */
	struct np_numbers places;          /* by their ids */
	bool unplaced;                     /* nothing says which step tasks belong to */
	np_ns kernels;                     /* Σ of the whole file; NP_UNKNOWN: not known */
	np_ns ops;                         /* likewise */
	np_ns may_be_kernels;  /* Σ of tasks of which it is not certain that they compute */
	np_ns serving;         /* Σ of kernels of operators, which some count as computing */
	int64_t kernel_count;  /* NP_UNKNOWN: not known */
	double linked;         /* of the rows that the file names elsewhere: how many are there */
	const char *linked_by; /* what names them; a constant */
	size_t launches;       /* calls that launch a kernel or an operator; 0: none is known */
	double launched;       /* so many of them have one */
	bool broken;           /* it ends inside a row or an event */
};

struct np_seen *np_seen_new(void) NP_MUST_USE;
void np_seen_free(struct np_seen *seen);

/* The step of this id, or NULL. */
const struct np_seen_step *np_seen_find(const struct np_seen *seen, np_str step);

/* Add to what was done in a step. */
int np_seen_add(struct np_seen *seen, np_str step, np_ns computing, np_ns communication,
		struct np_err *err) NP_MUST_USE;

struct np_rank {
	int32_t id;
	char *path;     /* the rank's directory, as found */
	int32_t device; /* first device; -1 when not known */
	size_t device_count;
	np_str host_uid;
	np_str host_name;
	np_str level; /* "Level1"; NONE when not known */
	np_str schema_version;
	np_str cann_version;
	np_str framework_version;
	struct np_parallel parallel;
	unsigned contents; /* bits of enum np_contents */
	enum np_steps_from steps_from;
	uint32_t steps_confidence; /* of found ones, in thousandths */
	enum np_source step_source;
	enum np_source comm_source;
	enum np_source exposed_source; /* of what computing hides of communication */
	bool sizes_known;      /* false at Level0: bytes of links and bandwidth were not recorded */
	int64_t collections;   /* of garbage that were recorded: long ones, if asked for */
	np_ns collection_time; /* Σ */

	/* Arrays live in the arena, but for the vectors. */
	struct np_arena *arena;
	NP_VEC(struct np_step) steps;
	NP_VEC(struct np_step_time) times; /* by device, then step */
	/* Where iterations were found: of the one step that the vendor's tables have, by device. */
	NP_VEC(struct np_step_time) whole;
	NP_VEC(struct np_group) groups;
	NP_VEC(struct np_comm_op) ops; /* by start, then end, group and name */
	/* Beside the operators; shorter, or empty, where the source has none of the rest. */
	NP_VEC(struct np_vendor_times) vendor_times;
	NP_VEC(np_ns) long_times;     /* that np_length has no room for */
	NP_VEC(struct np_band) bands; /* by operator, transport, packet size descending */
	NP_VEC(struct np_link) links;
	struct np_packed_rows *packed_rows;         /* both: np_rank_bands(), np_rank_links() */
	NP_VEC(struct np_transfer) transfers;       /* by step, group, link, plane … */
	NP_VEC(struct np_comm_step) comm_steps;     /* by group, step, device */
	NP_VEC(struct np_statistic) kernels;        /* by total, the longest first */
	NP_VEC(struct np_statistic) calls;          /* likewise */
	NP_VEC(struct np_memory_peak) memory;       /* by name of the component */
	NP_VEC(struct np_memory_step) memory_steps; /* in the order of time */
	NP_VEC(struct np_expert_work) experts;      /* by time */
	NP_VEC(struct np_counter) counters;         /* by table, quantity and device */
	NP_VEC(struct np_unknown) unknowns;         /* by table and place in it */
	NP_VEC(struct np_step_copies) copies;       /* by step; empty where nobody asked for them */
	NP_VEC(struct np_layer) layers;             /* of found iterations, in their order */
	struct np_activity activity;                /* empty without intervals */
	/* NULL unless asked for, and known; while a rank is loaded, then packed */
	struct np_kernel_sums *kernel_sums;
	struct np_packed_sums *packed_sums;
	NP_VEC(struct np_file_coverage)
	coverage; /* of its files that are not whole; the worst first */
	/* While it is loaded: of the file that it is read from, and of the table of kernels beside.
	 */
	struct np_seen *seen;
	struct np_seen *table_seen;
	np_ns serving; /* while it is loaded: Σ of kernels of operators in the files read so far */
	struct np_rank_places *places; /* of groups and steps, where there are many */
	struct np_notes notes;
};

struct np_rank *np_rank_new(int32_t id, const char *path) NP_MUST_USE;
void np_rank_free(struct np_rank *rank);
void np_rank_freep(struct np_rank **rank);

/*
 * Let the members of its communicators be lists of `strings`, which other ranks have too, and let
 * its own go.
 */
int np_rank_share_members(struct np_rank *rank, struct np_strtab *strings, struct np_err *err)
	NP_MUST_USE;

/* "GPU" or "NPU": what it ran on. */
static inline const char *np_rank_device_kind(const struct np_rank *rank)
{
	return rank->contents & NP_OF_GPU ? "GPU" : "NPU";
}

/* "kernel_details.csv covers 25 % of step_trace_time.csv" */
void np_file_coverage_put(struct np_buf *buf, const struct np_strtab *strings,
			  const struct np_file_coverage *coverage);

/* "25 %", "under 1 %": rounded down, for what is partial must not look whole. */
void np_file_coverage_put_share(struct np_buf *buf, double share);

/* "covers 25 % of step_trace_time.csv", or that it is cut where the share is not known */
void np_file_coverage_put_claim(struct np_buf *buf, const char *against, double share);

/* What to do about it. */
#define NP_FILE_COVERAGE_CURE "export the profile again, or copy it whole"

/* The coverage for which nothing is said against the rank; NULL if its files are whole. */
const struct np_file_coverage *np_rank_withheld(const struct np_rank *rank);

/* A length that np_rank_shorten() has shortened; NP_UNKNOWN for NP_LENGTH_UNKNOWN. */
static inline np_ns np_rank_length(const struct np_rank *rank, np_length length)
{
	if (length < NP_LENGTH_LONG)
		return length;
	return length == NP_LENGTH_UNKNOWN ? NP_UNKNOWN
					   : rank->long_times.item[length - NP_LENGTH_LONG];
}

int np_rank_shorten(struct np_rank *rank, np_ns length, np_length *ret, struct np_err *err)
	NP_MUST_USE;

/* Set what the vendor says of an operator. */
int np_rank_set_vendor_times(struct np_rank *rank, size_t op, np_ns transit, np_ns wait, np_ns sync,
			     struct np_err *err) NP_MUST_USE;

/* What the vendor says of an operator; unknown where nothing was set. */
static inline struct np_vendor_times np_rank_vendor_times(const struct np_rank *rank, size_t op)
{
	if (op < rank->vendor_times.count)
		return rank->vendor_times.item[op];
	return (struct np_vendor_times){ NP_LENGTH_UNKNOWN, NP_LENGTH_UNKNOWN, NP_LENGTH_UNKNOWN };
}

/*
 * Links and packets of a large run are kept packed, in a fifth of the room: they are read through
 * here, on any thread. A rank whose links tell what nothing else does keeps them as they are.
 */
int np_rank_pack_rows(struct np_rank *rank, struct np_err *err) NP_MUST_USE;

/*
 * Where no table is shown: such a rank only knows how many packets there were, with `more` that it
 * never had, and what the vendor says of its operators is gone too.
 */
int np_rank_count_rows(struct np_rank *rank, size_t more, struct np_err *err) NP_MUST_USE;

/* Does nothing but tables read links and packets? Without transfers they are what is measured. */
bool np_rank_only_shows_rows(const struct np_rank *rank);

int np_rank_unpack_rows(struct np_rank *rank, struct np_err *err) NP_MUST_USE;
size_t np_rank_band_count(const struct np_rank *rank);

struct np_rank_bands {
	const struct np_band *item;
	size_t count;
	void *own; /* to be released */
};

struct np_rank_links {
	const struct np_link *item;
	size_t count;
	void *own; /* to be released */
};

/* Both can be released after a failure as well. */
int np_rank_bands(const struct np_rank *rank, struct np_rank_bands *ret, struct np_err *err)
	NP_MUST_USE;
void np_rank_bands_release(struct np_rank_bands *bands);

/* Those of a communicator; where they are not packed, of all of them. */
int np_rank_links(const struct np_rank *rank, uint32_t group, struct np_rank_links *ret,
		  struct np_err *err) NP_MUST_USE;
void np_rank_links_release(struct np_rank_links *links);
/* A name of so many digits is a hash already, as files for people have it; fewer count groups. */
#define NP_GROUP_HASH_DIGITS 10

/* Is the name of a communicator a number? */
bool np_group_number(const char *name, size_t length, uint64_t *ret);

/* The vendor's hash of a communicator string: names it in analysis files, and its last three digits
 * in operator names. */
uint64_t np_group_hash(const char *name, size_t length);

/* A rank is in no more communicators than this: a file with more is no profile of a job. */
#define NP_RANK_GROUPS 10000

/* np_comm_op_meet() for an operator of the rank. */
static inline void np_rank_meet(struct np_rank *rank, uint32_t op, int32_t src, int32_t dst)
{
	struct np_comm_op *each = &rank->ops.item[op];

	np_comm_op_meet(each, rank->groups.item[each->group].group_rank, src, dst);
}

/* The index of the communicator with this hash, added if it is new. */
int np_rank_group(struct np_rank *rank, uint64_t hash, uint32_t *ret, struct np_err *err)
	NP_MUST_USE;

/* The index of the step with this id, added without times if it is new. */
int np_rank_step(struct np_rank *rank, np_str id, uint32_t *ret, struct np_err *err) NP_MUST_USE;

/* Who writes another hash into a communicator says so. */
void np_rank_forget_places(struct np_rank *rank);

/*
 * The communicator of an operator of which only the name is known: the number
 * in it, the last three digits of the hash, picks one of those the rank knows;
 * where it picks none or several, the number itself stands for the hash.
 */
int np_rank_group_of_op(struct np_rank *rank, const char *op_name, uint32_t *ret,
			struct np_err *err) NP_MUST_USE;

/* Is an operator of this name point to point? (hcom_send, hcom_receive, hcom_batchSendRecv) */
bool np_op_is_p2p(const char *name);

/* "LOCAL" … names of transports as the vendor writes them. */
const char *np_band_name(enum np_band_type type);
const char *np_link_pick_name(enum np_link_pick pick);

#endif /* NP_RANK_H */
