/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks, coordinates, processes and roles from the names of captures. */
#include "capture_names.h"

#include "npuprof/pattern.h"
#include "npuprof/text.h"

/* File systems allow 255 bytes. */
#define LONGEST_NAME 1024

/* What a group of a pattern holds; the groups of a row in their order. */
enum name_field {
	END,
	WORKER,
	ROLE,
	RANK,
	WORLD,
	DP,
	PP,
	TP,
	EP,
	DCP,
	PID,
	TIME,
	STEP,
	MIXED, /* "tp0-pp1" */
	REPLICA,
	GLOBAL_RANK,
};

#define MOST_FIELDS 11

/* The first that matches counts. Versions differ in "_dcp", "_ep" and in whether a pid is there. */
static const struct {
	enum capture_form form;
	const char *pattern;
	enum name_field fields[MOST_FIELDS];
} forms[] = {
	{ CAPTURE_VLLM,
	  "^(?:(.+)_)?dp(\\d+)_pp(\\d+)(?:_pcp\\d+)?_tp(\\d+)(?:_dcp(\\d+))?(?:_ep(\\d+))?"
	  "(?:_rank(\\d+))?(?:_(\\d+))?_(\\d{14,20})_ascend_(?:pt|ms)$",
	  { WORKER, DP, PP, TP, DCP, EP, RANK, PID, TIME } },
	{ CAPTURE_VLLM_RANK,
	  "^(?:(.+)_)?rank(\\d+)_(\\d+)_(\\d{17})_ascend_(?:pt|ms)$",
	  { WORKER, RANK, PID, TIME } },
	{ CAPTURE_TORCH_NPU, "^(.+)_(\\d+)_(\\d{14,20})_ascend_(?:pt|ms)$", { WORKER, PID, TIME } },
	{ CAPTURE_RENAMED, "^(.*?)_?(\\d{14,20})?_?ascend_(?:pt|ms)$", { WORKER, TIME } },
	{ CAPTURE_PROF, "^PROF_\\d+_(\\d+)_[0-9A-Za-z]+$", { TIME } },
	{ CAPTURE_MSMONITOR,
	  "^msmonitor_(\\d+)_(\\d{17})_(-1|\\d+)\\.(?:db|jsonl)$",
	  { PID, TIME, RANK } },
	{ CAPTURE_KINETO,
	  "^(.+?)\\.(\\d{10,20})\\.pt\\.trace\\.json(?:\\.gz)?$",
	  { WORKER, TIME } },
	{ CAPTURE_SGLANG,
	  "^(?:(.+)-)?([\\d.]+)-TP-(\\d+)(?:-DP-(\\d+))?(?:-PP-(\\d+))?(?:-EP-(\\d+))?"
	  "(?:-([A-Za-z]+))?\\.trace\\.json(?:\\.gz)?$",
	  { WORKER, TIME, TP, DP, PP, EP, ROLE } },
	{ CAPTURE_VERL,
	  "^rollout-replica(\\d+)(?:-globalrank(\\d+))?_(?:(?!(?:tp|pp|dp|cp|rank|step|pid)\\d)([^_]+)_)?"
	  "(?:(?!(?:tp|pp|dp|cp|rank|step|pid)\\d)(.+?)_)?(?:step(\\d+)_)?"
	  "(?:rank(\\d+)(?:-of-(\\d+))?_)?(?:((?:(?:tp|pp|dp|cp)\\d+-?)+)_)?pid(\\d+)_(\\d{17})",
	  { REPLICA, GLOBAL_RANK, WORKER, ROLE, STEP, RANK, WORLD, MIXED, PID, TIME } },
	{ CAPTURE_VERL,
	  "^(?:(?!(?:rank|step)\\d)([^_]+)_)?(?:(?!(?:rank|step)\\d)(.+?)_)?(?:step(\\d+)_)?rank(\\d+)(?:-of-(\\d+))?"
	  "(?:_((?:(?:tp|pp|dp|cp)\\d+-?)+))?_pid(\\d+)_(\\d{17})",
	  { WORKER, ROLE, STEP, RANK, WORLD, MIXED, PID, TIME } },
};

