/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NP_CAPTURE_NAMES_H
#define NP_CAPTURE_NAMES_H

/*
 * What the name of a capture says
 * ===============================
 *
 * torch_npu, vLLM, SGLang, verl and msMonitor put facts into the names of the directories and
 * files they write: rank, coordinates, process, time. People rename them, so a name is the
 * weakest source of all: what a file inside says wins.
 *
 * Names come from outside; reading one takes bounded work, whatever it holds.
 */
#include "npuprof/err.h"

enum capture_form {
	CAPTURE_OTHER,     /* no form of these; a "rank3" in it still counts */
	CAPTURE_VLLM,      /* dp0_pp0_tp1_dcp0_ep1_rank1_<pid>_<time>_ascend_pt */
	CAPTURE_VLLM_RANK, /* rank1_<pid>_<time>_ascend_pt */
	CAPTURE_TORCH_NPU, /* <worker>_<pid>_<time>_ascend_pt */
	CAPTURE_RENAMED,   /* rank_0_ascend_pt */
	CAPTURE_PROF,      /* PROF_000001_<time>_<letters> */
	CAPTURE_MSMONITOR, /* msmonitor_<pid>_<time>_<rank>.db, .jsonl */
	CAPTURE_KINETO,    /* <worker>.<time>.pt.trace.json[.gz] */
	CAPTURE_SGLANG,    /* <id>-TP-0[-DP-0][-PP-0][-EP-0][-stage].trace.json.gz */
	CAPTURE_VERL,      /* [worker_][role_][step3_]rank0[-of-8][_tp0-pp0]_pid1_<time> */
	CAPTURE_FORMS,
};

/* A part of the name; length 0 where there is none. */
struct name_part {
	size_t begin;
	size_t length;
};

/* Numbers are -1 where the name has none. */
struct capture_name {
	enum capture_form form;
	int32_t rank; /* of vLLM: within a replica of data parallelism, see `dp` */
	int32_t world;
	int32_t dp, pp, tp, cp, ep, dcp;
	int64_t pid;
	int64_t step;
	int64_t time;            /* to order captures of one form by; no time of day */
	int64_t replica;         /* of a rollout */
	bool global;             /* the rank is one of the job, and none of a replica */
	struct name_part worker; /* all before process and time: who made the capture */
	struct name_part role;   /* of verl; the stage of SGLang */
	struct name_part stage;  /* "step3" of verl */
};

/* The patterns, compiled. Belongs to one thread. */
struct capture_names;

int capture_names_new(struct capture_names **ret, struct np_err *err) NP_MUST_USE;
void capture_names_free(struct capture_names *names);
void capture_names_freep(struct capture_names **names);

/* Read the last part of a path. A name too long or too odd to be matched is CAPTURE_OTHER. */
int capture_name_read(struct capture_names *names, const char *name, struct capture_name *ret,
		      struct np_err *err) NP_MUST_USE;

#endif /* NP_CAPTURE_NAMES_H */
