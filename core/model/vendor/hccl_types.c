/* SPDX-License-Identifier: Apache-2.0 */
/* Data types, links and transports of communication, by the vendor's number and by name. */
#include "hccl_types.h"

#include "values.h"

#include "npuprof/comm_tasks.h"

/* By the vendor's number. */
static const struct {
	const char *name;
	int64_t bytes;
} types[] = { { "INT8", 1 },    { "INT16", 2 },  { "INT32", 4 },  { "FP16", 2 },
	      { "FP32", 4 },    { "INT64", 8 },  { "UINT64", 8 }, { "UINT8", 1 },
	      { "UINT16", 2 },  { "UINT32", 4 }, { "FP64", 8 },   { "BFP16", 2 },
	      { "INT128", 16 }, { "", 0 },       { "HIF8", 1 },   { "FP8E4M3", 1 },
	      { "FP8E5M2", 1 }, { "FP8E8M0", 1 } };

uint8_t hccl_type_kept(struct np_slice name)
{
	for (size_t i = 0; i < NP_COUNT(types); i++) {
		if (types[i].bytes > 0 && np_slice_is(name, types[i].name))
			return (uint8_t)(i + 1);
	}
	return 0;
}

const char *hccl_type_name(uint8_t kept)
{
	return kept > 0 && kept <= NP_COUNT(types) ? types[kept - 1].name : "";
}

int64_t hccl_element_bytes(int64_t number)
{
	return number >= 0 && number < (int64_t)NP_COUNT(types) ? types[number].bytes : 0;
}

int64_t hccl_bytes(int64_t count, int64_t number)
{
	int64_t size = hccl_element_bytes(number);
	int64_t bytes;

	if (count < 0 || size == 0 || __builtin_mul_overflow(count, size, &bytes) ||
	    bytes > NP_MOST_BYTES)
		return NP_UNKNOWN;
	return bytes;
}

uint16_t hccl_link_number(struct np_slice name)
{
	static const struct {
		const char *name;
		uint16_t link;
	} links[] = { { "ON_CHIP", NP_LINK_ON_CHIP },
		      { "HCCS", NP_LINK_HCCS },
		      { "PCIE", NP_LINK_PCIE },
		      { "ROCE", NP_LINK_ROCE },
		      { "SIO", NP_LINK_SIO },
		      { "HCCS_SW", NP_LINK_HCCS_SW },
		      { "UB", NP_LINK_UB },
		      { "UBoE", NP_LINK_UBOE },
		      { "STANDARD_ROCE", NP_LINK_STANDARD_ROCE } };

	for (size_t i = 0; i < NP_COUNT(links); i++) {
		if (np_slice_is(name, links[i].name))
			return links[i].link;
	}
	return UINT16_MAX;
}

uint8_t hccl_transport_number(struct np_slice name)
{
	static const char *const names[] = {
		[NP_TRANSPORT_SDMA] = "SDMA",   [NP_TRANSPORT_RDMA] = "RDMA",
		[NP_TRANSPORT_LOCAL] = "LOCAL", [NP_TRANSPORT_UB] = "UB",
		[NP_TRANSPORT_ROCE] = "ROCE",
	};

	for (uint8_t i = 0; i < NP_COUNT(names); i++) {
		if (np_slice_is(name, names[i]))
			return i;
	}
	return UINT8_MAX;
}

bool hccl_is_rdma_payload(struct np_slice name)
{
	return np_slice_is(name, "RDMA_SEND_PAYLOAD");
}
