/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of coord.h, each passed on to the back-end of this job. */
#include "coord.h"

#include <unistd.h>

#include "coord_backend.h"

enum {
	NAP_US = 10000,
};

void np_coord_close(struct np_coord *coord)
{
	if (coord)
		coord->ops->close(coord);
}

int np_coord_rank(const struct np_coord *coord)
{
	return coord->rank;
}

int np_coord_size(const struct np_coord *coord)
{
	return coord->size;
}

bool np_coord_lost(const struct np_coord *coord, int rank)
{
	return coord->ops->lost(coord, rank);
}

int np_coord_bcast(struct np_coord *coord, struct np_buf *text, struct np_err *err)
{
	return coord->ops->bcast(coord, text, err);
}

int np_coord_gather(struct np_coord *coord, const void *bytes, size_t length,
		    struct np_buf *ret_all, struct np_err *err)
{
	return coord->ops->gather(coord, bytes, length, ret_all, err);
}

int64_t np_coord_max(struct np_coord *coord, int64_t value)
{
	return coord->ops->max(coord, value);
}

void np_coord_send(struct np_coord *coord, int to, const struct np_event *event)
{
	coord->ops->send(coord, to, event);
}

bool np_coord_poll(struct np_coord *coord, struct np_event *ret)
{
	return coord->ops->poll(coord, ret);
}

void np_coord_send_stamp(struct np_coord *coord, int to, const struct np_stamp *stamp)
{
	coord->ops->send_stamp(coord, to, stamp);
}

bool np_coord_take_stamp(struct np_coord *coord, int from, struct np_stamp *ret)
{
	return coord->ops->take_stamp(coord, from, ret);
}

void np_coord_leave(struct np_coord *coord)
{
	coord->ops->leave(coord);
}

bool np_coord_all_left(struct np_coord *coord)
{
	return coord->ops->all_left(coord);
}

void np_coord_wait(struct np_coord *coord)
{
	np_coord_leave(coord);
	while (!np_coord_all_left(coord))
		(void)usleep(NAP_US);
}
