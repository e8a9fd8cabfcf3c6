/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NPUSIM_ACL_API_H
#define NPUSIM_ACL_API_H

/*
 * The C interface of AscendCL, HCCL and mstx that the simulator has
 * =================================================================
 *
 * Declarations only, written from documented facts: nothing of CANN is needed to
 * build. The collector has declarations of its own (collect/acl), on purpose: a
 * mistake in the one does not hide in the other.
 */

#include <stddef.h>
#include <stdint.h>

#define ACL_API __attribute__((visibility("default")))

typedef int aclError;
typedef void *aclrtStream;
typedef void *aclrtEvent;
typedef void *aclrtFuncHandle;

/* Return codes. */
enum {
	ACL_SUCCESS = 0,
	ACL_ERROR_INVALID_PARAM = 100000,
	ACL_ERROR_UNINITIALIZE = 100001,
	ACL_ERROR_REPEAT_INITIALIZE = 100002,
	ACL_ERROR_INVALID_FILE = 100003,
	ACL_ERROR_INVALID_PROFILING_CONFIG = 100010,
	ACL_ERROR_REPEAT_FINALIZE = 100037,
	ACL_ERROR_PROF_ALREADY_RUN = 100042,
	ACL_ERROR_PROF_NOT_RUN = 100043,
	ACL_ERROR_WAIT_TIMEOUT = 107020,
	ACL_ERROR_PROF_REPEAT_SUBSCRIBE = 148046,
	ACL_ERROR_PROF_API_CONFLICT = 148047,
	ACL_ERROR_BAD_ALLOC = 200000,
	ACL_ERROR_API_NOT_SUPPORT = 200001,
	ACL_ERROR_INVALID_DEVICE = 200002,
	ACL_ERROR_FEATURE_UNSUPPORTED = 200006,
	ACL_ERROR_PROF_MODULES_UNSUPPORTED = 200007,
	ACL_ERROR_RT_FAILURE = 500003,
	ACL_ERROR_PROFILING_FAILURE = 500005,
};

/* dataTypeConfig. */
#define ACL_PROF_ACL_API        0x0001ULL
#define ACL_PROF_TASK_TIME      0x0002ULL
#define ACL_PROF_AICORE_METRICS 0x0004ULL
#define ACL_PROF_AICPU          0x0008ULL
#define ACL_PROF_L2CACHE        0x0010ULL
#define ACL_PROF_HCCL_TRACE     0x0020ULL
#define ACL_PROF_TRAINING_TRACE 0x0040ULL
#define ACL_PROF_MSPROFTX       0x0080ULL
#define ACL_PROF_RUNTIME_API    0x0100ULL
#define ACL_PROF_GE_API_L0      0x0200ULL
#define ACL_PROF_TASK_TIME_L0   0x0800ULL
#define ACL_PROF_TASK_MEMORY    0x1000ULL
#define ACL_PROF_TASK_TIME_L2   0x2000ULL
#define ACL_PROF_OP_ATTR        0x4000ULL
#define ACL_PROF_TASK_TIME_L3   0x8000ULL
#define ACL_PROF_GE_API_L1      0x01000000ULL
#define ACL_PROF_API_STATS      0x400000000ULL
#define ACL_PROF_AICORE_SHAPE   0x800000000ULL
#define ACL_PROF_AICPU_MODEL    0x4000000000000000ULL /* internal: every configuration has it */

#define ACL_PROF_MAX_DEVICES 64
#define ACL_PROF_MAX_PATH    4095
#define ACL_PROF_MAX_CONFIG  256

typedef enum {
	ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
	ACL_AICORE_PIPE_UTILIZATION = 1,
	ACL_AICORE_MEMORY_BANDWIDTH = 2,
	ACL_AICORE_L0B_AND_WIDTH = 3,
	ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
	ACL_AICORE_MEMORY_UB = 5,
	ACL_AICORE_L2_CACHE = 6,
	ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
	ACL_AICORE_MEMORY_ACCESS = 8,
	ACL_AICORE_NONE = 0xFF,
} aclprofAicoreMetrics;

