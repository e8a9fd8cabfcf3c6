/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_MCP_RUNS_H
#define NP_MCP_RUNS_H

/*
 * The runs that a server may read, and what it has found in them
 * ==============================================================
 *
 * Only what lies below the directories named at the start can be reached: paths are resolved
 * first, and a run with a file that a symbolic link leads elsewhere is refused. The handle of a
 * run is its resolved path, so that a request needs no other before it. What was analysed is
 * kept, a few runs at a time, as long as their files stay as they were.
 */

#include "npuprof/advice.h"
#include "npuprof/analysis.h"
#include "npuprof/vec.h"

struct np_opt_list;

/* One that was analysed. */
struct mcp_run {
	char *path;
	char *phase; /* NULL: it has one only */
	char fingerprint[17];
	struct np_analysis *analysis;
	struct np_advice *advice; /* NULL until somebody asks */
	uint64_t used;            /* when it was asked for last, counted */
};

struct mcp_runs {
	NP_VEC(char *) roots; /* resolved */
	NP_VEC(struct mcp_run *) kept;
	const char *store; /* of npuprof history; NULL or "": there is none */
	size_t threads;
	uint64_t clock;
};

int mcp_runs_init(struct mcp_runs *runs, const struct np_opt_list *roots, size_t threads,
		  struct np_err *err) NP_MUST_USE;
void mcp_runs_release(struct mcp_runs *runs);

/*
 * The resolved path of a directory or file that may be read, to be freed; one that is not
 * absolute is looked for below each root. NULL is the only root. NP_E_USAGE for what is not there
 * or lies outside: the two look the same from outside.
 */
int mcp_runs_resolve(const struct mcp_runs *runs, const char *path, char **ret, struct np_err *err)
	NP_MUST_USE;

/* May all files of what is found at a resolved path be read? */
int mcp_runs_check(const struct mcp_runs *runs, const char *path, struct np_err *err) NP_MUST_USE;

/* The analysis of a run, from before if its files are the same; borrowed until the next call. */
int mcp_runs_load(struct mcp_runs *runs, const char *path, const char *phase, struct mcp_run **ret,
		  struct np_err *err) NP_MUST_USE;

/* What the rules find in it; borrowed likewise. */
int mcp_run_advice(struct mcp_run *run, size_t threads, const struct np_advice **ret,
		   struct np_err *err) NP_MUST_USE;

/* A run that can be asked about, found without reading profiles. */
struct mcp_found {
	char *path;
	size_t ranks;
	int64_t bytes;
	char *phases; /* as a JSON array of texts */
};

struct mcp_found_list {
	NP_VEC(struct mcp_found) list;
};

/* All runs below the roots, by path. */
int mcp_runs_find(const struct mcp_runs *runs, struct mcp_found_list *ret, struct np_err *err)
	NP_MUST_USE;
void mcp_found_release(struct mcp_found_list *found);

#endif /* NP_MCP_RUNS_H */
