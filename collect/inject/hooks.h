/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_INJECT_HOOKS_H
#define NP_INJECT_HOOKS_H

#include "inject.h"

/*
 * Hooks
 * =====
 *
 * A hook has the name and the type of a function of CANN. Being preloaded it is what
 * the application calls; it finds the real function once and passes on, with the
 * same arguments and the same result. Hooks of frequent calls look at one word
 * (`attention`) and do nothing else as long as it is zero.
 *
 * All hooks that see no real function return an error of that library: the
 * application learns what it would have noticed at link time without us.
 */
#define NP_HOOK __attribute__((visibility("default")))

enum np_library {
	NP_LIBRARY_ACL,
	NP_LIBRARY_PROFILER,
	NP_LIBRARY_HCCL,
	NP_LIBRARY_MSTX,
};

/*
 * The function of this name behind us: in the order of loading, or, if the application
 * has loaded the library privately, in that library. NULL if there is none.
 * The address is kept in `cache`.
 */
void *np_real_find(_Atomic(void *) *cache, enum np_library library, const char *name);

static inline void *np_real(_Atomic(void *) *cache, enum np_library library, const char *name)
{
	void *real = atomic_load_explicit(cache, memory_order_relaxed);

	return __builtin_expect(real != NULL, 1) ? real : np_real_find(cache, library, name);
}

/* Declare `real`, a pointer to the function that the hook `name` stands for. */
#define NP_REAL(library, name) \
	static _Atomic(void *) cache_##name; \
	__typeof__(&name) real; \
	do { \
		void *found_ = np_real(&cache_##name, library, #name); \
		memcpy(&real, &found_, sizeof(real)); \
	} while (0)

/* Is there anything to do beyond passing on? */
static inline bool np_hook_active(void)
{
	return atomic_load_explicit(&np_inject.on, memory_order_relaxed) && np_inside == 0;
}

/* What a hook of a frequent call has to look after: enum np_attention, mostly 0. */
static inline unsigned np_hook_attention(void)
{
	return atomic_load_explicit(&np_inject.attention, memory_order_relaxed);
}

#endif /* NP_INJECT_HOOKS_H */
