/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_PLANTS_H
#define SYN_PLANTS_H

#include "config.h"

/*
 * Planted faults
 * ==============
 *
 * One table says which faults can be planted: a row holds the option, how its
 * argument is read and what the fault does. To add a fault is to add a row; a
 * new sort of effect adds a hook to the row and a question below.
 *
 * Effects multiply or add up over all planted faults. Those that touch the
 * simulation (kernels, links, hosts) do not change any random draw; those that
 * touch the writing (clocks, drops, cuts) leave the simulated times alone.
 */
enum syn_scalar {
	SYN_NO_SCALAR,
	SYN_EXPERT_SKEW,  /* spread of the tokens over experts */
	SYN_DROP,         /* operators, or below 1 their share, that are not written */
	SYN_SHIFT,        /* added to the ordinals in operator names */
	SYN_TRUNCATE,     /* share of the capture that is written */
	SYN_LEAK,         /* bytes never given back, per step */
	SYN_FRAGMENT,     /* bytes of buffers that grow from step to step */
	SYN_STAGE_MEMORY, /* bytes that only the ranks of a stage hold */
	SYN_EXTRA_CASTS,  /* casts before each layer of the forward pass */
	SYN_RESHAPE,      /* factor on the first projection, which gets another shape */
	SYN_BETWEEN,      /* microseconds that hosts stop between two steps */
};

struct syn_plant_kind {
	const char *name;
	const char *syntax;
	const char *help;
	int (*parse)(const char *text, struct syn_plant *plant, struct np_err *err);

	double (*kernel_factor)(const struct syn_plant *plant, const struct syn_config *config,
				const struct syn_place *place, int64_t step);
	double (*type_factor)(const struct syn_plant *plant, const char *type);
	double (*link_factor)(const struct syn_plant *plant, int32_t src, int32_t dst);
	np_ns (*host_delay)(const struct syn_plant *plant, int32_t rank);
	np_ns (*data_stall)(const struct syn_plant *plant, int32_t rank, int64_t step);
	bool (*clock_applies)(const struct syn_plant *plant, const struct syn_place *place);
	enum syn_scalar scalar; /* what `amount` means where one number is all there is */
};

extern const struct syn_plant_kind syn_plant_kinds[];
extern const size_t syn_plant_kind_count;

/* Plant the fault of `kind` with `argument`, which must live as long as the config. */
int syn_plants_add(struct syn_config *config, const struct syn_plant_kind *kind,
		   const char *argument, struct np_err *err) NP_MUST_USE;

/* Refuse ranks, hosts and stages that the job does not have. */
int syn_plants_check(const struct syn_config *config, struct np_err *err) NP_MUST_USE;

/* How many times longer the kernels of a rank take in a step. */
double syn_kernel_factor(const struct syn_config *config, const struct syn_place *place,
			 int64_t step);

/* How many times longer kernels of an operator type take, on all ranks. */
double syn_type_factor(const struct syn_config *config, const char *type);

/* How many times longer a transfer that `src` carries out with `dst` takes. */
double syn_link_factor(const struct syn_config *config, int32_t src, int32_t dst);

/* How long the host of a rank stops, with an empty queue, before each layer. */
np_ns syn_host_delay(const struct syn_config *config, int32_t rank);

/* How much longer the data loader of a rank takes at the beginning of a step (from 0). */
np_ns syn_data_stall(const struct syn_config *config, int32_t rank, int64_t step);

/* A clock: local = true + offset + drift × (true − start of the job). */
struct syn_clock {
	np_ns offset_ns;
	double drift_ppm;
};

struct syn_clock syn_clock_of_rank(const struct syn_config *config, int32_t rank);

/* The clock of a host alone, without faults of one rank's device. */
struct syn_clock syn_clock_of_host(const struct syn_config *config, int32_t host);

np_ns syn_clock_read(const struct syn_clock *clock, np_ns true_ns);

/*
 * The amount of a scalar fault on a rank, summed up; `none` where it is not
 * planted. Faults that are not about one rank hold for all.
 */
double syn_scalar(const struct syn_config *config, enum syn_scalar scalar, int32_t rank,
		  double none);

#endif /* SYN_PLANTS_H */
