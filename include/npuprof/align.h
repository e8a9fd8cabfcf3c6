/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ALIGN_H
#define NP_ALIGN_H

#include "npuprof/rank.h"
#include "npuprof/run.h"

/*
 * Which operators belong together
 * ===============================
 *
 * An instance is one collective, or one message, with the operators of all
 * profiled ranks that took part in it. Operators are matched by communicator
 * and by their place in the order of its operators, never by the number in
 * their name: captures begin and end at different operators, and records get
 * lost. Where the orders of two ranks differ they are aligned by type, size,
 * step and the times of their ends.
 *
 * Every operator is a member of exactly one instance; one without partners is
 * an instance of one. Members are stored one instance after the other, so a
 * "slot", an index into `members`, names an operator of the run in 32 bits.
 *
 * Built from a loaded run, which must outlive it; read only from then on.
 */

/* Who waits for whom. */
enum np_rule {
	NP_RULE_ALL,       /* nobody is done before the last has come */
	NP_RULE_FROM_ROOT, /* broadcast, scatter: the others wait for the root */
	NP_RULE_TO_ROOT,   /* reduce, gather: the root waits for the others */
	NP_RULE_PAIR,      /* send and receive, or a batch of them, between two ranks */
	NP_RULE_PAIRWISE,  /* alltoallv, batches with several ranks: each pair on its own */
};

enum {
	NP_INSTANCE_MISMATCH = 1, /* the members disagree about type or size */
	NP_INSTANCE_NO_STEP = 2,  /* the first member lies in no step */
	NP_INSTANCE_OPEN = 4,     /* nothing tells how many members there were */
};

#define NP_NO_ROOT UINT32_MAX

struct np_member {
	uint32_t rank; /* index in the run */
	uint32_t op;   /* index in np_rank.ops */
};

struct np_instance {
	int64_t bytes;         /* of the first member; NP_UNKNOWN when it is not known */
	uint32_t first;        /* slot of the first member; members are by rank */
	uint32_t count;        /* profiled members found */
	uint32_t expected;     /* members there were */
	uint32_t communicator; /* index in np_align.communicators */
	np_str type;           /* of the first member; "hcom_send_" for a message */
	np_str step;           /* id, of the first member */
	uint32_t root;         /* slot of the root where it is known, else NP_NO_ROOT */
	uint8_t rule;          /* enum np_rule */
	uint8_t flags;
};

/* How much of one rank's operators of one communicator was matched. */
struct np_coverage {
	uint32_t communicator;
	uint32_t rank; /* index in the run */
	uint32_t total;
	uint32_t matched; /* with another rank's, or needing no other */
	uint32_t missing; /* instances of others in which this rank has none */
	uint32_t extra;   /* operators that only this one of three or more ranks has */
	uint32_t edge;    /* instances before its first or behind its last: a shorter capture */
};

struct np_align_communicator {
	uint64_t hash;
	const int32_t *members; /* global ranks, ascending; NULL when not known */
	size_t member_count;
	uint32_t size;       /* members, else what links and observation tell */
	uint32_t ops;        /* of all ranks */
	bool sizes;          /* every rank knows the sizes of operators */
	bool size_known;     /* from a list of members or from links */
	uint32_t first;      /* instance */
	uint32_t count;      /* instances; in the order of the operators, messages by pair */
	uint32_t coverage;   /* first row of np_align.coverage */
	uint32_t observed;   /* rows: ranks with operators of it */
	uint32_t first_slot; /* its operators are the slots from here on */
};

/* Ranks disagree about what they did together: a fault of the job, not of the profile. */
struct np_align_finding {
	uint32_t communicator;
	uint32_t instance; /* the first one */
	uint32_t count;    /* instances of this communicator and type */
	np_str type;
};

/*
 * To whom messages went that do not say so themselves, where it was found out
 * otherwise. Of ranks without such messages there is nothing.
 */
struct np_peers {
	const struct np_run *run;
	uint16_t **of_rank; /* by index in the run, then operator; as np_comm_op.peer, or NULL */
};

