/* SPDX-License-Identifier: Apache-2.0 */
/* The names of all tables and columns that the vendor's tools are known to write. */
#include "known_tables.h"

#include "npuprof/base.h"

#include <string.h>
#include <strings.h>

/* What viewers add to a table when they open it. */
#define ADDED_BY_VIEWERS "depth waitNs opConnectionId "

static const struct {
	const char *table;
	const char *columns; /* each followed by a blank */
} known[] = {
	{ "ACC_PMU",
	  "accId readBwLevel writeBwLevel readOstLevel writeOstLevel timestampNs deviceId " },
	{ "AICORE_FREQ", "deviceId timestampNs freq dieId " },
	{ "CANN_API", "startNs endNs type globalTid connectionId name " },
	{ "CCU", "deviceId globalTaskId name startNs endNs args " },
	{ "COMMUNICATION_OP",
	  "opName startNs endNs connectionId groupName opId relay retry dataType algType count opType "
	  "deviceId rankSize " },
	{ "COMMUNICATION_SCHEDULE_TASK_INFO", "name globalTaskId taskType opType " },
	{ "COMMUNICATION_TASK_INFO",
	  "name globalTaskId taskType planeId groupName notifyId rdmaType srcRank dstRank "
	  "transportType size dataType linkType opId isMaster bandwidth " },
	{ "COMPUTE_TASK_INFO",
	  "name globalTaskId blockDim blockNum mixBlockDim mixBlockNum taskType opType inputFormats "
	  "inputDataTypes inputShapes outputFormats outputDataTypes outputShapes attrInfo opState "
	  "hf32Eligible gridDim " },
	{ "CONNECTION_IDS", "id connectionId " },
	{ "CPU_USAGE", "timestampNs cpuId usage " },
	{ "DDR", "deviceId timestampNs read write " },
	{ "DPU_TASK",
	  "dpuDeviceId globalTid startNs endNs globalTaskId streamId taskId opName args " },
	{ "GC_RECORD", "startNs endNs globalTid " },
	{ "HBM", "deviceId timestampNs bandwidth hbmId type " },
	{ "HCCS", "deviceId timestampNs txThroughput rxThroughput " },
	{ "HOST_DISK_USAGE", "timestampNs readRate writeRate usage " },
	{ "HOST_INFO", "hostUid hostName " },
	{ "HOST_MEM_USAGE", "timestampNs usage " },
	{ "HOST_NETWORK_USAGE", "timestampNs usage speed " },
	{ "LLC", "deviceId llcId timestampNs hitRate throughput mode " },
	{ "MEMCPY_INFO", "globalTaskId size memcpyOperation " },
	{ "MEMORY_RECORD",
	  "component timestamp totalAllocated totalReserved totalActive streamPtr deviceId " },
	{ "META_DATA", "name value " },
	{ "MSTX_EVENTS",
	  "startNs endNs eventType rangeId category message globalTid endGlobalTid domainId "
	  "connectionId " },
	{ "NETDEV_STATS",
	  "deviceId timestampNs macTxPfcPkt macRxPfcPkt macTxByte macTxBandwidth macRxByte "
	  "macRxBandwidth macTxBadByte macRxBadByte roceTxPkt roceRxPkt roceTxErrPkt roceRxErrPkt "
	  "roceTxCnpPkt roceRxCnpPkt roceNewPktRty nicTxByte nicTxBandwidth nicRxByte "
	  "nicRxBandwidth " },
	{ "NIC",
	  "deviceId timestampNs bandwidth rxPacketRate rxByteRate rxPackets rxBytes rxErrors "
	  "rxDropped txPacketRate txByteRate txPackets txBytes txErrors txDropped funcId " },
	{ "NPU_INFO", "id name " },
	{ "NPU_MEM", "type ddr hbm timestampNs deviceId " },
	{ "NPU_MODULE_MEM", "moduleId timestampNs totalReserved deviceId " },
	{ "NPU_OP_MEM",
	  "operatorName addr type size timestampNs globalTid totalAllocate totalReserve component "
	  "deviceId " },
	{ "OP_MEMORY",
	  "name size allocationTime releaseTime activeReleaseTime duration activeDuration "
	  "allocationTotalAllocated allocationTotalReserved allocationTotalActive "
	  "releaseTotalAllocated releaseTotalReserved releaseTotalActive streamPtr deviceId " },
	{ "OSRT_API", "name globalTid startNs endNs " },
	{ "OVERLAP_ANALYSIS", "id deviceId startNs endNs type " },
	{ "PCIE",
	  "deviceId timestampNs txPostMin txPostMax txPostAvg txNonpostMin txNonpostMax txNonpostAvg "
	  "txCplMin txCplMax txCplAvg txNonpostLatencyMin txNonpostLatencyMax txNonpostLatencyAvg "
	  "rxPostMin rxPostMax rxPostAvg rxNonpostMin rxNonpostMax rxNonpostAvg rxCplMin rxCplMax "
	  "rxCplAvg " },
	{ "PYTORCH_API",
	  "startNs endNs globalTid connectionId name sequenceNumber fwdThreadId inputDtypes "
	  "inputShapes callchainId type " },
	{ "PYTORCH_CALLCHAINS", "id stack stackDepth " },
	{ "QOS", "deviceId eventName bandwidth timestampNs dieId " },
	{ "RANK_DEVICE_MAP", "rankId deviceId " },
	{ "ROCE",
	  "deviceId timestampNs bandwidth rxPacketRate rxByteRate rxPackets rxBytes rxErrors "
	  "rxDropped txPacketRate txByteRate txPackets txBytes txErrors txDropped funcId " },
	{ "SAMPLE_PMU_SUMMARY", "deviceId metric value coreId coreType " },
	{ "SAMPLE_PMU_TIMELINE", "deviceId timestampNs totalCycle usage freq coreId coreType " },
	{ "SESSION_TIME_INFO", "startTimeNs endTimeNs " },
	{ "SIO",
	  "deviceId name timestampNs rxReq rxRsp rxSnp rxDat txReq txRsp txSnp txDat reqRx rspRx "
	  "snpRx datRx reqTx rspTx snpTx datTx " },
	{ "SOC_BANDWIDTH_LEVEL", "l2BufferBwLevel mataBwLevel timestampNs deviceId " },
	{ "STEP_TIME", "id startNs endNs " },
	{ "STRING_IDS", "id value " },
	{ "TASK",
	  "startNs endNs deviceId connectionId globalTaskId globalPid taskType contextId streamId "
	  "taskId modelId " },
	{ "TASK_PMU_INFO", "globalTaskId name value " },
	{ "UB", "deviceId portId timestampNs rxUdmaBind txUdmaBind " },
	/* Of viewers. */
	{ "connectionCats", "id connectionId cat " },
	{ "status_info", "id key value status " },
};