/* People's own: rank0, rank_0, x-rank-0. And what vLLM puts into names of Kineto. */
static const char rank_token[] = "(?:^|[_-])rank[_-]?(\\d+)(?:[_.-]|$)";
static const char dims_token[] = "(?:^|[_.-])dp(\\d+)_pp(\\d+)(?:_pcp\\d+)?_tp(\\d+)(?:_dcp(\\d+))?"
				 "(?:_ep(\\d+))?(?:_rank(\\d+))?(?:[_.-]|$)";

struct capture_names {
	struct np_pattern *forms[NP_COUNT(forms)];
	struct np_pattern *rank;
	struct np_pattern *dims;
};

static int compile(const char *text, struct np_pattern **ret, struct np_err *err)
{
	return np_pattern_compile(text, strlen(text), 0, ret, NULL, err);
}

int capture_names_new(struct capture_names **ret, struct np_err *err)
{
	NP_CLEANUP(capture_names_freep) struct capture_names *names = calloc(1, sizeof(*names));
	int rc = names ? NP_OK : np_fail_nomem(err, "names of captures");

	for (size_t i = 0; i < NP_COUNT(forms) && rc == NP_OK; i++)
		rc = compile(forms[i].pattern, &names->forms[i], err);
	if (rc == NP_OK)
		rc = compile(rank_token, &names->rank, err);
	if (rc == NP_OK)
		rc = compile(dims_token, &names->dims, err);
	if (rc == NP_OK)
		*ret = NP_STEAL(names);
	return rc;
}

void capture_names_free(struct capture_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < NP_COUNT(forms); i++)
		np_pattern_free(names->forms[i]);
	np_pattern_free(names->rank);
	np_pattern_free(names->dims);
	free(names);
}

void capture_names_freep(struct capture_names **names)
{
	capture_names_free(*names);
	*names = NULL;
}

/* A number of the name; -1 if it is too large to be one. */
static int64_t number(const char *text, size_t length)
{
	int64_t value;

	return np_text_to_int(text, length, &value) && value >= 0 ? value : -1;
}

static int32_t small_number(const char *text, size_t length)
{
	int64_t value = number(text, length);

	return value > INT32_MAX ? -1 : (int32_t)value;
}

/* "tp0-pp1-dp3" */
static void take_mixed(const char *text, size_t length, struct capture_name *ret)
{
	const struct {
		char name[3];
		int32_t *at;
	} parts[] = {
		{ "tp", &ret->tp }, { "pp", &ret->pp }, { "dp", &ret->dp }, { "cp", &ret->cp }
	};
	size_t at = 0;

	while (at + 2 < length) {
		size_t digits = at + 2;

		while (digits < length && text[digits] >= '0' && text[digits] <= '9')
			digits++;
		for (size_t i = 0; i < NP_COUNT(parts); i++) {
			if (memcmp(text + at, parts[i].name, 2) == 0)
				*parts[i].at = small_number(text + at + 2, digits - at - 2);
		}
		at = digits + (digits < length && text[digits] == '-');
	}
}

/* 17 digits of a date, or seconds with a fraction, which become milliseconds. */
static int64_t time_of(const char *text, size_t length)
{
	int64_t time;

	if (memchr(text, '.', length))
		return np_text_to_scaled(text, length, 3, &time) ? time : -1;
	return number(text, length);
}

static void take_field(enum name_field field, const char *name, struct np_capture at,
		       struct capture_name *ret)
{
	const char *text = name + at.begin;
	size_t length = at.end - at.begin;
	struct name_part part = { at.begin, length };

