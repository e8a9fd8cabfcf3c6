/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_CARRIER_H
#define SYN_CARRIER_H

#include "comm.h"

/*
 * How the data of an instance travels: shared by comm.c, which asks how long it
 * takes, and comm_layout.c, which shows the tasks.
 */

/* Fixed parts of an operator: handshakes and local copies around its phases. */
#define SYN_PROLOGUE 8000
#define SYN_BETWEEN  4000
#define SYN_EPILOGUE 6000

/* An instance, prepared for questions about it. */
struct syn_carrier {
	const struct syn_config *config;
	const struct syn_instance *instance;
	const struct syn_group *group;
	const double *weights; /* all-to-all: share of each member's experts */
	int32_t size;
	int32_t planes;
	bool ring;
	bool has_phase[2]; /* reduce, then copy */
	int64_t chunk;
};

#endif /* SYN_CARRIER_H */
