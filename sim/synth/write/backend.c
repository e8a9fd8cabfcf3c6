/* SPDX-License-Identifier: Apache-2.0 */
/* Gives each rank its directory and calls the writers that its form asks for (backend.h). */
#include "backend.h"

#include <inttypes.h>

#include "sim/synth/out/io.h"

const struct syn_backend *const syn_backends[SYN_BACKENDS] = {
	&syn_rank_db,    &syn_analysis_db, &syn_metadata,      &syn_prof_info,       &syn_trace,
	&syn_kernel_csv, &syn_step_csv,    &syn_statistic_csv, &syn_memory_csv,      &syn_comm_json,
	&syn_monitor,    &syn_nsys,        &syn_kineto,        &syn_memory_snapshot,
};

/* The time in names: to the millisecond, or its first 14 digits. */
static void add_time(const struct syn_rank_info *info, bool millisecond, struct np_buf *buf)
{
	if (info->stamp) {
		np_buf_add(buf, info->stamp);
		return;
	}
	np_buf_printf(buf, "2025010908%02d%02d", 16 + (int)info->config->part,
		      16 + info->place.host % 40);
	if (millisecond)
		np_buf_printf(buf, "%03d", info->place.rank % 1000);
}

/* Eight letters that tell directories of one second apart. */
static void add_letters(int32_t number, struct np_buf *buf)
{
	for (int i = 0; i < 8; i++) {
		np_buf_add_char(buf, (char)('A' + (number * 7 + i) % 18));
		number /= 18;
	}
}

/* As vLLM calls a worker: its rank is that in its replica of data parallelism. */
static void add_coordinates(const struct syn_rank_info *info, struct np_buf *buf)
{
	const struct syn_config *config = info->config;
	const struct syn_place *place = &info->place;

	np_buf_printf(buf, "dp%d_pp%d_tp%d_dcp0_ep%d_rank%d_", place->dp, place->pp, place->tp,
		      place->tp + place->dp * (int)config->tp,
		      place->tp + place->pp * (int)config->tp);
}

/* As SGLang calls a trace: sizes of 1 are left out, and stages are traced one after the other. */
static void add_sglang(const struct syn_rank_info *info, struct np_buf *buf)
{
	static const char *const stages[] = { "EXTEND", "DECODE" };
	const struct syn_config *config = info->config;
	const struct syn_place *place = &info->place;

	np_buf_printf(buf, "1736410576.97616%d-TP-%d", (int)config->part, place->tp);
	if (config->dp > 1)
		np_buf_printf(buf, "-DP-%d", place->dp);
	if (config->pp > 1)
		np_buf_printf(buf, "-PP-%d", place->pp);
	if (syn_layout_of(config)->parts[1])
		np_buf_printf(buf, "-%s", stages[config->part]);
	np_buf_printf(buf, ".trace.json%s", config->gzip ? ".gz" : "");
}

void syn_rank_dir(const struct syn_rank_info *info, struct np_buf *buf)
{
	if (syn_layout_of(info->config)->placing == SYN_PLACE_OUTPUTS ||
	    syn_layout_of(info->config)->placing == SYN_PLACE_FILES) {
		np_buf_printf(buf, "rank_%d", info->place.rank);
		return;
	}
	switch (info->form->maker) {
	case SYN_TORCH:
	case SYN_MINDSPORE:
		if (syn_layout_of(info->config)->placing == SYN_PLACE_VLLM)
			add_coordinates(info, buf);
		else
			np_buf_printf(buf, "%s_", info->host);
		np_buf_printf(buf, "%d_", (int)info->pid);
		add_time(info, true, buf);
		np_buf_add(buf, info->form->maker == SYN_TORCH ? "_ascend_pt" : "_ascend_ms");
		break;
	case SYN_MSPROF:
		np_buf_add(buf, "PROF_000001_");
		add_time(info, true, buf);
		np_buf_printf(buf, "_%08d", (int)info->pid);
		add_letters(info->place.rank, buf);
		break;
	case SYN_MSMONITOR:
		np_buf_printf(buf, "msmonitor_%d_", (int)info->pid);
		add_time(info, true, buf);
		np_buf_printf(buf, "_%d.%s", info->place.rank, info->form->db ? "db" : "jsonl");
		break;
	case SYN_NSYS:
		np_buf_printf(buf, "nsys_rank%d.sqlite", info->place.rank);
		break;
	case SYN_KINETO:
		if (syn_layout_of(info->config)->placing == SYN_PLACE_SGLANG) {
			add_sglang(info, buf);
			break;
		}
		np_buf_printf(buf, "%s_%d.%" PRId64 ".pt.trace.json%s", info->host, (int)info->pid,
			      SYN_EPOCH_NS + info->place.rank, info->config->gzip ? ".gz" : "");
		break;
	}
}

