/* SPDX-License-Identifier: Apache-2.0 */
/* Writes op_statistic.csv and api_statistic.csv. */
#include <math.h>

#include "backend.h"
#include "npuprof/text.h"
#include "sim/synth/out/out.h"

/*
 * op_statistic.csv and api_statistic.csv: counts and times of each kind of
 * kernel, and of each call, over the whole capture.
 */
struct statistic {
	char name[64];
	const char *group; /* core, or level */
	int64_t count;
	np_ns total_ns;
	np_ns min_ns;
	np_ns max_ns;
	double squares; /* of µs */
};

struct statistic_csv_statistics {
	struct syn_sink base;
	const struct syn_rank_info *info;
	const struct syn_config *config;
	struct statistic *kernels; /* per model */
	NP_VEC(struct statistic) calls;
};

static void count(struct statistic *statistic, np_ns time)
{
	double us = (double)time / 1e3;

	if (statistic->count == 0 || time < statistic->min_ns)
		statistic->min_ns = time;
	if (time > statistic->max_ns)
		statistic->max_ns = time;
	statistic->count++;
	statistic->total_ns += time;
	statistic->squares += us * us;
}

static int on_task(struct syn_sink *sink, const struct syn_task *task, struct np_err *err)
{
	struct statistic_csv_statistics *statistics = (struct statistic_csv_statistics *)sink;

	(void)err;
	if (task->kind == SYN_TASK_KERNEL)
		count(&statistics->kernels[task->model - statistics->info->models],
		      task->end_ns - task->start_ns);
	return NP_OK;
}

static const char *level_name(const struct statistic_csv_statistics *statistics,
			      enum syn_api_level level)
{
	switch (level) {
	case SYN_API_NODE:
		return "node";
	case SYN_API_COMM:
		return statistics->config->schema ? "communication" : "hccl";
	case SYN_API_RUNTIME:
		return "runtime";
	case SYN_API_TORCH:
	case SYN_API_ACL:
		break;
	}
	return "acl";
}

static struct statistic *call_of(struct statistic_csv_statistics *statistics, const char *name,
				 const char *level, struct np_err *err)
{
	struct statistic *call;

	for (size_t i = 0; i < statistics->calls.count; i++) {
		call = &statistics->calls.item[i];
		if (call->group == level && strcmp(call->name, name) == 0)
			return call;
	}
	call = np_vec_add(&statistics->calls, err);
	if (call) {
		(void)snprintf(call->name, sizeof(call->name), "%s", name);
		call->group = level;
	}
	return call;
}

static int on_api(struct syn_sink *sink, const struct syn_api *api, struct np_err *err)
{
	struct statistic_csv_statistics *statistics = (struct statistic_csv_statistics *)sink;
	struct statistic *call;

	if (api->level == SYN_API_TORCH ||
	    (api->level == SYN_API_RUNTIME && statistics->config->level < 2))
		return NP_OK;
	call = call_of(statistics, api->name, level_name(statistics, api->level), err);
	if (!call)
		return NP_E_NOMEM;
	count(call, api->end_ns - api->start_ns);
	return NP_OK;
}

/* Models that differ in shapes alone are one kind of kernel. */
static size_t join_kernels(struct statistic_csv_statistics *statistics)
{
	size_t kept = 0;

	for (size_t i = 0; i < statistics->info->model_count; i++) {
		struct statistic one = statistics->kernels[i];
		struct statistic *same = NULL;

		if (one.count == 0)
			continue;
		(void)snprintf(one.name, sizeof(one.name), "%s", statistics->info->models[i].type);
		one.group = syn_kernel_core(statistics->info, &statistics->info->models[i]);
		for (size_t k = 0; k < kept && !same; k++) {
			if (strcmp(statistics->kernels[k].name, one.name) == 0 &&
			    statistics->kernels[k].group == one.group)
				same = &statistics->kernels[k];
		}
		if (!same) {
			statistics->kernels[kept++] = one;
			continue;
		}
		same->count += one.count;
		same->total_ns += one.total_ns;
		same->min_ns = one.min_ns < same->min_ns ? one.min_ns : same->min_ns;
		same->max_ns = one.max_ns > same->max_ns ? one.max_ns : same->max_ns;
	}
	return kept;
}

static int longest_first(const void *a, const void *b)
{
	const struct statistic *x = a;
	const struct statistic *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	const struct statistic *x = a;
	const struct statistic *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->group, y->group);
}

static np_ns average(const struct statistic *one)
{
	return (np_ns)llround((double)one->total_ns / (double)one->count);
}

static void put_time(struct syn_out *out, np_ns time)
{
	SYN_PUT(out, ",");
	syn_put_us_float(out, time);
}

