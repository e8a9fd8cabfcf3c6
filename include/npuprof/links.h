/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LINKS_H
#define NP_LINKS_H

#include "npuprof/cluster.h"
#include "npuprof/waits.h"

/*
 * Which links are slow
 * ====================
 *
 * From the payload of sub-tasks: how fast every link is, and whether it is as
 * fast as comparable ones. Comparable are transfers of the same transport, of the same kind
 * (message or collective, copy or reduction), with as many others beside them, all
 * in all and over the same link.
 * Their time follows start + bytes / bandwidth, fitted over all links by medians;
 * what a link takes beyond it, as a logarithm, is divided into what its source,
 * its destination and its plane have in common with their other links, and what
 * is its own (median polish). So one cable differs from a bad sender, a bad
 * receiver and a bad plane. A rank with links to one other rank only cannot be
 * distinguished from the link, and the link is named, unless the rank is bad over another
 * transport too.
 *
 * Without sub-tasks (Level0) only whole operators can be compared: those of
 * communicators with the same size, span over hosts, operator and bytes. A link
 * is named if it is the only pair of ranks that slow communicators have and sound
 * ones do not.
 *
 * Source is who carries the transfer out: within a host it may fetch the data.
 */
enum np_link_verdict {
	NP_LINK_UNKNOWN, /* nothing to compare with, or the way back only, which takes as long */
	NP_LINK_OK,
	NP_LINK_SLOW,
};

enum np_link_fault {
	NP_FAULT_NONE,
	NP_FAULT_LINK,
	NP_FAULT_SENDER,
	NP_FAULT_RECEIVER,
	NP_FAULT_PLANE,
};

/* "unknown", "ok", "slow"; NULL, "link", "sender" … */
const char *np_link_verdict_name(enum np_link_verdict verdict);
const char *np_link_fault_name(enum np_link_fault fault);

struct np_link_speed {
	/* Global ranks; −1 − local where nothing is known (np_communicator_rank()), NP_UNKNOWN for
	 * none. */
	int64_t src;
	int64_t dst;
	np_str transport; /* NONE where only whole operators are known */
	int64_t plane;    /* NP_UNKNOWN when not known */
	int64_t bytes;    /* NP_UNKNOWN where only whole operators are known */
	np_ns time;
	np_ns expected;   /* that comparable links take for the same; NP_UNKNOWN without any */
	int64_t troubled; /* transfers of operators that were retried or relayed */
	enum np_link_verdict verdict;
	enum np_link_fault fault; /* of a slow one */
};

struct np_links {
	NP_VEC(struct np_link_speed) list; /* by source, destination, transport, plane */
	size_t slow;
};

int np_links_measure(const struct np_cluster *cluster, const struct np_align *align,
		     const struct np_waits *waits, struct np_links *ret, struct np_err *err)
	NP_MUST_USE;
void np_links_release(struct np_links *links);

/* Bytes by time, and what that of comparable links is; NaN when not known. */
double np_link_gb_per_s(const struct np_link_speed *link);
double np_link_peers_gb_per_s(const struct np_link_speed *link);

/* The slow link that lost the most time against comparable links, or NULL. */
const struct np_link_speed *np_links_worst(const struct np_links *links);

#endif /* NP_LINKS_H */
