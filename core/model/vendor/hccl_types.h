/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_HCCL_TYPES_H
#define NP_HCCL_TYPES_H

/*
 * Data types of communication operators, and the links and transports of sub-tasks: databases have
 * the vendor's number of a type, traces its name ("FP16"). np_comm_op keeps the number + 1, where 0
 * is a type that is not known.
 */

#include "npuprof/gz.h"

/* The number of a name + 1; 0 for a type that is not known. */
uint8_t hccl_type_kept(struct np_slice name);

/* The name of what np_comm_op keeps; "" for a type that is not known. */
const char *hccl_type_name(uint8_t kept);

/* Bytes that an element has, by the vendor's number; 0 for a type without fixed size. */
int64_t hccl_element_bytes(int64_t number);

/* So many elements in bytes; NP_UNKNOWN where that is not known, or cannot be true. */
int64_t hccl_bytes(int64_t count, int64_t number);

/* The vendor's numbers of links and transports, which databases have, by the names of traces. */
uint16_t hccl_link_number(struct np_slice name);     /* UINT16_MAX for another */
uint8_t hccl_transport_number(struct np_slice name); /* UINT8_MAX for another */

/* Does the RDMA type of a sub-task say that it sends data? */
bool hccl_is_rdma_payload(struct np_slice name);

#endif /* NP_HCCL_TYPES_H */
