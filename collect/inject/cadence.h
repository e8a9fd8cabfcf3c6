/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CADENCE_H
#define NP_CADENCE_H

#include "npuprof/base.h"

/*
 * The period of a sequence of calls
 * =================================
 *
 * An application that marks no steps still repeats itself: every step calls the
 * same collectives in the same order. Calls come in one by one, each as a number
 * that stands for its kind, size and communicator. Once the last calls are three
 * exact repetitions of something, that something is taken for a step, and the
 * steps are counted from where the repetition began, even though it was noticed
 * later.
 *
 * A loop over layers inside a step repeats too. Three repetitions are therefore
 * believed only if the host waited for the device in each of them, as training does
 * once a step and not once a layer; without that it takes NP_CADENCE_UNSURE
 * repetitions, or all that is remembered. And when a repetition ends, it was a part
 * of a step: the next one must be longer than all of it. When nothing longer turns
 * up in a history's length, the search begins anew.
 *
 * What it cannot do: name the first call of a step rather than the first call that
 * was repeated, or follow a job whose collectives differ from step to step.
 * Memory is fixed and nothing is allocated. Not for several threads at once.
 */
#define NP_CADENCE_PERIOD_MAX UINT64_C(4096)
#define NP_CADENCE_REPEATS    UINT64_C(3)
#define NP_CADENCE_UNSURE     UINT64_C(64)
#define NP_CADENCE_HISTORY    (NP_CADENCE_PERIOD_MAX * NP_CADENCE_REPEATS)

struct np_cadence {
	uint64_t calls;      /* that came in */
	uint64_t next_check; /* when to look for a period again */
	uint64_t period;     /* 0 while none is known */
	uint64_t origin;     /* the call with which the repetition began */
	uint64_t shortest;   /* period worth considering */
	uint64_t search_end; /* when to give up looking for a longer one */
	uint64_t breaks;     /* periods that turned out wrong or ended */
	uint64_t history[NP_CADENCE_HISTORY];
	uint32_t waits[NP_CADENCE_HISTORY]; /* of the host, up to each call */
	uint32_t match[NP_CADENCE_HISTORY]; /* room for a search */
};

void np_cadence_init(struct np_cadence *cadence);

/*
 * A call, and how often the host has waited for the device so far. True if the call
 * begins a step, whose number counted from the origin is then in `ret_step`. The
 * call with which a period is noticed never begins one.
 */
bool np_cadence_call(struct np_cadence *cadence, uint64_t call, uint32_t waits, int64_t *ret_step);

#endif /* NP_CADENCE_H */
