/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_BREAKDOWN_H
#define NP_BREAKDOWN_H

#include "npuprof/iteration.h"
#include "npuprof/partition.h"

/*
 * Where the step goes, on average
 * ===============================
 *
 * The mean over all devices of all ranks and all steps that have a length on the basis
 * of the run (iteration.h): never a sum over devices. The parts are those of the
 * partition (partition.h), put together; of a rank without one those of its step times,
 * with waiting and transfer in one and idle time of unknown cause.
 */
enum np_where {
	NP_WHERE_COMPUTING,
	NP_WHERE_WAIT,          /* exposed waiting for other ranks */
	NP_WHERE_TRANSFER,      /* exposed transfer */
	NP_WHERE_COMMUNICATION, /* exposed, not known which of the two */
	NP_WHERE_COPY,
	NP_WHERE_IDLE, /* within steps and between them */
	NP_WHERE_KINDS,
};

/* A mean, and its share of the mean step. */
struct np_where_part {
	np_ns mean;
	double share;
};

struct np_breakdown {
	enum np_basis basis;
	size_t cells; /* of a device in a step, that the means are of; 0: nothing is known */
	size_t steps; /* different ones among them */
	size_t devices;
	np_ns mean; /* of the step */
	struct np_where_part parts[NP_WHERE_KINDS];
	/* Idle time by cause, within steps and between them; they sum to the part. */
	struct np_where_part idle[NP_BETWEEN_KINDS];
	struct np_where_part between; /* of the idle time, what lies between steps */
};

int np_breakdown_measure(const struct np_cluster *cluster, const struct np_partition *partition,
			 struct np_breakdown *ret, struct np_err *err) NP_MUST_USE;

/* "computing", "wait", "transfer" …: of machine formats. */
const char *np_where_name(enum np_where where);

/* "dataloader", "host", "other", "unknown": likewise. */
const char *np_idle_name(enum np_between cause);

#endif /* NP_BREAKDOWN_H */