	switch (field) {
	case WORKER:
		ret->worker = part;
		break;
	case ROLE:
		ret->role = part;
		break;
	case RANK:
		ret->rank = small_number(text, length);
		break;
	case GLOBAL_RANK:
		ret->rank = small_number(text, length);
		ret->global = ret->rank >= 0;
		break;
	case WORLD:
		ret->world = small_number(text, length);
		break;
	case DP:
		ret->dp = small_number(text, length);
		break;
	case PP:
		ret->pp = small_number(text, length);
		break;
	case TP:
		ret->tp = small_number(text, length);
		break;
	case EP:
		ret->ep = small_number(text, length);
		break;
	case DCP:
		ret->dcp = small_number(text, length);
		break;
	case PID:
		ret->pid = number(text, length);
		break;
	case STEP:
		ret->step = number(text, length);
		ret->stage =
			(struct name_part){ at.begin - strlen("step"), length + strlen("step") };
		break;
	case REPLICA:
		ret->replica = number(text, length);
		break;
	case MIXED:
		take_mixed(text, length, ret);
		break;
	case TIME:
		ret->time = time_of(text, length);
		break;
	case END:
	default:
		break;
	}
}

/* Limits of the work say that a name is none of ours; only memory is a failure. */
static int match(struct np_pattern *pattern, const char *name, bool *ret, struct np_err *err)
{
	struct np_err problem = NP_ERR_INIT;
	int rc = np_pattern_match(pattern, name, strlen(name), 0, ret, &problem);

	if (rc == NP_E_NOMEM)
		return np_fail(err, NP_E_NOMEM, "%s", problem.text);
	if (rc < 0)
		*ret = false;
	return NP_OK;
}

static void take_fields(const struct np_pattern *pattern, const enum name_field *fields,
			size_t count, const char *name, struct capture_name *ret)
{
	for (size_t i = 0; i < count && fields[i] != END; i++) {
		struct np_capture at;

		if (np_pattern_capture(pattern, i + 1, &at))
			take_field(fields[i], name, at, ret);
	}
}

/* Names whose form says nothing of ranks may have been given one by people. */
static int take_tokens(struct capture_names *names, const char *name, struct capture_name *ret,
		       struct np_err *err)
{
	static const enum name_field dims[] = { DP, PP, TP, DCP, EP, RANK };
	static const enum name_field rank[] = { RANK };
	bool found;
	int rc = match(names->dims, name, &found, err);

	if (rc < 0)
		return rc;
	if (found)
		take_fields(names->dims, dims, NP_COUNT(dims), name, ret);
	if (ret->rank >= 0)
		return NP_OK;
	rc = match(names->rank, name, &found, err);
	if (rc == NP_OK && found) {
		take_fields(names->rank, rank, NP_COUNT(rank), name, ret);
		ret->global = true;
	}
	return rc;
}

int capture_name_read(struct capture_names *names, const char *name, struct capture_name *ret,
		      struct np_err *err)
{
	*ret = (struct capture_name){ .form = CAPTURE_OTHER,
				      .rank = -1,
				      .world = -1,
				      .dp = -1,
				      .pp = -1,
				      .tp = -1,
				      .cp = -1,
				      .ep = -1,
				      .dcp = -1,
				      .pid = -1,
				      .step = -1,
				      .time = -1,
				      .replica = -1 };
	if (strlen(name) > LONGEST_NAME)
		return NP_OK;
	for (size_t i = 0; i < NP_COUNT(forms); i++) {
		bool found;
		int rc = match(names->forms[i], name, &found, err);

		if (rc < 0)
			return rc;
		if (!found)
			continue;
		ret->form = forms[i].form;
		take_fields(names->forms[i], forms[i].fields, MOST_FIELDS, name, ret);
		break;
	}
	switch (ret->form) {
	case CAPTURE_VERL:
		ret->global = ret->replica < 0 || ret->global;
		return NP_OK;
	case CAPTURE_VLLM_RANK:
	case CAPTURE_MSMONITOR:
		ret->global = true;
		return NP_OK;
	case CAPTURE_VLLM:
	case CAPTURE_SGLANG:
		return NP_OK;
	case CAPTURE_TORCH_NPU:
	case CAPTURE_RENAMED:
	case CAPTURE_KINETO:
	case CAPTURE_PROF:
	case CAPTURE_OTHER:
	case CAPTURE_FORMS:
	default:
		return take_tokens(names, name, ret, err);
	}
}
