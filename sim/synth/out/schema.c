/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the vendor's database: tables, columns and enumerations of each version (schema.h). */
#include "schema.h"

enum when {
	OLD = 1,
	NEW = 2,
	ALWAYS = OLD | NEW,
};

enum need {
	NOTHING,
	NEED_PMU,
	NEED_MEMORY,
	NEED_STEPS,
	NEED_TORCH,
	NEED_TORCH_MEMORY,
	NEED_MARKS,
	NEED_CCU,
	NEED_DPU,
	NEED_SAMPLES,
};

struct declaration {
	enum when when;
	enum need need;
	const char *sql;
};

/* clang-format off */
static const struct declaration declarations[] = {
	{ ALWAYS, NOTHING, "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT)" },
	{ ALWAYS, NOTHING, "CREATE TABLE META_DATA (name TEXT,value TEXT)" },
	{ ALWAYS, NOTHING, "CREATE TABLE SESSION_TIME_INFO (startTimeNs INTEGER,endTimeNs INTEGER)" },
	{ ALWAYS, NOTHING, "CREATE TABLE NPU_INFO (id INTEGER,name TEXT)" },
	{ ALWAYS, NOTHING, "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER)" },
	{ ALWAYS, NOTHING, "CREATE TABLE HOST_INFO (hostUid TEXT,hostName TEXT)" },
	{ ALWAYS, NOTHING, "CREATE TABLE TASK (startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,"
		"globalTaskId INTEGER,globalPid INTEGER,taskType INTEGER,contextId INTEGER,streamId INTEGER,"
		"taskId INTEGER,modelId INTEGER)" },
	{ OLD, NOTHING, "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER,globalTaskId INTEGER PRIMARY KEY,blockDim INTEGER,"
		"mixBlockDim INTEGER,taskType INTEGER,opType INTEGER,inputFormats INTEGER,inputDataTypes INTEGER,"
		"inputShapes INTEGER,outputFormats INTEGER,outputDataTypes INTEGER,outputShapes INTEGER,attrInfo INTEGER)" },
	{ NEW, NOTHING, "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER,globalTaskId INTEGER PRIMARY KEY,blockNum INTEGER,"
		"mixBlockNum INTEGER,taskType INTEGER,opType INTEGER,inputFormats INTEGER,inputDataTypes INTEGER,"
		"inputShapes INTEGER,outputFormats INTEGER,outputDataTypes INTEGER,outputShapes INTEGER,attrInfo INTEGER,"
		"opState INTEGER,hf32Eligible INTEGER,gridDim INTEGER,blockDim INTEGER)" },
	{ OLD, NOTHING, "CREATE TABLE COMMUNICATION_OP (opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId INTEGER,"
		"groupName INTEGER,opId INTEGER PRIMARY KEY,relay INTEGER,retry INTEGER,dataType INTEGER,algType INTEGER,"
		"count NUMERIC,opType INTEGER)" },
	{ NEW, NOTHING, "CREATE TABLE COMMUNICATION_OP (opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId INTEGER,"
		"groupName INTEGER,opId INTEGER PRIMARY KEY,relay INTEGER,retry INTEGER,dataType INTEGER,algType INTEGER,"
		"count NUMERIC,opType INTEGER,deviceId INTEGER,rankSize INTEGER)" },
	{ OLD, NOTHING, "CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER,globalTaskId INTEGER,taskType INTEGER,planeId INTEGER,"
		"groupName INTEGER,notifyId INTEGER,rdmaType INTEGER,srcRank INTEGER,dstRank INTEGER,transportType INTEGER,"
		"size INTEGER,dataType INTEGER,linkType INTEGER,opId INTEGER)" },
	{ NEW, NOTHING, "CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER,globalTaskId INTEGER,taskType INTEGER,planeId INTEGER,"
		"groupName INTEGER,notifyId INTEGER,rdmaType INTEGER,srcRank INTEGER,dstRank INTEGER,transportType INTEGER,"
		"size INTEGER,dataType INTEGER,linkType INTEGER,opId INTEGER,isMaster INTEGER,bandwidth NUMERIC)" },
	{ ALWAYS, NOTHING, "CREATE TABLE CANN_API (startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,"
		"connectionId INTEGER PRIMARY KEY,name INTEGER)" },
	{ ALWAYS, NEED_TORCH, "CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER,"
		" sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER,"
		" type INTEGER)" },
	{ ALWAYS, NEED_TORCH, "CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER)" },
	{ ALWAYS, NOTHING, "CREATE TABLE MEMCPY_INFO (globalTaskId INTEGER,size INTEGER,memcpyOperation INTEGER)" },
	{ OLD, NOTHING, "CREATE TABLE AICORE_FREQ (deviceId INTEGER,timestampNs NUMERIC,freq INTEGER)" },
	{ NEW, NOTHING, "CREATE TABLE AICORE_FREQ (deviceId INTEGER,timestampNs NUMERIC,freq INTEGER,dieId INTEGER)" },
	{ ALWAYS, NEED_STEPS, "CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, endNs INTEGER)" },
	{ ALWAYS, NEED_PMU, "CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER,name INTEGER,value NUMERIC)" },
	{ ALWAYS, NEED_TORCH_MEMORY, "CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER,"
		" totalReserved INTEGER, totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER)" },
	{ ALWAYS, NEED_TORCH_MEMORY, "CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER,"
		" activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, allocationTotalAllocated INTEGER,"
		" allocationTotalReserved INTEGER, allocationTotalActive INTEGER, releaseTotalAllocated INTEGER,"
		" releaseTotalReserved INTEGER, releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER)" },
	{ ALWAYS, NEED_MEMORY, "CREATE TABLE NPU_MEM (type INTEGER,ddr NUMERIC,hbm NUMERIC,timestampNs INTEGER,deviceId INTEGER)" },
	{ ALWAYS, NEED_MEMORY, "CREATE TABLE NPU_MODULE_MEM (moduleId INTEGER,timestampNs INTEGER,totalReserved NUMERIC,deviceId INTEGER);"
		"CREATE TABLE ENUM_MODULE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_MODULE VALUES(0,'SLOG'),(3,'HCCL'),(7,'RUNTIME'),(33,'APP'),(36,'AICPU'),(45,'GE'),(48,'ASCENDCL')" },
	{ ALWAYS, NEED_SAMPLES, "CREATE TABLE NPU_OP_MEM (operatorName INTEGER,addr INTEGER,type INTEGER,size INTEGER,timestampNs INTEGER,"
		"globalTid INTEGER,totalAllocate NUMERIC,totalReserve NUMERIC,component INTEGER,deviceId INTEGER)" },
	{ ALWAYS, NEED_CCU, "CREATE TABLE CCU (deviceId INTEGER,globalTaskId INTEGER,name INTEGER,startNs INTEGER,endNs INTEGER,args INTEGER)" },
	{ ALWAYS, NEED_DPU, "CREATE TABLE DPU_TASK (dpuDeviceId INTEGER,globalTid INTEGER,startNs INTEGER,endNs INTEGER,globalTaskId INTEGER,"
		"streamId INTEGER,taskId INTEGER,opName INTEGER,args INTEGER)" },
	{ NEW, NOTHING, "CREATE TABLE OVERLAP_ANALYSIS (id INTEGER PRIMARY KEY,deviceId INTEGER,startNs INTEGER,endNs INTEGER,"
		"type INTEGER)" },
	{ ALWAYS, NOTHING, "CREATE TABLE ENUM_HCCL_DATA_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_HCCL_DATA_TYPE VALUES(0,'INT8'),(1,'INT16'),(2,'INT32'),(3,'FP16'),(4,'FP32'),(5,'INT64'),"
		"(6,'UINT64'),(7,'UINT8'),(8,'UINT16'),(9,'UINT32'),(10,'FP64'),(11,'BFP16'),(12,'INT128'),(65534,'N/A'),"
		"(65535,'INVALID_TYPE')" },
	{ OLD, NOTHING, "CREATE TABLE ENUM_HCCL_LINK_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_HCCL_LINK_TYPE VALUES(0,'ON_CHIP'),(1,'HCCS'),(2,'PCIE'),(3,'ROCE'),(4,'SIO'),(5,'HCCS_SW'),"
		"(6,'STANDARD_ROCE'),(7,'RESERVED'),(65534,'N/A'),(65535,'INVALID_TYPE')" },
	{ NEW, NOTHING, "CREATE TABLE ENUM_HCCL_LINK_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_HCCL_LINK_TYPE VALUES(0,'ON_CHIP'),(1,'HCCS'),(2,'PCIE'),(3,'ROCE'),(4,'SIO'),(5,'HCCS_SW'),"
		"(6,'STANDARD_ROCE'),(7,'UB'),(8,'UBoE'),(255,'RESERVED'),(65534,'N/A'),(65535,'INVALID_TYPE')" },
	{ ALWAYS, NOTHING, "CREATE TABLE ENUM_HCCL_TRANSPORT_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_HCCL_TRANSPORT_TYPE VALUES(0,'SDMA'),(1,'RDMA'),(2,'LOCAL'),(65534,'N/A'),(65535,'INVALID_TYPE')" },
	{ ALWAYS, NOTHING, "CREATE TABLE ENUM_HCCL_RDMA_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_HCCL_RDMA_TYPE VALUES(0,'RDMA_SEND_NOTIFY'),(1,'RDMA_SEND_PAYLOAD'),(2,'RDMA_PAYLOAD_PREPARE'),"
		"(3,'RDMA_PAYLOAD_CHECK'),(4,'RDMA_PAYLOAD_ACK'),(5,'RDMA_SEND_OP'),(65534,'N/A'),(65535,'INVALID_TYPE')" },
	{ OLD, NOTHING, "CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_API_TYPE VALUES(5000,'runtime'),(5500,'hccl'),(10000,'node'),(15000,'model'),(20000,'acl'),"
		"(50001,'op'),(50002,'queue'),(50003,'trace'),(50004,'mstx')" },
	{ NEW, NOTHING, "CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_API_TYPE VALUES(5000,'runtime'),(5500,'communication'),(10000,'node'),(15000,'model'),(20000,'acl'),"
		"(50001,'op'),(50002,'queue'),(50003,'trace'),(50004,'mstx')" },
	{ ALWAYS, NOTHING, "CREATE TABLE ENUM_MEMCPY_OPERATION (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_MEMCPY_OPERATION VALUES(0,'host to host'),(1,'host to device'),(2,'device to host'),"
		"(3,'device to device'),(4,'managed memory'),(5,'addr device to device'),(6,'host to device ex'),"
		"(7,'device to host ex'),(65535,'other')" },
	{ ALWAYS, NEED_MARKS, "CREATE TABLE MSTX_EVENTS (startNs INTEGER,endNs INTEGER,eventType INTEGER,rangeId INTEGER,"
		"category INTEGER,message INTEGER,globalTid INTEGER,endGlobalTid INTEGER,domainId INTEGER,connectionId INTEGER)" },
	{ ALWAYS, NEED_MARKS, "CREATE TABLE ENUM_MSTX_EVENT_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_MSTX_EVENT_TYPE VALUES(0,'marker'),(1,'push/pop'),(2,'start/end'),(3,'marker_ex')" },
	{ NEW, NOTHING, "CREATE TABLE ENUM_OVERLAP_ANALYSIS_TYPE (id INTEGER PRIMARY KEY,name TEXT);"
		"INSERT INTO ENUM_OVERLAP_ANALYSIS_TYPE VALUES(0,'COMPUTE'),(1,'COMMUNICATION'),(2,'COMM_NOT_OVERLAP_COMP'),"
		"(3,'FREE'),(65535,'other')" },
};
/* clang-format on */