static bool has_device(const struct statistic_csv_statistics *statistics)
{
	return statistics->config->schema || statistics->info->form->maker == SYN_MSPROF;
}

static void put_kernels(struct statistic_csv_statistics *statistics, struct syn_out *out)
{
	size_t kinds = join_kernels(statistics);
	const struct statistic *all = statistics->kernels;
	np_ns total = 0;

	qsort(statistics->kernels, kinds, sizeof(struct statistic), longest_first);
	syn_put(out, has_device(statistics) ? "Device_id," : "");
	SYN_PUT(out, "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),"
		     "Max Time(us),Ratio(%)\n");
	for (size_t i = 0; i < kinds; i++)
		total += all[i].total_ns;
	for (size_t i = 0; i < kinds; i++) {
		if (has_device(statistics)) {
			syn_put_int(out, statistics->info->place.device);
			SYN_PUT(out, ",");
		}
		syn_put(out, all[i].name);
		SYN_PUT(out, ",");
		syn_put(out, all[i].group);
		SYN_PUT(out, ",");
		syn_put_int(out, all[i].count);
		put_time(out, all[i].total_ns);
		put_time(out, all[i].min_ns);
		put_time(out, average(&all[i]));
		put_time(out, all[i].max_ns);
		/* Per cent with three digits. */
		put_time(out, (np_ns)llround((double)all[i].total_ns / (double)total * 1e5));
		SYN_PUT(out, "\n");
	}
}

static void put_calls(struct statistic_csv_statistics *statistics, struct syn_out *out)
{
	if (statistics->calls.count > 0)
		qsort(statistics->calls.item, statistics->calls.count, sizeof(struct statistic),
		      by_name);
	syn_put(out, has_device(statistics) ? "Device_id," : "");
	SYN_PUT(out, "Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n");
	for (size_t i = 0; i < statistics->calls.count; i++) {
		const struct statistic *one = &statistics->calls.item[i];
		double mean = (double)one->total_ns / 1e3 / (double)one->count;
		double variance = one->squares / (double)one->count - mean * mean;

		syn_put(out, has_device(statistics) ? "host," : "");
		syn_put(out, one->group);
		SYN_PUT(out, ",");
		syn_put(out, one->name);
		put_time(out, one->total_ns);
		SYN_PUT(out, ",");
		syn_put_int(out, one->count);
		put_time(out, average(one));
		put_time(out, one->min_ns);
		put_time(out, one->max_ns);
		SYN_PUT(out, ",");
		syn_put_real(out, np_round(variance > 0.0 ? variance : 0.0, 3));
		SYN_PUT(out, "\n");
	}
}

static int write_table(struct statistic_csv_statistics *statistics, const char *stem,
		       void (*put)(struct statistic_csv_statistics *, struct syn_out *),
		       struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	struct syn_out out;
	int rc;

	syn_text_path(statistics->info, stem, ".csv", &path);
	rc = np_buf_check(&path, err);
	if (rc == NP_OK)
		rc = syn_out_open(&out, path.text, false, err);
	if (rc < 0)
		return rc;
	put(statistics, &out);
	return syn_out_close(&out, NP_OK, err);
}

static int open_statistics(const struct syn_rank_info *info, struct syn_sink **ret,
			   struct np_err *err)
{
	struct statistic_csv_statistics *statistics = calloc(1, sizeof(*statistics));

	if (!statistics)
		return np_fail_nomem(err, "statistics");
	statistics->kernels = calloc(info->model_count + 1, sizeof(*statistics->kernels));
	if (!statistics->kernels) {
		free(statistics);
		return np_fail_nomem(err, "statistics");
	}
	statistics->base = (struct syn_sink){ .api = on_api, .task = on_task };
	statistics->info = info;
	statistics->config = info->config;
	*ret = &statistics->base;
	return NP_OK;
}

static int close_statistics(struct syn_sink *sink, int rc, struct np_err *err)
{
	struct statistic_csv_statistics *statistics = (struct statistic_csv_statistics *)sink;

	if (rc == NP_OK)
		rc = write_table(statistics, "op_statistic", put_kernels, err);
	if (rc == NP_OK)
		rc = write_table(statistics, "api_statistic", put_calls, err);
	np_vec_release(&statistics->calls);
	free(statistics->kernels);
	free(statistics);
	return rc;
}

static bool is_wanted(const struct syn_rank_info *info)
{
	return info->form->text && info->config->level > 0;
}

const struct syn_backend syn_statistic_csv = {
	.name = "statistics",
	.is_wanted = is_wanted,
	.open = open_statistics,
	.close = close_statistics,
};
