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

/* Valid until the next call with the same `comm`. */
int syn_carrier_prepare(struct syn_comm *comm, const struct syn_instance *instance,
			struct syn_carrier *carrier, struct np_err *err) NP_MUST_USE;

bool syn_is_rdma(const struct syn_carrier *carrier, int32_t src, int32_t dst);

/* Mesh: what a member sends on a plane in a phase, and how long that takes. */
int64_t syn_plane_bytes(const struct syn_carrier *carrier, int32_t me, int32_t plane);
np_ns syn_plane_time(const struct syn_carrier *carrier, int phase, int32_t me, int32_t plane);

/* Ring: the pieces in which a member sends to the next, and how long they take in all. */
int32_t syn_ring_pieces(const struct syn_carrier *carrier);
np_ns syn_ring_time(const struct syn_carrier *carrier, int phase, int32_t me);

/* Message: what a member sends, what it moves itself, and how long that takes. */
int64_t syn_sent_by(const struct syn_instance *instance, int32_t me);
int64_t syn_moved_by(const struct syn_carrier *carrier, int32_t me, int32_t peer);
np_ns syn_message_time(const struct syn_carrier *carrier, int32_t me, int32_t peer);

/* From the last arrival to the first byte of a message: the sender's copy into its buffer. */
np_ns syn_message_prologue(const struct syn_instance *instance);
np_ns syn_local_time(int64_t bytes);

#endif /* SYN_CARRIER_H */
