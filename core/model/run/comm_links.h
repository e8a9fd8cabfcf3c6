/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMM_LINKS_H
#define NP_COMM_LINKS_H

#include "npuprof/rank.h"

/*
 * Links of single operators, gathered while their tasks are walked, and the
 * picking of the best, middle and worst operator of each link that the vendor's
 * communication matrix shows.
 */
struct np_op_links;

struct np_op_links *np_op_links_new(void) NP_MUST_USE;
void np_op_links_free(struct np_op_links *links);

/*
 * Add a transfer of an operator. A task without a source is none of a link; one
 * without a destination stays on its source. `transport` is a constant.
 */
int np_op_links_add(struct np_op_links *links, uint32_t op, int32_t src, int32_t dst,
		    const char *transport, int64_t bytes, np_ns time, struct np_err *err)
	NP_MUST_USE;

/* Sum by operator class, communicator, step and link; append the picks to rank->links. */
int np_op_links_pick(struct np_op_links *links, struct np_rank *rank, struct np_strtab *strings,
		     struct np_err *err) NP_MUST_USE;

/* "LOCAL", "HCCS" … for the vendor's number of a link's type. */
const char *np_link_label(uint16_t link);

#endif /* NP_COMM_LINKS_H */
