/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ACL_ABI_H
#define NP_ACL_ABI_H

/*
 * The binary interface of AscendCL, HCCL and mstx, as far as the collector uses
 * it. Nothing of CANN is needed to build: the functions are found at run time
 * (acl_bind.h), and these are the types and numbers they are called with.
 *
 * The names are CANN's own, so that they can be looked up in its manuals.
 */
#include <stddef.h>
#include <stdint.h>

/* NOLINTBEGIN(readability-identifier-naming) */

typedef int aclError;
typedef void *aclrtStream;

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;
typedef struct aclprofStepInfo aclprofStepInfo;

/* Return codes that mean something to us. */
enum {
	ACL_SUCCESS = 0,
	ACL_ERROR_INVALID_PARAM = 100000,
	ACL_ERROR_UNINITIALIZE = 100001,
	ACL_ERROR_REPEAT_INITIALIZE = 100002,
	ACL_ERROR_INVALID_FILE = 100003,
	ACL_ERROR_INVALID_PROFILING_CONFIG = 100010,
	ACL_ERROR_PROF_ALREADY_RUN = 100042,
	ACL_ERROR_PROF_NOT_RUN = 100043,
	ACL_ERROR_PROF_API_CONFLICT = 148047,
	ACL_ERROR_API_NOT_SUPPORT = 200001,
	ACL_ERROR_INVALID_DEVICE = 200002,
	ACL_ERROR_FEATURE_UNSUPPORTED = 200006,
	ACL_ERROR_PROF_MODULES_UNSUPPORTED = 200007,
	ACL_ERROR_RT_FAILURE = 500003,
	ACL_ERROR_PROFILING_FAILURE = 500005,
};

/* What to record: bits of dataTypeConfig. */
#define ACL_PROF_ACL_API        0x0001ULL
#define ACL_PROF_TASK_TIME      0x0002ULL
#define ACL_PROF_AICORE_METRICS 0x0004ULL
#define ACL_PROF_AICPU          0x0008ULL
#define ACL_PROF_L2CACHE        0x0010ULL
#define ACL_PROF_HCCL_TRACE     0x0020ULL
#define ACL_PROF_TRAINING_TRACE 0x0040ULL
#define ACL_PROF_MSPROFTX       0x0080ULL
#define ACL_PROF_RUNTIME_API    0x0100ULL
#define ACL_PROF_TASK_TIME_L0   0x0800ULL
#define ACL_PROF_TASK_MEMORY    0x1000ULL
#define ACL_PROF_OP_ATTR        0x4000ULL
#define ACL_PROF_AICORE_SHAPE   0x800000000ULL

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

typedef enum {
	ACL_STEP_START = 0,
	ACL_STEP_END = 1,
} aclprofStepTag;

/* Keys of aclprofSetConfig(). */
typedef enum {
	ACL_PROF_STORAGE_LIMIT = 1,
	ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3,
	ACL_PROF_SYS_IO_FREQ = 5,
	ACL_PROF_SYS_INTERCONNECTION_FREQ = 6,
	ACL_PROF_HOST_SYS = 8,
} aclprofConfigType;

/*
 * What aclprofGetSupportedFeatures() points at: an array of these. The part behind
 * the name is a C++ object with virtual functions, hence the pointer in it.
 */
struct aclprofFeatureRecord {
	char featureName[64];
	void *table;
	char compatibility[16]; /* "0": the feature can be used */
	char featureVersion[16];
	char affectedComponent[16];
	char affectedComponentVersion[16];
	char infoLog[128];
};

/* HCCL */
typedef int HcclResult;
typedef int HcclDataType;
typedef int HcclReduceOp;
typedef void *HcclComm;

#define HCCL_SUCCESS         0
#define HCCL_E_NOT_SUPPORT   5
#define HCCL_COMM_NAME_BYTES 128
#define HCCL_CONFIG_MAGIC    0xf0f0f0f0U

typedef struct {
	char internal[4108];
} HcclRootInfo;

/*
 * The beginning of HcclCommConfig. It has grown with versions of CANN: `size` says
 * how much of it the caller has, and nothing behind that may be read.
 */
typedef struct {
	size_t size;
	uint32_t magic;
	uint32_t version;
	uint64_t reserved;
	uint32_t hcclBufferSize;
	uint32_t hcclDeterministic;
	char hcclCommName[HCCL_COMM_NAME_BYTES];
	char hcclUdi[128];
	uint32_t hcclOpExpansionMode;
	uint32_t hcclRdmaTrafficClass;
	uint32_t hcclRdmaServiceLevel;
	uint32_t hcclWorldRankID;
	uint64_t hcclJobID;
} HcclCommConfig;

/* mstx */
typedef uint64_t mstxRangeId;
typedef struct mstxDomainRegistration_st *mstxDomainHandle_t;

/* The injection protocol: a table holds pointers to the slots of functions, slot 0 unused. */
typedef void (*mstxFuncPointer)(void);
typedef mstxFuncPointer **mstxFuncTable;
typedef int (*mstxGetModuleFuncTable)(int module, mstxFuncTable *table, unsigned *size);

enum {
	MSTX_MODULE_CORE = 1,
	MSTX_MODULE_CORE_DOMAIN = 2,
	/* slots of CORE */
	MSTX_MARK_A = 1,
	MSTX_RANGE_START_A = 2,
	/* slots of CORE_DOMAIN */
	MSTX_DOMAIN_MARK_A = 3,
	MSTX_DOMAIN_RANGE_START_A = 4,
};

/* NOLINTEND(readability-identifier-naming) */

#endif /* NP_ACL_ABI_H */