/* Keys of aclprofSetConfig. */
typedef enum {
	ACL_PROF_STORAGE_LIMIT = 1,
	ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3,
	ACL_PROF_LLC_MODE = 4,
	ACL_PROF_SYS_IO_FREQ = 5,
	ACL_PROF_SYS_INTERCONNECTION_FREQ = 6,
	ACL_PROF_DVPP_FREQ = 7,
	ACL_PROF_HOST_SYS = 8,
	ACL_PROF_HOST_SYS_USAGE = 9,
	ACL_PROF_HOST_SYS_USAGE_FREQ = 10,
	ACL_PROF_LOW_POWER_FREQ = 11,
	ACL_PROF_SYS_MEM_SERVICEFLOW = 12,
	ACL_PROF_SYS_CPU_FREQ = 13,
	ACL_PROF_OPTYPE = 14,
	ACL_PROF_NTS_METRICS = 15,
	ACL_PROF_PATH = 16,
	ACL_PROF_CONFIG_MAX = 17,
} aclprofConfigType;

typedef enum {
	ACL_STEP_START = 0,
	ACL_STEP_END = 1,
} aclprofStepTag;

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;
typedef struct aclprofSubscribeConfig aclprofSubscribeConfig;
typedef struct aclprofStepInfo aclprofStepInfo;

typedef struct {
	uint32_t type; /* 0 input, 1 output */
	uint32_t format;
	uint32_t dataType;
	uint32_t shapeDim;
	uint32_t shape[8];
} aclprofTensor;

typedef struct {
	uint64_t opNameId;
	uint64_t opTypeId;
	uint32_t resv;
	uint32_t tensorNum;
	uint32_t kernelType;
	uint32_t blockNums;
	void *stream;
	aclprofTensor *tensors;
} aclprofTensorInfo;

typedef struct {
	uint16_t version; /* 1 */
	uint16_t size;
	uint32_t messageType; /* 0 tensor info */
	union {
		aclprofTensorInfo *tensorInfo;
	} message;
} aclprofEventAttributes;

/* --- libmsprofiler.so --------------------------------------------------------------------- */

ACL_API aclError aclprofInit(const char *profilerResultPath, size_t length);
ACL_API aclError aclprofFinalize(void);
ACL_API aclError aclprofStart(const aclprofConfig *config);
ACL_API aclError aclprofStop(const aclprofConfig *config);
ACL_API aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
					   aclprofAicoreMetrics aicoreMetrics,
					   const aclprofAicoreEvents *aicoreEvents,
					   uint64_t dataTypeConfig);
ACL_API aclError aclprofDestroyConfig(const aclprofConfig *config);
ACL_API aclError aclprofSetConfig(aclprofConfigType configType, const char *config,
				  size_t configLength);
/* In no public header. */
ACL_API aclError aclprofWarmup(const aclprofConfig *config);
ACL_API int32_t aclprofGetSupportedFeatures(size_t *n, void **data);
ACL_API int32_t aclprofGetSupportedFeaturesV2(size_t *n, void **data);
ACL_API int aclprofRegisterDeviceCallback(void);

ACL_API aclprofStepInfo *aclprofCreateStepInfo(void);
ACL_API void aclprofDestroyStepInfo(aclprofStepInfo *stepInfo);
ACL_API aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag,
					 aclrtStream stream);
ACL_API void *aclprofCreateStamp(void);
ACL_API void aclprofDestroyStamp(void *stamp);
ACL_API aclError aclprofSetStampTraceMessage(void *stamp, const char *msg, uint32_t len);
ACL_API aclError aclprofMark(void *stamp);
ACL_API aclError aclprofMarkEx(const char *msg, size_t len, aclrtStream stream);
ACL_API aclError aclprofPush(void *stamp);
ACL_API aclError aclprofPop(void);
ACL_API aclError aclprofRangeStart(void *stamp, uint32_t *rangeId);
ACL_API aclError aclprofRangeStop(uint32_t rangeId);
ACL_API aclError aclprofRangePushEx(aclprofEventAttributes *attributes);
ACL_API aclError aclprofRangePop(void);
ACL_API uint64_t aclprofStr2Id(const char *text);
ACL_API aclError aclprofSetCategoryName(uint32_t category, const char *name);
ACL_API aclError aclprofSetStampCategory(void *stamp, uint32_t category);
ACL_API aclError aclprofSetStampPayload(void *stamp, int32_t type, void *value);

