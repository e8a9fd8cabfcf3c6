/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"

/*
 * Who launched what
 * -----------------
 *
 * Of a rank that is measured while it is read only the younger launches are
 * known: two generations of them, of which the older one is let go when the
 * younger is full. A call that comes after its connection was asked for, or a
 * question for one that was let go, tells that the file has another order than
 * that takes.
 */
#define GENERATION 16384

int capture_launches_begin(struct capture *capture)
{
	capture->highest = INT64_MIN;
	capture->launches[0].index = np_idmap_new();
	if (!capture->launches[0].index)
		return NP_E_NOMEM;
	if (!capture->in_parts)
		return NP_OK;
	capture->launches[1].index = np_idmap_new();
	capture->asked = np_idset_new();
	capture->let_go = np_idset_new();
	return capture->launches[1].index && capture->asked && capture->let_go ? NP_OK : NP_E_NOMEM;
}

void capture_launches_end(struct capture *capture)
{
	for (size_t i = 0; i < NP_COUNT(capture->launches); i++) {
		np_idmap_free(capture->launches[i].index);
		np_vec_release(&capture->launches[i].list);
	}
	np_idset_free(capture->asked);
	np_idset_free(capture->let_go);
}

static struct capture_launch *find(const struct capture *capture, int64_t connection)
{
	for (size_t i = 0; i < NP_COUNT(capture->launches) && capture->launches[i].index; i++) {
		uint32_t at = np_idmap_get(capture->launches[i].index, connection);

		if (at != NP_IDMAP_NONE)
			return &capture->launches[i].list.item[at];
	}
	return NULL;
}

/* The younger generation is full: it becomes the older one. */
static int let_go(struct capture *capture)
{
	struct capture_launches older = capture->launches[1];
	int rc = NP_OK;

	for (size_t i = 0; i < older.list.count && rc == NP_OK; i++)
		rc = np_idset_add(capture->let_go, older.list.item[i].connection, capture->err);
	np_idmap_clear(older.index);
	older.list.count = 0;
	capture->launches[1] = capture->launches[0];
	capture->launches[0] = older;
	return rc;
}

/* The launch of a connection, added if it is new; NULL when out of memory. */
static struct capture_launch *place(struct capture *capture, int64_t connection)
{
	struct capture_launches *young = &capture->launches[0];
	struct capture_launch *launch;

	if (capture->in_parts && np_idset_has(capture->asked, connection))
		capture->unordered = true;
	/* Mostly they come in order. */
	if (connection <= capture->highest) {
		launch = find(capture, connection);
		if (launch)
			return launch;
		if (capture->in_parts && np_idset_has(capture->let_go, connection))
			capture->unordered = true;
	}
	if (connection > capture->highest)
		capture->highest = connection;
	if (capture->in_parts && young->list.count >= GENERATION && let_go(capture) < 0)
		return NULL;
	launch = np_vec_add(&young->list, capture->err);
	if (!launch || np_idmap_set(young->index, connection, (uint32_t)(young->list.count - 1),
				    capture->err) < 0)
		return NULL;
	*launch = (struct capture_launch){ .connection = connection,
					   .end = NP_UNKNOWN,
					   .step = NP_NO_STEP };
	return launch;
}

int capture_launch(struct capture *capture, int64_t connection, np_ns start, np_ns end)
{
	uint32_t step = capture_host_step(capture, start, end);
	struct capture_launch *launch;

	if (connection == NP_UNKNOWN)
		return NP_OK;
	launch = place(capture, connection);
	if (!launch)
		return NP_E_NOMEM;
	/* Of several calls of one connection those of a step count. */
	if (launch->node && step == NP_NO_STEP)
		return NP_OK;
	launch->node = true;
	launch->end = vendor_time_ok(start, end) ? end : NP_UNKNOWN;
	launch->step = step;
	return NP_OK;
}

int capture_call(struct capture *capture, int64_t connection, np_ns start, np_ns end)
{
	struct capture_launch *launch;

	if (connection == NP_UNKNOWN || !vendor_time_ok(start, end))
		return NP_OK;
	launch = place(capture, connection);
	if (!launch)
		return NP_E_NOMEM;
	if (!launch->node && (launch->end == NP_UNKNOWN || end < launch->end))
		launch->end = end;
	return NP_OK;
}

int capture_reach_op(struct capture *capture)
{
	int64_t connection = capture->op_connections.item[capture->op_launched.count];
	np_ns *launched = np_vec_add(&capture->op_launched, capture->err);

	if (!launched)
		return NP_E_NOMEM;
	*launched = capture_launched(capture_calls_of(capture, connection));
	return capture_ask(capture, connection);
}

int capture_ask(struct capture *capture, int64_t connection)
{
	if (!capture->in_parts || connection == NP_UNKNOWN)
		return NP_OK;
	return np_idset_add(capture->asked, connection, capture->err);
}

const struct capture_launch *capture_calls_of(struct capture *capture, int64_t connection)
{
	const struct capture_launch *launch = find(capture, connection);

	if (!launch && capture->in_parts && np_idset_has(capture->let_go, connection))
		capture->unordered = true;
	return launch;
}

const struct capture_launch *capture_launch_of(struct capture *capture, int64_t connection)
{
	const struct capture_launch *launch = capture_calls_of(capture, connection);

	return launch && launch->node ? launch : NULL;
}