/* Names of numbers in other tables. */
#define ENUMS \
	"ENUM_API_TYPE ENUM_MODULE ENUM_HCCL_DATA_TYPE ENUM_HCCL_LINK_TYPE " \
	"ENUM_HCCL_TRANSPORT_TYPE ENUM_HCCL_RDMA_TYPE ENUM_MSTX_EVENT_TYPE " \
	"ENUM_MEMCPY_OPERATION ENUM_OVERLAP_ANALYSIS_TYPE "
#define ENUM_COLUMNS "id name "

/* Is the word one of those in a list? SQL does not tell capitals from small letters. */
static bool lists(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; *at; at += strcspn(at, " ") + 1) {
		if (strcspn(at, " ") == length && strncasecmp(at, word, length) == 0)
			return true;
	}
	return false;
}

static const char *columns_of(const char *table)
{
	if (lists(ENUMS, table))
		return ENUM_COLUMNS;
	for (size_t i = 0; i < NP_COUNT(known); i++) {
		if (strcasecmp(known[i].table, table) == 0)
			return known[i].columns;
	}
	return NULL;
}

bool vendor_knows_table(const char *table)
{
	return columns_of(table) != NULL;
}

bool vendor_knows_column(const char *table, const char *column)
{
	const char *columns = columns_of(table);

	return columns && (lists(columns, column) || lists(ADDED_BY_VIEWERS, column));
}
