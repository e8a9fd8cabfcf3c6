/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_STREAM_WALK_H
#define SYN_STREAM_WALK_H

/* A rank while it is shown to sinks: what stream.c (its steps) and stream_items.c (what is in one)
 * share. */

#include "stream.h"

struct walk {
	const struct syn_timeline *timeline;
	struct syn_timeline_view view;
	const struct syn_config *config;
	struct syn_sink *const *sinks;
	size_t sink_count;
	struct syn_rank rank;
	struct syn_comm comm;
	struct syn_sub_tasks sub_tasks;
	struct syn_clock clock;
	np_ns cut_ns; /* true time after which nothing was recorded */
	int64_t connection;
	int64_t task_id;
	int64_t op_id;
	int64_t *ordinals; /* per group */
	int64_t ordinal_shift;
	int64_t drops_left; /* operators still to be dropped */
	int64_t ops_left;   /* operators still to come */
	int64_t ops_seen;
	np_ns tail_ns[SYN_STREAMS];
	bool step_has_tasks;
	np_ns first_torch_ns;
	np_ns last_host_ns;
	struct syn_memory memory;
	struct np_err *err;
};

/* What a call of a sink's function comes down to, for all sinks that have it. */
#define TELL(walk, function, event) \
	__extension__({ \
		int told_ = NP_OK; \
		for (size_t i_ = 0; i_ < (walk)->sink_count && told_ == NP_OK; i_++) { \
			struct syn_sink *sink_ = (walk)->sinks[i_]; \
			if (sink_->function) \
				told_ = sink_->function(sink_, (event), (walk)->err); \
		} \
		told_; \
	})

static inline np_ns local_time_of(const struct walk *walk, np_ns true_ns)
{
	return syn_clock_read(&walk->clock, true_ns);
}

static inline bool is_cut(const struct walk *walk, np_ns end_ns)
{
	return end_ns > walk->cut_ns;
}

static inline int64_t step_id(const struct walk *walk)
{
	return walk->config->first_step + walk->rank.program.step;
}

#endif /* SYN_STREAM_WALK_H */