ACL_API aclprofSubscribeConfig *
aclprofCreateSubscribeConfig(int8_t timeInfoSwitch, aclprofAicoreMetrics metrics, void *fd);
ACL_API aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig *config);
ACL_API aclError aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig *config);
ACL_API aclError aclprofModelUnSubscribe(uint32_t modelId);

/* --- libascendcl.so ----------------------------------------------------------------------- */

enum {
	ACL_MEMCPY_HOST_TO_HOST,
	ACL_MEMCPY_HOST_TO_DEVICE,
	ACL_MEMCPY_DEVICE_TO_HOST,
	ACL_MEMCPY_DEVICE_TO_DEVICE,
};

enum {
	ACL_RT_DEVICE_STATE_SET_PRE,
	ACL_RT_DEVICE_STATE_SET_POST,
	ACL_RT_DEVICE_STATE_RESET_PRE,
	ACL_RT_DEVICE_STATE_RESET_POST,
};

typedef void (*aclrtDeviceStateCallback)(int32_t device, int state, void *args);
typedef aclError (*aclFinalizeCallback)(void *args);
typedef void (*aclrtCallback)(void *userData);

ACL_API aclError aclInit(const char *configPath);
ACL_API aclError aclFinalize(void);
ACL_API aclError aclrtSetDevice(int32_t deviceId);
ACL_API aclError aclrtResetDevice(int32_t deviceId);
ACL_API aclError aclrtResetDeviceForce(int32_t deviceId);
ACL_API aclError aclrtGetDevice(int32_t *deviceId);
ACL_API aclError aclrtGetDeviceCount(uint32_t *count);
ACL_API const char *aclrtGetSocName(void);
ACL_API aclError aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch);
ACL_API aclError aclsysGetVersionStr(char *package, char *version);
ACL_API const char *aclGetRecentErrMsg(void);
ACL_API aclError aclrtRegDeviceStateCallback(const char *name, aclrtDeviceStateCallback fn,
					     void *args);
ACL_API aclError aclFinalizeCallbackRegister(int type, aclFinalizeCallback fn, void *args);

ACL_API aclError aclrtCreateStream(aclrtStream *stream);
ACL_API aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag);
ACL_API aclError aclrtDestroyStream(aclrtStream stream);
ACL_API aclError aclrtSynchronizeStream(aclrtStream stream);
ACL_API aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t ms);
ACL_API aclError aclrtSynchronizeDevice(void);
ACL_API aclError aclrtSynchronizeDeviceWithTimeout(int32_t ms);
ACL_API aclError aclrtStreamGetId(aclrtStream stream, int32_t *id);
/* status: 0 complete, 1 not ready */
ACL_API aclError aclrtStreamQuery(aclrtStream stream, int *status);

ACL_API aclError aclrtLaunchKernel(aclrtFuncHandle func, uint32_t blocks, const void *args,
				   size_t size, aclrtStream stream);
ACL_API aclError aclrtLaunchKernelV2(aclrtFuncHandle func, uint32_t blocks, const void *args,
				     size_t size, void *config, aclrtStream stream);
ACL_API aclError aclrtLaunchKernelWithConfig(aclrtFuncHandle func, uint32_t blocks,
					     aclrtStream stream, void *config, void *args,
					     void *reserve);
ACL_API aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle func, uint32_t blocks,
					       aclrtStream stream, void *config, void *hostArgs,
					       size_t size, void *placeHolders, size_t count);
ACL_API aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, int blockType,
				     aclrtStream stream);
ACL_API aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtCallback fn, void *args);

ACL_API aclError aclrtMalloc(void **address, size_t size, int policy);
ACL_API aclError aclrtFree(void *address);
ACL_API aclError aclrtMallocHost(void **address, size_t size);
ACL_API aclError aclrtFreeHost(void *address);
ACL_API aclError aclrtMemcpy(void *dst, size_t max, const void *src, size_t n, int kind);
ACL_API aclError aclrtMemcpyAsync(void *dst, size_t max, const void *src, size_t n, int kind,
				  aclrtStream stream);
