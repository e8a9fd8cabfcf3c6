/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYN_LAYOUT_H
#define SYN_LAYOUT_H

/*
 * How the captures of a run lie in directories: as profilers leave them, or as frameworks and
 * people keep them.
 */

#include "npuprof/err.h"

struct syn_config;

enum syn_placing {
	SYN_PLACE_USUAL,
	SYN_PLACE_FLAT,    /* databases side by side, nothing else */
	SYN_PLACE_VLLM,    /* names have coordinates, and no file has the rank */
	SYN_PLACE_SGLANG,  /* likewise names of traces; those of directories have none */
	SYN_PLACE_OUTPUTS, /* rank_<n>/ASCEND_PROFILER_OUTPUT, or …/mindstudio_profiler_output */
	SYN_PLACE_FILES,   /* the files of these in rank_<n> */
};

struct syn_layout {
	enum syn_placing placing;
	/* A capture of each rank for each of these directories, ended by NULL; "" is the top. */
	const char *const *parts;
};

/* Layouts and their names in the same order; the names are ended by NULL. */
extern const struct syn_layout syn_layouts[];
extern const char *const syn_layout_names[];

const struct syn_layout *syn_layout_of(const struct syn_config *config);

/* Does a profiler's own metadata stand beside its output? */
bool syn_has_metadata(const struct syn_config *config);

/* Do files say the rank? */
bool syn_knows_rank(const struct syn_config *config);

/* Refuse forms that a layout does not go with (NP_E_USAGE). */
int syn_layout_check(const struct syn_config *config, struct np_err *err) NP_MUST_USE;

#endif /* SYN_LAYOUT_H */