static int make_dir(const char *dir, const char *name, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf path = NP_BUF_INIT;
	int rc;

	np_buf_printf(&path, "%s/%s", dir, name);
	rc = np_buf_check(&path, err);
	return rc == NP_OK ? syn_make_dirs(path.text, err) : rc;
}

static int make_prof_dirs(const struct syn_rank_info *info, const char *dir, struct np_err *err)
{
	char device[32];
	int rc;

	(void)snprintf(device, sizeof(device), "device_%d", info->place.device);
	rc = make_dir(dir, device, err);
	if (rc == NP_OK)
		rc = make_dir(dir, "host", err);
	if (rc == NP_OK)
		rc = make_dir(dir, "analyze", err);
	return rc;
}

int syn_make_rank_dirs(const struct syn_rank_info *info, struct np_buf *dir, struct np_buf *output,
		       struct np_err *err)
{
	enum syn_placing placing = syn_layout_of(info->config)->placing;
	enum syn_maker maker = info->form->maker;
	bool bare = placing == SYN_PLACE_FLAT || placing == SYN_PLACE_FILES;
	int rc;

	np_buf_add(dir, info->config->out);
	if (maker != SYN_MSMONITOR && maker != SYN_NSYS && maker != SYN_KINETO &&
	    placing != SYN_PLACE_FLAT) {
		np_buf_add(dir, "/");
		syn_rank_dir(info, dir);
	}
	np_buf_add(output, dir->text);
	if (syn_has_framework(info->form) && !bare)
		np_buf_add(output, "/ASCEND_PROFILER_OUTPUT");
	else if (info->form->text && !bare)
		np_buf_add(output, "/mindstudio_profiler_output");
	rc = np_buf_check(dir, err);
	if (rc == NP_OK)
		rc = np_buf_check(output, err);
	if (rc == NP_OK)
		rc = syn_make_dirs(output->text, err);
	if (rc == NP_OK && maker == SYN_MSPROF && placing == SYN_PLACE_USUAL)
		rc = make_prof_dirs(info, dir->text, err);
	return rc;
}

void syn_rank_db_path(const struct syn_rank_info *info, struct np_buf *buf)
{
	np_buf_printf(buf, "%s/", info->output);
	switch (info->form->maker) {
	case SYN_TORCH:
		if (syn_knows_rank(info->config) || info->config->no_rank_id)
			np_buf_printf(buf, "ascend_pytorch_profiler_%d.db", info->place.rank);
		else
			np_buf_add(buf, "ascend_pytorch_profiler.db");
		break;
	case SYN_MINDSPORE:
		np_buf_printf(buf, "ascend_mindspore_profiler_%d.db", info->place.rank);
		break;
	case SYN_MSPROF:
		np_buf_add(buf, "msprof_");
		add_time(info, false, buf);
		np_buf_add(buf, ".db");
		break;
	case SYN_MSMONITOR:
	case SYN_NSYS:
	case SYN_KINETO:
		syn_rank_dir(info, buf);
		break;
	}
}

void syn_analysis_path(const struct syn_rank_info *info, const char *name, struct np_buf *buf)
{
	if (info->form->maker == SYN_MSPROF)
		np_buf_printf(buf, "%s/analyze/%s", info->dir, name);
	else
		np_buf_printf(buf, "%s/%s", info->output, name);
}

void syn_text_path(const struct syn_rank_info *info, const char *stem, const char *suffix,
		   struct np_buf *buf)
{
	np_buf_printf(buf, "%s/%s", info->output, stem);
	if (info->form->maker == SYN_MSPROF) {
		np_buf_add(buf, "_");
		add_time(info, false, buf);
	}
	np_buf_add(buf, suffix);
}
