/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_ACL_BIND_H
#define NP_ACL_BIND_H

#include "acl_abi.h"
#include "npuprof/err.h"

/*
 * AscendCL at run time
 * ====================
 *
 * Finds the functions of libmsprofiler.so and libascendcl.so in this process.
 * The libraries stay loaded: a profiler that has threads cannot be unloaded.
 *
 * Only the functions without which nothing can be profiled are mandatory; the
 * others are NULL where this version of CANN has none (older releases miss
 * aclprofWarmup, aclprofGetSupportedFeatures, …). Callers ask before they call.
 *
 * The table is filled once and then only read: any thread may use it.
 */
struct np_acl {
	/* mandatory */
	aclError (*prof_init)(const char *path, size_t length);
	aclError (*prof_start)(const aclprofConfig *config);
	aclError (*prof_stop)(const aclprofConfig *config);
	aclError (*prof_finalize)(void);
	aclprofConfig *(*prof_create_config)(uint32_t *devices, uint32_t count,
					     aclprofAicoreMetrics metrics,
					     const aclprofAicoreEvents *events, uint64_t mask);
	aclError (*prof_destroy_config)(const aclprofConfig *config);
	/* NULL where missing */
	aclError (*prof_set_config)(aclprofConfigType key, const char *value, size_t length);
	aclError (*prof_warmup)(const aclprofConfig *config);
	int32_t (*prof_features)(size_t *count, void **data); /* V2 if there is one */
	int (*prof_register_device_callback)(void);
	aclError (*set_device)(int32_t device);
	aclError (*get_device)(int32_t *device);
	aclError (*synchronize_device)(void);
	aclError (*synchronize_device_timeout)(int32_t milliseconds);
	const char *(*soc_name)(void);
	aclError (*package_version)(char *package, char *version); /* into at least 128 bytes */
	aclError (*version)(int32_t *major, int32_t *minor, int32_t *patch);
};

enum np_acl_scope {
	NP_ACL_DEFAULT, /* what the program itself would get */
	NP_ACL_NEXT, /* what stands behind this object: for a library that has hooks of these names
		      */
};

/*
 * NP_E_NOTFOUND when there is no AscendCL, or when a mandatory function is missing:
 * the text names the functions and says why the libraries could not be loaded.
 */
int np_acl_bind(struct np_acl *ret, enum np_acl_scope scope, struct np_err *err) NP_MUST_USE;

/* The optional functions that are missing, as "a, b"; "" if none. Cut to fit. */
void np_acl_missing(const struct np_acl *acl, char *text, size_t size);

/* What this version of CANN offers beyond the functions: enum np_acl_features of acl_plan.h. */
unsigned np_acl_features(const struct np_acl *acl);

/* "INVALID_PROFILING_CONFIG" and so on, or "unknown". */
const char *np_acl_error_name(aclError code);

#endif /* NP_ACL_BIND_H */
