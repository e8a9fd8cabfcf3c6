/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_LOAD_SOURCE_H
#define NP_LOAD_SOURCE_H

/* Loading one rank by whatever is nearest, and handing ranks to other processes. */

#include "npuprof/load_run.h"
#include "npuprof/summary.h"

#include <pthread.h>
#include <stdatomic.h>

/* Lets as many ranks in at once as memory allows; one is always let in. */
struct load_gate {
	pthread_mutex_t lock;
	pthread_cond_t left;
	int64_t most; /* 0: any number */
	int64_t inside;
	size_t ranks;
};

void load_gate_init(struct load_gate *gate, int64_t most);
void load_gate_release(struct load_gate *gate);
void load_gate_enter(struct load_gate *gate, const struct np_source_files *source);
void load_gate_leave(struct load_gate *gate, const struct np_source_files *source);

/* What this process has done, counted by the threads that do it. */
struct load_count {
	atomic_llong ranks;
	atomic_llong bytes;
};

static inline void load_count_add(struct load_count *count, const struct np_source_files *source)
{
	(void)atomic_fetch_add(&count->ranks, 1);
	(void)atomic_fetch_add(&count->bytes, source->bytes);
}

static inline struct np_procs_news load_count_news(struct load_count *count)
{
	return (struct np_procs_news){ atomic_load(&count->ranks), atomic_load(&count->bytes) };
}

/* Who watches, and what the others told. */
struct load_watch {
	const struct np_run *run;
	const struct np_load_options *options;
	struct load_count mine;
	struct np_procs_news *others; /* by process; NULL for one alone */
};

/* Tell the watcher how far all are: an np_tick whose context is the load_watch. */
void load_watch_tick(void *context, size_t done, size_t total);

/* What became of one source. */
struct load_outcome {
	struct np_rank *rank; /* NULL where it could not be used */
	struct np_err err;    /* why not */
	struct np_err cache;  /* why its summary could not be kept */
	bool cached;          /* it came from one */
};

/*
 * Load a source from its summary, from a fresh one in the cache, or from its
 * files, in which case the cache gets a new one.
 */
void load_source(const struct np_load_options *options, const struct np_source_files *source,
		 struct np_strtab *strings, struct load_outcome *ret);

/* The rank is to be kept: in as little memory as can be. Without memory for it there is none. */
void load_pack(const struct np_load_options *options, struct load_outcome *outcome);

/* --- other processes ----------------------------------------------------------------------------
 */

/* Which process loads which source: the largest first, each to the one that has least to do. */
int load_divide(const struct np_run *run, size_t processes, uint32_t *owner, struct np_err *err)
	NP_MUST_USE;

/* Tell the other processes which sources are theirs. */
int load_send_orders(const struct np_run *run, const struct np_load_options *options,
		     const uint32_t *owner, struct np_err *err) NP_MUST_USE;

/* Sleep a little, and longer each time; `length` is 0 before the first. */
void load_nap(int64_t *length);

/* Take what they made of them. */
int load_gather(struct np_run *run, const struct np_load_options *options, const uint32_t *owner,
		struct load_watch *watch, struct load_outcome *outcomes, struct np_err *err)
	NP_MUST_USE;

#endif /* NP_LOAD_SOURCE_H */
