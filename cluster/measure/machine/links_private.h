/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LINKS_PRIVATE_H
#define NP_LINKS_PRIVATE_H

#include "npuprof/align.h"
#include "npuprof/links.h"

#include <math.h>

/* Transfers below this tell about latency; a link is judged by larger ones if it has any. */
#define LINK_BULK_BYTES 65536

/* A link is slow beyond this factor and this many deviations of its like. */
#define LINK_SLOW       1.25
#define LINK_DEVIATIONS 5.0
/* Short transfers scatter more and cost less. */
#define LINK_SLOW_SHORT 1.5
/* With operators that had to be sent again there is other evidence already. */
#define LINK_SLOW_TROUBLED 1.1

/* What of a transfer must be alike for its time to be compared. */
struct link_cohort {
	np_str transport;
	np_str op_class; /* where only sums by class are known, else NONE */
	uint8_t concurrency;
	bool p2p;
	bool reduces;
};

/* One row of np_rank.transfers, with its ends as global ranks. */
struct link_cell {
	int64_t src;
	int64_t dst;
	int64_t plane;
	const char *transport_text;
	struct link_cohort cohort;
	uint16_t size_class;
	uint32_t row;  /* in the list of links */
	int64_t bytes; /* of the median transfer */
	np_ns time;
	int64_t all_bytes;
	np_ns all_time;
	int64_t troubled;
	double ratio;    /* time by the fitted line of the cohort */
	double expected; /* time that its like take for these bytes; NaN without any */
	bool way_back;   /* its like are links between the same two ranks only */
};

struct link_cells {
	NP_VEC(struct link_cell) list;
};

/* What the polish divides: the logarithm of how much longer a link takes than its like. */
struct link_excess {
	bool known;
	bool bulk;
	bool way_back; /* compared with links between the same two ranks only */
	double value;
};

/* links_cells.c: what each cell should take, from its like. */
int link_cells_expect(struct link_cells *cells, struct np_err *err) NP_MUST_USE;

/* links_polish.c: verdicts. `excess` is by link. */
int link_polish(struct np_links *links, const struct link_excess *excess, struct np_err *err)
	NP_MUST_USE;

/* links_groups.c: links that only the times of whole operators give away. */
int link_groups_test(const struct np_cluster *cluster, const struct np_align *align,
		     const struct np_waits *waits, struct np_links *links, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_LINKS_PRIVATE_H */
