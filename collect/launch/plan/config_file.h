/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CONFIG_FILE_H
#define NP_CONFIG_FILE_H

#include "npuprof/buf.h"
#include "plan.h"

/*
 * Settings from a file
 * ====================
 *
 * Kinds are distinguished by their members, or by the name:
 *
 *	ours                  the keys of np_plan_fields and "preset"
 *	tools.json            of MindSpeed-MM: an object "profile"; what stands beside it is
 *	                      for other tools and is named as ignored
 *	profiler_config.json  of torch_npu's dynamic_profile
 *	*.yaml                of MindSpeed-LLM: its lines "profile_*: value", whatever else is there
 *
 * All may have comments and commas after the last element. A key that is not
 * known is an error, with the one that was probably meant; a known one that this
 * collector cannot serve is named in `notes`, one line each.
 *
 * Settings that the file does not have keep the value they have in `plan`.
 * Fails with NP_E_USAGE, or as np_json_read_file() does.
 */
int np_config_file_read(const char *path, struct np_plan *plan, struct np_buf *notes,
			struct np_err *err) NP_MUST_USE;

/* The same of a text; `name` stands for the path. */
int np_config_text_read(const char *text, size_t length, const char *name, struct np_plan *plan,
			struct np_buf *notes, struct np_err *err) NP_MUST_USE;

#endif /* NP_CONFIG_FILE_H */