ACL_API aclError aclrtMemset(void *address, size_t max, int32_t value, size_t n);
ACL_API aclError aclrtGetMemInfo(int attribute, size_t *free_bytes, size_t *total_bytes);

ACL_API aclError aclrtCreateEvent(aclrtEvent *event);
ACL_API aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
ACL_API aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);
ACL_API aclError aclrtSynchronizeEvent(aclrtEvent event);
ACL_API aclError aclrtEventElapsedTime(float *ms, aclrtEvent start, aclrtEvent end);
ACL_API aclError aclrtDestroyEvent(aclrtEvent event);

/* --- libhccl.so --------------------------------------------------------------------------- */

typedef int HcclResult;
typedef void *HcclComm;
typedef int HcclDataType;
typedef int HcclReduceOp;

enum {
	HCCL_SUCCESS = 0,
	HCCL_E_PARA = 1,
	HCCL_E_PTR = 2,
	HCCL_E_MEMORY = 3,
	HCCL_E_INTERNAL = 4,
	HCCL_E_NOT_SUPPORT = 5,
	HCCL_E_NOT_FOUND = 6,
	HCCL_E_TIMEOUT = 9,
	HCCL_E_REMOTE = 21,
};

enum {
	HCCL_INT8 = 0,
	HCCL_INT16 = 1,
	HCCL_INT32 = 2,
	HCCL_FP16 = 3,
	HCCL_FP32 = 4,
	HCCL_INT64 = 5,
	HCCL_UINT64 = 6,
	HCCL_UINT8 = 7,
	HCCL_UINT16 = 8,
	HCCL_UINT32 = 9,
	HCCL_FP64 = 10,
	HCCL_BFP16 = 11,
	HCCL_INT128 = 12,
	HCCL_HIF8 = 14,
	HCCL_FP8E4M3 = 15,
	HCCL_FP8E5M2 = 16,
	HCCL_FP8E8M0 = 17,
};

#define HCCL_COMM_NAME_MAX 128

typedef struct {
	char internal[4108];
} HcclRootInfo;

/* The beginning of HcclCommConfig; `size` says how much of it the caller has. */
typedef struct {
	size_t size;
	uint32_t magic; /* 0xf0f0f0f0 */
	uint32_t version;
	uint64_t reserved;
	uint32_t hcclBufferSize;
	uint32_t hcclDeterministic;
	char hcclCommName[HCCL_COMM_NAME_MAX];
	char hcclUdi[128];
	uint32_t hcclOpExpansionMode;
	uint32_t hcclRdmaTrafficClass;
	uint32_t hcclRdmaServiceLevel;
	uint32_t hcclWorldRankID;
	uint64_t hcclJobID;
} HcclCommConfig;

typedef struct {
	int sendRecvType; /* 0 send, 1 receive */
	void *buf;
	uint64_t count;
	HcclDataType dataType;
	uint32_t remoteRank;
} HcclSendRecvItem;

ACL_API HcclResult HcclGetRootInfo(HcclRootInfo *root);
ACL_API HcclResult HcclCommInitRootInfo(uint32_t n, const HcclRootInfo *root, uint32_t rank,
					HcclComm *comm);
ACL_API HcclResult HcclCommInitRootInfoConfig(uint32_t n, const HcclRootInfo *root, uint32_t rank,
					      const HcclCommConfig *config, HcclComm *comm);
ACL_API HcclResult HcclCommInitClusterInfo(const char *rankTable, uint32_t rank, HcclComm *comm);
ACL_API HcclResult HcclCommInitClusterInfoConfig(const char *rankTable, uint32_t rank,
						 HcclCommConfig *config, HcclComm *comm);
ACL_API HcclResult HcclCommInitAll(uint32_t n, int32_t *devices, HcclComm *comms);
ACL_API HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t n, uint32_t *rankIds,
					   uint64_t id, uint32_t subRank, HcclCommConfig *config,
					   HcclComm *subComm);
ACL_API HcclResult HcclCommDestroy(HcclComm comm);
ACL_API HcclResult HcclGetCommName(HcclComm comm, char *name);
ACL_API HcclResult HcclGetRankSize(HcclComm comm, uint32_t *size);
ACL_API HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank);

