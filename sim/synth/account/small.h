/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_SMALL_H
#define SYN_SMALL_H

#include "sim/synth/world/comm.h"

/*
 * What profilers say about the small tasks of an operator, as the numbers of
 * the ENUM_ tables of databases; traces spell them out.
 */

/* "Memcpy": the task in the words of HCCL; "SDMA": in those of the device. */
const char *syn_small_name(enum syn_small_kind kind);
const char *syn_small_task_type(enum syn_small_kind kind);

/* INT64_MAX: none, which traces show as the largest unsigned number. */
int64_t syn_small_notify_id(const struct syn_small *small);

int64_t syn_small_transport(const struct syn_small *small);
int64_t syn_small_link(const struct syn_small *small);
int64_t syn_small_rdma_type(const struct syn_small *small);
int64_t syn_small_size(const struct syn_small *small);

/* Of a reduction, the type of its operator, which is given. */
int64_t syn_small_data_type(const struct syn_small *small, int64_t data_type);

/* Bytes per second of what moves data, else 0. */
double syn_small_bandwidth(const struct syn_small *small);

/* The numbers above as text. */
const char *syn_transport_text(int64_t transport);
const char *syn_link_text(int64_t link);
const char *syn_rdma_text(int64_t rdma_type);
const char *syn_data_type_text(int64_t data_type);

#endif /* SYN_SMALL_H */
