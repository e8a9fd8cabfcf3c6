/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_INJECT_STEPS_H
#define NP_INJECT_STEPS_H

#include "collect/protocol.h"

/*
 * Which step is it?
 * =================
 *
 * Several sources may report that a step begins. A configured one is believed alone.
 * Otherwise the best one that is there is believed: one that names its steps from
 * its first word, one that is only counted from its second. A better source takes
 * over from a worse one as long as `settled` is false, which it is until a window
 * has opened: numbers must not change their meaning under a window.
 *
 * Pure state; the caller has the lock.
 */
struct np_steps {
	enum np_step_source wanted;
	enum np_step_source chosen; /* NP_STEP_AUTO until known */
	int64_t current;            /* NP_UNKNOWN before the first step */
	int64_t counted[NP_STEP_SOURCES];
	bool settled;
};

void np_steps_init(struct np_steps *steps, enum np_step_source wanted);

/* Would anything this source says matter? */
bool np_steps_listens(const struct np_steps *steps, enum np_step_source source);

/*
 * `source` says that a step begins: `number`, or NP_UNKNOWN if it only reports that
 * there is one. True if `steps->current` is now another step than before.
 */
bool np_steps_begin(struct np_steps *steps, enum np_step_source source, int64_t number);

#endif /* NP_INJECT_STEPS_H */