struct np_peers *np_peers_new(const struct np_run *run) NP_MUST_USE;
void np_peers_free(struct np_peers *peers);
void np_peers_freep(struct np_peers **peers);

/* The other end of a message: its rank in the communicator + 1. */
int np_peers_set(struct np_peers *peers, size_t rank, size_t op, uint16_t peer, struct np_err *err)
	NP_MUST_USE;

struct np_align {
	const struct np_run *run;
	struct np_peers *peers;                             /* of np_align_set_peers(), or NULL */
	NP_VEC(struct np_align_communicator) communicators; /* by the first rank that knows them */
	NP_VEC(struct np_instance) instances;               /* by communicator */
	NP_VEC(struct np_coverage) coverage;                /* by communicator, then rank */
	NP_VEC(struct np_align_finding) findings;
	struct np_member *members; /* by slot */
	uint32_t *slots;           /* by rank, then operator; see np_align_slot() */
	uint32_t *near;            /* of every 16th slot the instance; see np_align_instance() */
	uint32_t *rank_first;      /* of a rank in `slots`; one more than there are ranks */
	uint32_t op_count;
	uint32_t matched; /* operators that found a partner or need none */
};

/* Match the operators of a loaded run on so many threads (0: one per processor). */
int np_align_build(const struct np_run *run, size_t threads, struct np_align **ret,
		   struct np_err *err) NP_MUST_USE;

/*
 * Match the messages again whose other ends were found since: those of their
 * communicators alone, all others keep their instances. Messages bound the clocks of a
 * run: build them again. Takes the peers over, also when it fails; once at most for one
 * alignment.
 */
int np_align_set_peers(struct np_align *align, struct np_peers *peers, size_t threads,
		       struct np_err *err) NP_MUST_USE;

void np_align_free(struct np_align *align);
void np_align_freep(struct np_align **align);

#define NP_ALIGN_NEAR 16

/* The slot of an operator. */
static inline uint32_t np_align_slot(const struct np_align *align, size_t rank, size_t op)
{
	return align->slots[align->rank_first[rank] + op];
}

/* The operator in a slot. */
static inline const struct np_comm_op *np_align_op(const struct np_align *align, uint32_t slot)
{
	const struct np_member *member = &align->members[slot];

	return &align->run->ranks[member->rank]->ops.item[member->op];
}

/* The other end of a message, recorded or found; as np_comm_op.peer. */
static inline uint16_t np_align_peer(const struct np_align *align, size_t rank, size_t op)
{
	const uint16_t *found = align->peers ? align->peers->of_rank[rank] : NULL;

	return found && found[op] != 0 ? found[op] : align->run->ranks[rank]->ops.item[op].peer;
}

/* The instance that a slot belongs to. */
static inline const struct np_instance *np_align_instance(const struct np_align *align,
							  uint32_t slot)
{
	const struct np_instance *instance =
		&align->instances.item[align->near[slot / NP_ALIGN_NEAR]];

	while (slot - instance->first >= instance->count)
		instance++;
	return instance;
}

/* Does every member that there was have its operator here? */
static inline bool np_instance_complete(const struct np_instance *instance)
{
	return instance->count >= instance->expected && !(instance->flags & NP_INSTANCE_OPEN);
}

/*
 * What the sub-tasks of an operator of all say of its transfer: the longest of its members, for
 * data moves for all of them at once. NP_UNKNOWN where nobody has sub-tasks that move data.
 */
np_ns np_align_transfer(const struct np_align *align, const struct np_instance *instance);

/*
 * Ranks of its communicator were not profiled, and no sub-tasks tell how long the others waited
 * for them: beyond the last start that is known it transferred, or waited.
 */
bool np_align_hides_waits(const struct np_align *align, const struct np_instance *instance);

/* The rule for an operator's type or name ("hcom_allReduce_"). */
enum np_rule np_rule_of(const char *type);

#endif /* NP_ALIGN_H */
