/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NSIM_PROF_H
#define NSIM_PROF_H

#include "dynamic.h"
#include "nsim.h"

/* What the parts of libmsprofiler.so share. */

struct aclprofConfig {
	uint64_t mask; /* expanded */
	int metric;
	uint32_t count;
	uint32_t devices[ACL_PROF_MAX_DEVICES]; /* physical, sorted */
};

enum prof_mode {
	PROF_OFF,
	PROF_API,       /* after aclprofInit */
	PROF_CMD,       /* msprof, acl.json or the environment profiles */
	PROF_SUBSCRIBE, /* after aclprofModelSubscribe */
};

/* The mode, with the environment taken into account. Locked, as all that follows. */
enum prof_mode prof_mode(void);
void prof_set_mode(enum prof_mode mode);

/* The answer to a call of a mode that is not its own, or 0. */
aclError prof_conflict(void);

/* Bits a configuration gets beyond those asked for. */
uint64_t prof_expand(uint64_t mask);

/* All bits a release build knows. */
uint64_t prof_allowed_bits(void);

/* Values kept by aclprofSetConfig; NULL if never set. */
const char *prof_option(aclprofConfigType key);

/* msprof's words (dynamic.h), as the mode CMD has them; take the lock themselves. */
enum dyn_status prof_command_start(const char *json);
enum dyn_status prof_command_stop(void);

/* prof_dynamic.c: PROFILING_MODE=dynamic, and listening for msprof. Not locked. */
bool prof_is_dynamic(void);
void prof_dynamic_begin(void);
void prof_dynamic_end(void);

/* A collection is running (or being warmed up): options cannot change any more. */
bool prof_running(void);

#endif /* NSIM_PROF_H */
