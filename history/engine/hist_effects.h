/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HIST_EFFECTS_H
#define HIST_EFFECTS_H

#include "hist_series.h"

/*
 * Roles and machines over many runs
 * =================================
 *
 * A role is a place of the job, the number of a rank, and belongs to a stage; a machine is a device
 * of a host. What a figure of the ranks owes to each of them is fitted over all runs (two_way.h);
 * then what all places of a stage, or all devices of a host, have in common is taken out and said
 * of the stage or the host instead.
 */
enum hist_unit {
	HIST_HOST,
	HIST_DEVICE,
	HIST_STAGE,
	HIST_PLACE, /* of a rank in the job */
	HIST_UNITS,
};

/* "host", "device", "stage", "rank": of machine formats. */
const char *hist_unit_name(enum hist_unit unit);

struct hist_unit_effect {
	enum hist_unit unit;
	np_str host;    /* of a host or a device */
	int64_t number; /* of the device, the stage or the rank */
	double share;   /* 0.05: takes 5 % longer than the middle one; NaN: cannot be told */
	double margin;  /* of 95 %, to both sides; NaN: too few runs */
	size_t runs;    /* observations */
	bool named;     /* more than chance makes of one among so many, and more than 1 % */
};

struct hist_effects {
	NP_VEC(struct hist_unit_effect) list; /* by unit, the largest first */
	size_t runs;
	size_t machines; /* devices */
	size_t roles;
	size_t told; /* devices that were in other places, or had others in theirs */
	double spread;
};

/* Below this nothing is named, however certain. */
#define HIST_EFFECT_LEAST 0.01

int hist_effects_measure(const struct hist_store *store, const struct hist_selection *selection,
			 const char *figure, struct hist_effects *ret, struct np_err *err)
	NP_MUST_USE;
void hist_effects_release(struct hist_effects *effects);

/* The effect of a host or device, or NULL. */
const struct hist_unit_effect *hist_effect_of(const struct hist_effects *effects,
					      enum hist_unit unit, np_str host, int64_t number);

#endif /* HIST_EFFECTS_H */
