/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LINKS_FAULTS_H
#define NP_LINKS_FAULTS_H

/* When a link is slow, and where the fault lies: what links.c asks of the other two. */

#include "npuprof/links.h"

/* A link is slow beyond this factor and this many deviations of comparable links. */
#define LINK_SLOW       1.25
#define LINK_DEVIATIONS 5.0
/* Short transfers scatter more and cost less. */
#define LINK_SLOW_SHORT 1.5
/* With operators that had to be sent again there is other evidence already. */
#define LINK_SLOW_TROUBLED 1.1

/* What the polish divides: the logarithm of how much longer a link takes than comparable ones. */
struct link_excess {
	bool known;
	bool bulk;
	bool way_back; /* compared with links between the same two ranks only */
	double value;
};

/* links_polish.c: verdicts. `excess` is by link. */
int link_polish(struct np_links *links, const struct link_excess *excess, struct np_err *err)
	NP_MUST_USE;

/* links_groups.c: links that only the times of whole operators give away. */
int link_groups_test(const struct np_cluster *cluster, const struct np_align *align,
		     const struct np_waits *waits, struct np_links *links, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_LINKS_FAULTS_H */
