/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_SCHEMA_H
#define SYN_SCHEMA_H

#include "npuprof/db.h"
#include "sim/synth/plan/config.h"

/*
 * Table declarations and constants of the two generations of databases:
 * 1.0.0 (early 2025) and 1.2.0 (late 2025).
 */

/* Values of the ENUM_ tables that are used. */
enum {
	SYN_ENUM_ACL = 20000,
	SYN_ENUM_NODE = 10000,
	SYN_ENUM_COMM = 5500,
	SYN_ENUM_RUNTIME = 5000,
	SYN_ENUM_TORCH_OP = 50001,
	SYN_ENUM_TORCH_QUEUE = 50002,
	SYN_ENUM_NONE = 65534,    /* N/A */
	SYN_ENUM_INVALID = 65535, /* INVALID_TYPE */
	SYN_ENUM_SDMA = 0,
	SYN_ENUM_RDMA = 1,
	SYN_ENUM_LOCAL = 2,
	SYN_ENUM_ON_CHIP = 0,
	SYN_ENUM_HCCS = 1,
	SYN_ENUM_ROCE = 3,
	SYN_ENUM_HOST_TO_DEVICE = 1,
	SYN_ENUM_FP32 = 4,
	SYN_ENUM_BFP16 = 11,
	SYN_ENUM_RDMA_NOTIFY = 0,
	SYN_ENUM_RDMA_PAYLOAD = 1,
};

#define SYN_NO_ID INT64_C(4294967295)

/*
 * Create the tables that a rank's database of this configuration has, and fill
 * ENUM_*. `torch`: with those that torch_npu adds to the ones of msprof.
 */
int syn_schema_create(struct np_db_writer *writer, const struct syn_config *config, bool torch,
		      struct np_err *err) NP_MUST_USE;

/* Indexes, made when the tables are full. */
int syn_schema_index(struct np_db_writer *writer, struct np_err *err) NP_MUST_USE;

#endif /* SYN_SCHEMA_H */
