/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_COMMUNICATION_OUT_H
#define NP_COMMUNICATION_OUT_H

/*
 * The vendor's text about communication: how it is written
 * ========================================================
 *
 * communication.json and communication_matrix.json of a rank, as torch_npu writes them:
 *
 *	{ "step13": { "p2p": { "<operator>@<hash>": { ... } }, "collective": { ... } } }
 *
 * and what the files of a cluster have in common with them, which nest the same objects by
 * ranks first. Names, units and formats of numbers stand here and nowhere else; what stands
 * in which order around them is the business of who writes the file.
 */

#include <stdio.h>

#include "npuprof/jsonout.h"
#include "npuprof/op_times.h"
#include "npuprof/rank.h"
#include "npuprof/strtab.h"

#define NP_COMMUNICATION_FILE         "communication.json"
#define NP_MATRIX_FILE                "communication_matrix.json"
#define NP_CLUSTER_COMMUNICATION_FILE "cluster_communication.json"
#define NP_CLUSTER_MATRIX_FILE        "cluster_communication_matrix.json"
#define NP_GROUP_FILE                 "communication_group.json"

/* What an operator is called that stands for all of a group. */
#define NP_COMMUNICATION_TOTAL "Total Op Info"

/* "p2p" or "collective". */
const char *np_communication_kind(bool p2p);

/* "step13", or "step" for the pseudo step, whose id is NULL. */
void np_communication_step(char *label, size_t size, const char *id);

/* "<name>@<hash>", or "<name>#2@<hash>" for `nth` 1, in place of what is in `buf`. */
void np_communication_key(struct np_buf *buf, const char *name, uint32_t nth, uint64_t hash);

/* "Communication Time Info" on one line; totals have no start. */
void np_communication_put_times(struct np_jsonout *out, const struct np_op_times *times,
				const np_ns *start);

/*
 * "Communication Bandwidth Info": opened, then for every transport its sums and its packets
 * between open and close, each transport on one line; np_jsonout_end() ends it. Totals have no
 * ratio of large packets.
 */
void np_communication_open_bandwidth(struct np_jsonout *out);
void np_communication_open_transport(struct np_jsonout *out, enum np_band_type type, int64_t bytes,
				     np_ns time, const double *large_packet_ratio);
void np_communication_put_packets(struct np_jsonout *out, int64_t bytes, int64_t count, np_ns time);
void np_communication_close_transport(struct np_jsonout *out);

/* What moved between two ranks. NaN: unknown. */
struct np_matrix_link {
	const char *ends;      /* "0-1" */
	const char *transport; /* NULL: unknown */
	double megabytes;
	double milliseconds;
	double gb_per_s;
	const char *op_name; /* NULL: unknown */
};

/* A link on one line, as the file of a rank has it: an unknown operator is left out. */
void np_matrix_put_link(struct np_jsonout *out, const struct np_matrix_link *link);

/* The same as the file of a cluster has it: in another order. */
void np_matrix_put_cluster_link(struct np_jsonout *out, const struct np_matrix_link *link);

/* The files of one rank. */
int np_communication_write(const struct np_rank *rank, const struct np_strtab *strings,
			   FILE *stream, struct np_err *err) NP_MUST_USE;
int np_matrix_write(const struct np_rank *rank, const struct np_strtab *strings, FILE *stream,
		    struct np_err *err) NP_MUST_USE;

#endif /* NP_COMMUNICATION_OUT_H */
