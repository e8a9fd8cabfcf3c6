/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MEMORY_COMPOSITION_H
#define NP_MEMORY_COMPOSITION_H

#include "history.h"

#include "npuprof/buf.h"

/* What fills the memory at a moment, what is never given back, and what is there only briefly. */
enum mem_by {
	MEM_BY_USER, /* the innermost frame of the user's own code */
	MEM_BY_INNER,
	MEM_BY_FULL,
	MEM_BY_OP,     /* of a profile the operator, of a snapshot the innermost function */
	MEM_BY_MODULE, /* of a profile the module of CANN, of a snapshot the Python file */
	MEM_BY_SIZE,
	MEM_BY_LIFETIME,
};

struct mem_group {
	np_str label;
	uint64_t bytes;
	uint64_t requested;
	size_t blocks;
};

/* Survivors that were born on several occasions, and of which there are ever more. */
struct mem_leak {
	np_str label;
	size_t occasions;
	size_t blocks;
	uint64_t bytes;
	uint64_t per_occasion; /* mean */
};

struct composition {
	struct np_strtab *labels;
	NP_VEC(struct mem_group) groups; /* the largest first */
	NP_VEC(struct mem_leak) leaks;   /* likewise */
	size_t never_freed;
	uint64_t never_freed_bytes;
	uint64_t never_freed_requested;
	uint64_t nameless_bytes;       /* of these: without a stack, and it may be that they grow */
	uint64_t forward_bytes;        /* of these: kept by calls of a model that did not go back */
	struct mem_life largest_freed; /* .size is 0: none */
	/* Blocks of one label that are there at the peak and soon gone; bytes is 0: none. */
	struct mem_group transient;
	uint64_t peak_without;
};

/* What is called so: what was there when recording began, and blocks whose stack nobody took. */
extern const char composition_before[];
extern const char composition_no_stack[];

struct composition *composition_empty(void) NP_MUST_USE;
int composition_new(const struct mem_history *history, size_t at, enum mem_by by,
		    struct composition **ret, struct np_err *err) NP_MUST_USE;
/* Put groups and leaks into their order: the largest first. */
void composition_sort(struct composition *composition);

/* What a stack is called when blocks are put together by frames. */
void composition_name_stack(const struct snapshot *snapshot, uint32_t stack, enum mem_by by,
			    struct np_buf *buf);

/* The class that a block of this size belongs to. */
const char *composition_size_class(uint64_t size);

void composition_free(struct composition *composition);
void composition_freep(struct composition **composition);

#endif /* NP_MEMORY_COMPOSITION_H */
