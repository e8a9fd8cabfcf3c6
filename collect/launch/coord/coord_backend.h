/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COORD_BACKEND_H
#define NP_COORD_BACKEND_H

#include "coord.h"

/* What a back-end of coord.h provides; it puts `struct np_coord` first in its own struct. */
struct np_coord_ops {
	void (*close)(struct np_coord *coord);
	int (*bcast)(struct np_coord *coord, struct np_buf *text, struct np_err *err);
	int (*gather)(struct np_coord *coord, const void *bytes, size_t length,
		      struct np_buf *ret_all, struct np_err *err);
	int64_t (*max)(struct np_coord *coord, int64_t value);
	void (*send)(struct np_coord *coord, int to, const struct np_event *event);
	bool (*poll)(struct np_coord *coord, struct np_event *ret);
	void (*send_stamp)(struct np_coord *coord, int to, const struct np_stamp *stamp);
	bool (*take_stamp)(struct np_coord *coord, int from, struct np_stamp *ret);
	void (*leave)(struct np_coord *coord);
	bool (*all_left)(struct np_coord *coord);
	bool (*lost)(const struct np_coord *coord, int rank);
};

struct np_coord {
	const struct np_coord_ops *ops;
	int rank;
	int size;
};

#endif /* NP_COORD_BACKEND_H */
