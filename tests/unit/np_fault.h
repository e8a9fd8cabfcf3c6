/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_FAULT_H
#define NP_FAULT_H

/*
 * Making memory run out. np_fault.c defines malloc, calloc and realloc for every
 * program of tests; they are hidden, so that cmocka and the C library keep their
 * own. clang links its sanitizers into the program, where they need these names
 * themselves: such builds skip the tests.
 */
#include "np_test.h"

#define NP_FAULTS 1
#if defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#undef NP_FAULTS
#define NP_FAULTS 0
#endif
#endif

/* The allocation that is to fail, counted down; 0: none. */
extern _Thread_local size_t np_fault_left;

/*
 * Run `scenario` with the first allocation failing, then with the second, and so
 * on until none is left to fail. It returns NP_OK or the code of what failed,
 * and checks for itself what must still hold then.
 */
static inline void assert_survives_faults(int (*scenario)(struct np_err *err))
{
	if (!NP_FAULTS)
		skip();
	for (size_t n = 1;; n++) {
		struct np_err err = NP_ERR_INIT;
		int rc;

		np_fault_left = n;
		rc = scenario(&err);
		if (np_fault_left > 0) {
			np_fault_left = 0;
			assert_ok(rc, err);
			assert_true(n > 1);
			return;
		}
		assert_int_equal(rc, NP_E_NOMEM);
	}
}

#endif /* NP_FAULT_H */
