/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of counters and rates that are sampled, and the quantities in them. */
#include "sample_tables.h"

#include "npuprof/base.h"

#define PORT_VALUES \
	{ \
		"rxErrors", "txErrors", "rxDropped", "txDropped", "rxPackets", "txPackets" \
	}

/* Positions of the members: name, kind, instance, of, of_names, values. */
const struct vendor_sample_table vendor_sample_tables[] = {
	{ "NETDEV_STATS",
	  VENDOR_SAMPLE_DIFFERENCE,
	  NULL,
	  NULL,
	  NULL,
	  { "roceNewPktRty", "roceTxErrPkt", "roceRxErrPkt", "macTxBadByte", "macRxBadByte",
	    "macTxPfcPkt", "macRxPfcPkt", "roceTxCnpPkt", "roceRxCnpPkt", "roceTxPkt", "roceRxPkt",
	    "macTxByte", "macRxByte" } },
	{ "ROCE", VENDOR_SAMPLE_RISING, "funcId", NULL, NULL, PORT_VALUES },
	{ "NIC", VENDOR_SAMPLE_RISING, "funcId", NULL, NULL, PORT_VALUES },
	{ "CPU_USAGE", VENDOR_SAMPLE_LEVEL, NULL, NULL, NULL, { "usage" } },
	{ "HOST_MEM_USAGE", VENDOR_SAMPLE_LEVEL, NULL, NULL, NULL, { "usage" } },
	{ "HOST_DISK_USAGE",
	  VENDOR_SAMPLE_LEVEL,
	  NULL,
	  NULL,
	  NULL,
	  { "usage", "readRate", "writeRate" } },
	{ "HOST_NETWORK_USAGE", VENDOR_SAMPLE_LEVEL, NULL, NULL, NULL, { "usage", "speed" } },
	{ "HBM", VENDOR_SAMPLE_LEVEL, NULL, "type", NULL, { "bandwidth" } },
	{ "DDR", VENDOR_SAMPLE_LEVEL, NULL, NULL, NULL, { "read", "write" } },
	{ "LLC", VENDOR_SAMPLE_LEVEL, NULL, "mode", NULL, { "hitRate", "throughput" } },
	{ "HCCS", VENDOR_SAMPLE_LEVEL, NULL, NULL, NULL, { "txThroughput", "rxThroughput" } },
	{ "UB", VENDOR_SAMPLE_LEVEL, NULL, NULL, NULL, { "txUdmaBind", "rxUdmaBind" } },
	{ "PCIE", VENDOR_SAMPLE_LEVEL, NULL, NULL, NULL, { "txPostAvg", "rxPostAvg" } },
	{ "SIO",
	  VENDOR_SAMPLE_LEVEL,
	  NULL,
	  "name",
	  NULL,
	  { "txDat|datTx", "rxDat|datRx", "txReq|reqTx", "rxReq|reqRx" } },
	/* Copies: how many, and how much they moved, by direction. */
	{ "MEMCPY_INFO",
	  VENDOR_SAMPLE_DIFFERENCE,
	  NULL,
	  "memcpyOperation",
	  "ENUM_MEMCPY_OPERATION",
	  { "size" } },
	{ "QOS", VENDOR_SAMPLE_LEVEL, NULL, "eventName", NULL, { "bandwidth" } },
};

const size_t vendor_sample_table_count = NP_COUNT(vendor_sample_tables);