static bool is_needed(const struct declaration *declaration, const struct syn_config *config,
		      bool torch)
{
	if (!(declaration->when & (config->schema ? NEW : OLD)))
		return false;
	switch (declaration->need) {
	case NEED_PMU:
		return config->pmu && config->level > 0;
	case NEED_MEMORY:
		return config->memory || config->samples;
	case NEED_SAMPLES:
		return config->samples;
	case NEED_STEPS:
		return torch && !config->no_steps;
	case NEED_TORCH:
		return torch;
	case NEED_TORCH_MEMORY:
		return torch && config->memory;
	case NEED_MARKS:
		return config->marks;
	case NEED_CCU:
		return config->engine == SYN_ENGINE_CCU;
	case NEED_DPU:
		return config->engine == SYN_ENGINE_DPU;
	case NOTHING:
		break;
	}
	return true;
}

int syn_schema_create(struct np_db_writer *writer, const struct syn_config *config, bool torch,
		      struct np_err *err)
{
	for (size_t i = 0; i < NP_COUNT(declarations); i++) {
		int rc = NP_OK;

		if (is_needed(&declarations[i], config, torch))
			rc = np_db_writer_exec(writer, declarations[i].sql, err);
		if (rc < 0)
			return rc;
	}
	return NP_OK;
}

int syn_schema_index(struct np_db_writer *writer, struct np_err *err)
{
	return np_db_writer_exec(
		writer,
		"CREATE INDEX TaskIndex ON TASK (startNs,globalTaskId);"
		"CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)",
		err);
}
