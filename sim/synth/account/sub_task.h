/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_SUB_TASK_H
#define SYN_SUB_TASK_H

#include "sim/synth/world/comm.h"

/*
 * What profilers say about the sub-tasks of an operator, as the numbers of
 * the ENUM_ tables of databases; traces spell them out.
 */

/* "Memcpy": the task in the words of HCCL; "SDMA": in those of the device. */
const char *syn_sub_task_name(enum syn_sub_task_kind kind);
const char *syn_sub_task_task_type(enum syn_sub_task_kind kind);

/* INT64_MAX: none, which traces show as the largest unsigned number. */
int64_t syn_sub_task_notify_id(const struct syn_sub_task *sub_task);

int64_t syn_sub_task_transport(const struct syn_sub_task *sub_task);
int64_t syn_sub_task_link(const struct syn_sub_task *sub_task);
int64_t syn_sub_task_rdma_type(const struct syn_sub_task *sub_task);
int64_t syn_sub_task_size(const struct syn_sub_task *sub_task);

/* Of a reduction, the type of its operator, which is given. */
int64_t syn_sub_task_data_type(const struct syn_sub_task *sub_task, int64_t data_type);

/* Bytes per second of what moves data, else 0. */
double syn_sub_task_bandwidth(const struct syn_sub_task *sub_task);

/* The numbers above as text. */
const char *syn_transport_text(int64_t transport);
const char *syn_link_text(int64_t link);
const char *syn_rdma_text(int64_t rdma_type);
const char *syn_data_type_text(int64_t data_type);

#endif /* SYN_SUB_TASK_H */