ACL_API HcclResult HcclAllReduce(void *send, void *recv, uint64_t count, HcclDataType type,
				 HcclReduceOp op, HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType type, uint32_t root,
				 HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclAllGather(void *send, void *recv, uint64_t count, HcclDataType type,
				 HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclReduceScatter(void *send, void *recv, uint64_t recvCount, HcclDataType type,
				     HcclReduceOp op, HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclReduce(void *send, void *recv, uint64_t count, HcclDataType type,
			      HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclScatter(void *send, void *recv, uint64_t count, HcclDataType type,
			       uint32_t root, HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclSend(void *buf, uint64_t count, HcclDataType type, uint32_t peer,
			    HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclRecv(void *buf, uint64_t count, HcclDataType type, uint32_t peer,
			    HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclAlltoAll(const void *send, uint64_t sendCount, HcclDataType sendType,
				const void *recv, uint64_t recvCount, HcclDataType recvType,
				HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclAlltoAllV(const void *send, const void *sendCounts, const void *sendDispls,
				 HcclDataType sendType, const void *recv, const void *recvCounts,
				 const void *recvDispls, HcclDataType recvType, HcclComm comm,
				 aclrtStream stream);
ACL_API HcclResult HcclAlltoAllVC(const void *send, const void *countMatrix, HcclDataType sendType,
				  const void *recv, HcclDataType recvType, HcclComm comm,
				  aclrtStream stream);
ACL_API HcclResult HcclAllGatherV(void *send, uint64_t sendCount, void *recv,
				  const void *recvCounts, const void *recvDispls, HcclDataType type,
				  HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclReduceScatterV(void *send, const void *sendCounts, const void *sendDispls,
				      void *recv, uint64_t recvCount, HcclDataType type,
				      HcclReduceOp op, HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);
ACL_API HcclResult HcclBatchSendRecv(HcclSendRecvItem *items, uint32_t count, HcclComm comm,
				     aclrtStream stream);
ACL_API HcclResult HcclGroupStart(void);
ACL_API HcclResult HcclGroupEnd(void);

/* --- libms_tools_ext.so ------------------------------------------------------------------- */

typedef uint64_t mstxRangeId; /* 0 invalid */
typedef struct mstxDomainRegistration_st *mstxDomainHandle_t;

ACL_API void mstxMarkA(const char *message, aclrtStream stream);
ACL_API mstxRangeId mstxRangeStartA(const char *message, aclrtStream stream);
ACL_API void mstxRangeEnd(mstxRangeId id);
ACL_API mstxDomainHandle_t mstxDomainCreateA(const char *name);
ACL_API void mstxDomainDestroy(mstxDomainHandle_t domain);
ACL_API void mstxDomainMarkA(mstxDomainHandle_t domain, const char *message, aclrtStream stream);
ACL_API mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char *message,
					  aclrtStream stream);
ACL_API void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id);

/*
 * Injection: the mstx library hands InitInjectionMstx a way to get, for each module,
 * an array of pointers to function slots. Slot 0 is unused, others may be NULL, and
 * the announced size may be too large: write known slots only.
 */
typedef void (*mstxFunction)(void);
typedef mstxFunction **mstxFunctionTable;
typedef int (*mstxGetModuleTable)(int module, mstxFunctionTable *table, unsigned *size);

enum {
	MSTX_MODULE_CORE = 1,
	MSTX_MODULE_CORE_DOMAIN = 2,
	MSTX_MODULE_CORE_MEM = 3,
};

enum {
	MSTX_CORE_MARK = 1,
	MSTX_CORE_RANGE_START,
	MSTX_CORE_RANGE_END,
	MSTX_CORE_TOOL_ID,
};

enum {
	MSTX_DOMAIN_CREATE = 1,
	MSTX_DOMAIN_DESTROY,
	MSTX_DOMAIN_MARK,
	MSTX_DOMAIN_RANGE_START,
	MSTX_DOMAIN_RANGE_END,
};

ACL_API int InitInjectionMstx(mstxGetModuleTable get);

#endif /* NPUSIM_ACL_API_H */
