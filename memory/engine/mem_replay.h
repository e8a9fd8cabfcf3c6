/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEM_REPLAY_H
#define NP_MEM_REPLAY_H

#include "history.h"

#include "npuprof/buf.h"

/* The recorded requests, given to an allocator that decides by itself under some settings. */
struct mem_replay {
	struct mem_settings settings;
	uint64_t peak_reserved;
	uint64_t peak_gap; /* what of it was not allocated when it was reached */
	uint64_t end_reserved;
	size_t grown; /* calls of the driver for more memory */
	/* Under a cap: requests that would fail, and the first of them (an event). */
	size_t refused;
	size_t refused_at;
	/* Of the requests that failed in the record those that would have got their memory. */
	size_t ooms;
	size_t ooms_served;
	bool approximate; /* the state at the beginning had to be made anew */
	/* Against the record, if its addresses were used. */
	size_t calls;       /* segment events recorded */
	size_t calls_equal; /* the same in order, size and address */
	size_t calls_extra; /* made, but not recorded */
	size_t blocks;      /* allocations recorded */
	size_t blocks_equal;
	uint64_t deviation; /* the largest of reserved, after any event */
};

enum mem_replay_how {
	REPLAY_VERIFY,  /* segments are where they were recorded, and compared */
	REPLAY_FORETELL /* segments are anywhere */
};

int mem_replay_run(const struct mem_history *history, const struct mem_settings *settings,
		   enum mem_replay_how how, struct mem_replay *ret, struct np_err *err) NP_MUST_USE;

bool mem_replay_exact(const struct mem_replay *replay);

/* The settings whose replay is nearest to the record; exact ones if any that is tried is. */
int mem_replay_find(const struct mem_history *history, struct mem_replay *ret, struct np_err *err)
	NP_MUST_USE;

/* What is foretold under other settings. */
struct mem_whatif {
	struct mem_replay replay;
	const char *withheld; /* why nothing is foretold, or NULL */
	uint64_t error;       /* bytes by which the peak may be wrong */
	int64_t gain; /* of peak reserved; negative: it costs; NP_UNKNOWN: within the error */
};

/*
 * `device`: bytes that the process can have; NP_UNKNOWN: nobody says, so that nothing fails.
 * `now`: the peak of reserved that is compared with.
 */
int mem_replay_whatif(const struct mem_history *history, const struct mem_replay *found,
		      const struct mem_settings *settings, int64_t device, uint64_t now,
		      struct mem_whatif *ret, struct np_err *err) NP_MUST_USE;

/* Settings as PYTORCH_NPU_ALLOC_CONF has them: those that are named change. */
int mem_replay_parse(const char *text, struct mem_settings *settings, struct np_err *err)
	NP_MUST_USE;

/* Those that are not the allocator's own, in the same form; "default" if there is none. */
void mem_replay_name(const struct mem_settings *settings, struct np_buf *buf);

/* The sensible ones to try, made from those of the recording; GPUs have no other sizes of segments.
 * Gives their number. */
#define MEM_SWEEP_MOST 20
size_t mem_replay_sweep(const struct mem_settings *recorded, bool gpu, int64_t device,
			struct mem_settings ret[MEM_SWEEP_MOST]);

#endif /* NP_MEM_REPLAY_H */
