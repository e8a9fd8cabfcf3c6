/* SPDX-License-Identifier: Apache-2.0 */
/* AscendCL as it is on this host: its libraries and those functions of them that exist. */
#include "acl_bind.h"

#include <assert.h>
#include <dlfcn.h>
#include <stddef.h>

#include "acl_plan.h"

#define FEATURES_MAX 64

struct symbol {
	const char *name;
	size_t offset;
	bool mandatory;
};

#define MANDATORY(name, member) \
	{ \
		name, offsetof(struct np_acl, member), true \
	}
#define OPTIONAL(name, member) \
	{ \
		name, offsetof(struct np_acl, member), false \
	}

/* The first name that is found for a member stays: newer ones stand before older ones. */
static const struct symbol symbols[] = {
	MANDATORY("aclprofInit", prof_init),
	MANDATORY("aclprofStart", prof_start),
	MANDATORY("aclprofStop", prof_stop),
	MANDATORY("aclprofFinalize", prof_finalize),
	MANDATORY("aclprofCreateConfig", prof_create_config),
	MANDATORY("aclprofDestroyConfig", prof_destroy_config),
	OPTIONAL("aclprofSetConfig", prof_set_config),
	OPTIONAL("aclprofWarmup", prof_warmup),
	OPTIONAL("aclprofGetSupportedFeaturesV2", prof_features),
	OPTIONAL("aclprofGetSupportedFeatures", prof_features),
	OPTIONAL("aclprofRegisterDeviceCallback", prof_register_device_callback),
	OPTIONAL("aclrtSetDevice", set_device),
	OPTIONAL("aclrtGetDevice", get_device),
	OPTIONAL("aclrtSynchronizeDevice", synchronize_device),
	OPTIONAL("aclrtSynchronizeDeviceWithTimeout", synchronize_device_timeout),
	OPTIONAL("aclrtGetSocName", soc_name),
	OPTIONAL("aclsysGetVersionStr", package_version),
	OPTIONAL("aclrtGetVersion", version),
};

/* Pointers to functions are stored as bytes: ISO C has no cast from what dlsym() returns. */
static_assert(sizeof(void *) == sizeof(void (*)(void)), "dlsym returns functions as void *");

static bool is_bound(const struct np_acl *acl, const struct symbol *symbol)
{
	void *function;

	memcpy(&function, (const char *)acl + symbol->offset, sizeof(function));
	return function != NULL;
}

static void bind_symbol(struct np_acl *acl, const struct symbol *symbol, void *scope,
			void *const *library)
{
	void *function = dlsym(scope, symbol->name);

	for (size_t i = 0; i < 2 && !function; i++)
		if (library[i])
			function = dlsym(library[i], symbol->name);
	memcpy((char *)acl + symbol->offset, &function, sizeof(function));
}

/* Append to a list of names "a, b". */
static void add_name(char *text, size_t size, const char *name)
{
	size_t used = strlen(text);

	(void)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", name);
}

static void list_missing(const struct np_acl *acl, bool mandatory, char *text, size_t size)
{
	text[0] = '\0';
	for (size_t i = 0; i < NP_COUNT(symbols); i++) {
		bool again = i > 0 && symbols[i].offset == symbols[i - 1].offset;

		if (symbols[i].mandatory == mandatory && !again && !is_bound(acl, &symbols[i]))
			add_name(text, size, symbols[i].name);
	}
}

int np_acl_bind(struct np_acl *ret, enum np_acl_scope scope, struct np_err *err)
{
	static const char *const names[2] = { "libmsprofiler.so", "libascendcl.so" };
	void *first = scope == NP_ACL_NEXT ? RTLD_NEXT : RTLD_DEFAULT;
	void *library[2];
	char problem[200] = "";
	char missing[200];
	struct np_acl acl = { 0 };

	for (size_t i = 0; i < 2; i++) {
		library[i] = dlopen(names[i], RTLD_LAZY | RTLD_GLOBAL);
		if (!library[i] && !problem[0]) {
			const char *reason = dlerror();

			(void)snprintf(problem, sizeof(problem), "%s", reason ? reason : "?");
		}
	}
	for (size_t i = 0; i < NP_COUNT(symbols); i++)
		if (!is_bound(&acl, &symbols[i]))
			bind_symbol(&acl, &symbols[i], first, library);
	list_missing(&acl, true, missing, sizeof(missing));
	if (!missing[0]) {
		*ret = acl;
		return NP_OK;
	}
	return np_fail(err, NP_E_NOTFOUND,
		       "AscendCL lacks %s (%s); set LD_LIBRARY_PATH to the lib64 of a CANN that "
		       "can profile",
		       missing, problem[0] ? problem : "the libraries are loaded, but older");
}

void np_acl_missing(const struct np_acl *acl, char *text, size_t size)
{
	list_missing(acl, false, text, size);
}

unsigned np_acl_features(const struct np_acl *acl)
{
	static const struct {
		const char *name;
		unsigned bit;
	} known[] = {
		{ "ATTR", NP_ACL_HAS_ATTR },
		{ "MemoryAccess", NP_ACL_HAS_MEMORY_ACCESS },
		{ "AICORE_SHAPE", NP_ACL_HAS_AICORE_SHAPE },
	};
	const struct aclprofFeatureRecord *record;
	void *data = NULL;
	size_t count = 0;
	unsigned features = 0;

	/* A count beyond reason means that the answer is not what we take it for. */
	if (!acl->prof_features || acl->prof_features(&count, &data) != 0 || !data ||
	    count > FEATURES_MAX)
		return 0;
	record = data;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < NP_COUNT(known); k++)
			if (strncmp(record[i].featureName, known[k].name,
				    sizeof(record[i].featureName)) == 0)
				features |= known[k].bit;
	return features;
}

const char *np_acl_error_name(aclError code)
{
	static const struct {
		aclError code;
		const char *name;
	} names[] = {
		{ ACL_SUCCESS, "success" },
		{ ACL_ERROR_INVALID_PARAM, "INVALID_PARAM" },
		{ ACL_ERROR_UNINITIALIZE, "UNINITIALIZE" },
		{ ACL_ERROR_REPEAT_INITIALIZE, "REPEAT_INITIALIZE: profiling is on already" },
		{ ACL_ERROR_INVALID_FILE, "INVALID_FILE: the directory cannot be used" },
		{ ACL_ERROR_INVALID_PROFILING_CONFIG, "INVALID_PROFILING_CONFIG" },
		{ ACL_ERROR_PROF_ALREADY_RUN, "PROF_ALREADY_RUN: msprof or acl.json profiles" },
		{ ACL_ERROR_PROF_NOT_RUN, "PROF_NOT_RUN" },
		{ ACL_ERROR_PROF_API_CONFLICT, "PROF_API_CONFLICT: somebody else profiles" },
		{ ACL_ERROR_API_NOT_SUPPORT, "API_NOT_SUPPORT" },
		{ ACL_ERROR_INVALID_DEVICE, "INVALID_DEVICE" },
		{ ACL_ERROR_FEATURE_UNSUPPORTED, "FEATURE_UNSUPPORTED: is PROFILING_MODE set?" },
		{ ACL_ERROR_PROF_MODULES_UNSUPPORTED, "PROF_MODULES_UNSUPPORTED" },
		{ ACL_ERROR_RT_FAILURE, "RT_FAILURE" },
		{ ACL_ERROR_PROFILING_FAILURE, "PROFILING_FAILURE" },
	};

	for (size_t i = 0; i < NP_COUNT(names); i++)
		if (names[i].code == code)
			return names[i].name;
	return "unknown";
}
