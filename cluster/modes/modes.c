/* SPDX-License-Identifier: Apache-2.0 */
/* The list of modes: their names, their tables, and what to use instead of those that are none. */
#include "npuprof/modes.h"

#include "registry.h"

#include "npuprof/readiness.h"
#include "npuprof/text.h"

/*
 * Modes whose tables the merged database has anyway come first; they have no
 * code of their own here. The order is that of np_mode_names.
 */
static const struct mode always_all = { .name = "all", .summary = "what cluster shows by itself" };
static const struct mode always_time = { .name = "communication_time",
					 .summary = "times and bandwidth of operators" };
static const struct mode always_matrix = { .name = "communication_matrix",
					   .summary = "what went over each link" };
static const struct mode always_map = { .name = "communication_group_map",
					.summary = "communicators and their ranks",
					.devices = MODE_DEVICES_APART };
static const struct mode always_time_sum = { .name = "communication_time_sum",
					     .summary = "the same as communication_time" };
static const struct mode always_matrix_sum = { .name = "communication_matrix_sum",
					       .summary = "the same as communication_matrix" };

enum {
	MODE_ALL,
	MODE_TIME,
	MODE_MATRIX,
	MODE_MAP,
	MODE_TIME_SUM,
	MODE_MATRIX_SUM,
	MODE_FIRST_OWN,
};

static const struct mode *const modes_table[] = {
	[MODE_ALL] = &always_all,
	[MODE_TIME] = &always_time,
	[MODE_MATRIX] = &always_matrix,
	[MODE_MAP] = &always_map,
	[MODE_TIME_SUM] = &always_time_sum,
	[MODE_MATRIX_SUM] = &always_matrix_sum,
	&mode_cluster_time_summary,
	&mode_cluster_time_compare_summary,
	&mode_slow_rank,
	&mode_slow_link,
	&mode_hccl_sum,
	&mode_compute_op_sum,
	&mode_cann_api_sum,
	&mode_free_analysis,
	&mode_communication_bottleneck,
	&mode_computational_op_masking,
	&mode_ep_load_balance,
	&mode_freq_analysis,
	&mode_mstx_sum,
	&mode_mstx2commop,
	&mode_module_statistic,
	&mode_operator_mfu,
	&mode_p2p_pairing,
	&mode_pp_chart,
	&mode_export_summary,
};

#define MODES NP_COUNT(modes_table)

const char *const np_mode_names[] = {
	"all",
	"communication_time",
	"communication_matrix",
	"communication_group_map",
	"communication_time_sum",
	"communication_matrix_sum",
	"cluster_time_summary",
	"cluster_time_compare_summary",
	"slow_rank",
	"slow_link",
	"hccl_sum",
	"compute_op_sum",
	"cann_api_sum",
	"free_analysis",
	"communication_bottleneck",
	"computational_op_masking",
	"ep_load_balance",
	"freq_analysis",
	"mstx_sum",
	"mstx2commop",
	"module_statistic",
	"operator_mfu",
	"p2p_pairing",
	"pp_chart",
	"export_summary",
	NULL,
};

_Static_assert(NP_COUNT(np_mode_names) == MODES + 1, "every mode has a name");
_Static_assert(MODES <= MODES_MOST, "every mode has a bit");

/* Who asks for the table of a mode asks for the mode. */
static const struct {
	const struct mode *mode;
	const char *table;
} added[] = {
	{ &mode_cluster_time_summary, "ClusterTimeSummary" },
	{ &mode_cluster_time_compare_summary, "ClusterTimeCompareSummary" },
	{ &mode_slow_rank, "SlowRank" },
	{ &mode_slow_rank, "SlowOpStats" },
	{ &mode_slow_link, "SlowLinkSum" },
	{ &mode_slow_link, "SlowLinkOps" },
	{ &mode_hccl_sum, "HcclAllRankStats" },
	{ &mode_hccl_sum, "HcclPerRankStats" },
	{ &mode_hccl_sum, "HcclTopOpStats" },
	{ &mode_hccl_sum, "HcclGroupNameMap" },
	{ &mode_compute_op_sum, "ComputeOpAllRankStats" },
	{ &mode_compute_op_sum, "ComputeOpPerRankStatsByOpType" },
	{ &mode_compute_op_sum, "ComputeOpPerRankStatsByOpName" },
	{ &mode_cann_api_sum, "CannApiSum" },
	{ &mode_cann_api_sum, "CannApiSumRank" },
	{ &mode_free_analysis, "FreeAnalysis" },
	{ &mode_communication_bottleneck, "CommunicationBottleneck" },
	{ &mode_computational_op_masking, "ComputationalOperatorMaskingLinearity" },
	{ &mode_ep_load_balance, "EPTokensSummary" },
	{ &mode_ep_load_balance, "TopEPTokensInfo" },
	{ &mode_freq_analysis, "FreeFrequencyRanks" },
	{ &mode_freq_analysis, "AbnormalFrequencyRanks" },
	{ &mode_mstx_sum, "MSTXMarkStats" },
	{ &mode_mstx_sum, "MSTXAllFrameworkStats" },
	{ &mode_mstx_sum, "MSTXAllCannStats" },
	{ &mode_mstx_sum, "MSTXAllDeviceStats" },
	{ &mode_mstx2commop, "MstxCommunicationOp" },
	{ &mode_module_statistic, "ModuleStatistic" },
	{ &mode_operator_mfu, "OperatorMFU" },
	{ &mode_operator_mfu, "ModuleMFU" },
	{ &mode_p2p_pairing, "P2PPairing" },
	{ &mode_pp_chart, "StepTaskInfo" },
	{ &mode_export_summary, "ExportSummary" },
};

/* Names of the incumbent that are no modes here, and the way to what they show. */
static const struct {
	const char *name;
	const char *instead;
} elsewhere[] = {
	{ "slow_rank_pp_stage", "'-m slow_rank' and 'npuprof cluster' name slow ranks and stages" },
	{ "filter_db", "profiles are never rewritten; --ranks and --steps choose parts of them" },
	{ "autofuse_analysis",
	  "'npuprof advisor --rule host.fusible-operators,compute.graph-fusion' finds what can be"
	  " fused" },
	{ "calibrate_npu_gpu",
	  "'npuprof compare GPU NPU --view module' compares a trace of PyTorch or a database of Nsight"
	  " Systems with a profile of an NPU" },
};

const char *np_mode_summary(const char *name)
{
	for (size_t i = 0; i < MODES; i++) {
		if (strcmp(modes_table[i]->name, name) == 0)
			return modes_table[i]->summary;
	}
	return NULL;
}

const char *np_modes_elsewhere(const char *text)
{
	while (*text) {
		size_t length = strcspn(text, ",");

		for (size_t i = 0; i < NP_COUNT(elsewhere); i++) {
			if (strlen(elsewhere[i].name) == length &&
			    memcmp(elsewhere[i].name, text, length) == 0)
				return elsewhere[i].instead;
		}
		text += length + (text[length] != '\0');
	}
	return NULL;
}

static int unknown_mode(const char *name, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf list = NP_BUF_INIT;
	const char *meant = np_text_closest(name, np_mode_names, MODES);

	if (meant)
		return np_fail(err, NP_E_USAGE, "no mode '%s'; did you mean '%s'?", name, meant);
	for (size_t i = 0; i < MODES; i++)
		np_buf_printf(&list, "%s%s", i ? ", " : "", np_mode_names[i]);
	return np_fail(err, NP_E_USAGE, "no mode '%s'; there are %s", name, list.text);
}

static int parse_one(const char *text, size_t length, uint64_t *ret, struct np_err *err)
{
	NP_CLEANUP(np_buf_release) struct np_buf safe = NP_BUF_INIT;

	for (size_t i = 0; i < MODES; i++) {
		if (strlen(np_mode_names[i]) == length &&
		    memcmp(np_mode_names[i], text, length) == 0) {
			*ret |= UINT64_C(1) << i;
			return NP_OK;
		}
	}
	np_text_safe(&safe, text, length);
	return unknown_mode(safe.text, err);
}

int np_modes_parse(const char *text, uint64_t *ret, struct np_err *err)
{
	uint64_t modes = 0;
	int rc = NP_OK;

	while (rc == NP_OK) {
		size_t length = strcspn(text, ",");

		rc = parse_one(text, length, &modes, err);
		if (text[length] == '\0')
			break;
		text += length + 1;
	}
	if (rc == NP_OK)
		*ret = modes;
	return rc;
}

static bool has(uint64_t modes, size_t mode)
{
	return (modes >> mode & 1) != 0;
}

bool np_modes_want_report(uint64_t modes)
{
	return has(modes, MODE_ALL);
}

enum np_modes_need np_modes_need(uint64_t modes)
{
	enum np_modes_need need = NP_MODES_OPERATORS;

	if (np_modes_compare(modes))
		return NP_MODES_ALL;
	for (size_t i = 0; i < MODES; i++) {
		if (!has(modes, i))
			continue;
		if (i < MODE_FIRST_OWN)
			return NP_MODES_ALL;
		if (modes_table[i]->model == MODE_OF_RANKS)
			need = NP_MODES_RANKS;
		else if (modes_table[i]->model == MODE_OF_TIMES && need < NP_MODES_TIMES)
			need = NP_MODES_TIMES;
	}
	return need;
}

bool np_modes_compare(uint64_t modes)
{
	return (np_modes_of_table("ClusterTimeCompareSummary") & modes) != 0;
}

bool np_modes_want_times(uint64_t modes)
{
	return has(modes, MODE_ALL) || has(modes, MODE_TIME) || has(modes, MODE_TIME_SUM);
}

bool np_modes_want_matrix(uint64_t modes)
{
	return has(modes, MODE_ALL) || has(modes, MODE_MATRIX) || has(modes, MODE_MATRIX_SUM);
}

bool np_modes_want_table(uint64_t modes, const char *table)
{
	static const struct {
		size_t mode;
		const char *table;
	} about[] = {
		{ MODE_TIME, "ClusterCommunicationTime" },
		{ MODE_TIME, "ClusterCommunicationBandwidth" },
		{ MODE_TIME_SUM, "ClusterCommunicationTime" },
		{ MODE_TIME_SUM, "ClusterCommunicationBandwidth" },
		{ MODE_MATRIX, "ClusterCommunicationMatrix" },
		{ MODE_MATRIX_SUM, "ClusterCommunicationMatrix" },
		{ MODE_MAP, "CommunicationGroupMapping" },
	};

	for (size_t i = 0; i < NP_COUNT(about); i++) {
		if (has(modes, about[i].mode) && strcmp(about[i].table, table) == 0)
			return true;
	}
	return false;
}

const char *np_modes_table(size_t index)
{
	return index < NP_COUNT(added) ? added[index].table : NULL;
}

uint64_t np_modes_of_table(const char *table)
{
	for (size_t i = 0; i < NP_COUNT(added); i++) {
		if (strcmp(added[i].table, table) != 0)
			continue;
		for (size_t j = MODE_FIRST_OWN; j < MODES; j++) {
			if (modes_table[j] == added[i].mode)
				return UINT64_C(1) << j;
		}
	}
	return 0;
}

size_t modes_chosen(uint64_t modes, const struct mode *ret[MODES_MOST])
{
	size_t count = 0;

	for (size_t i = MODE_FIRST_OWN; i < MODES; i++) {
		if (has(modes, i))
			ret[count++] = modes_table[i];
	}
	return count;
}

int modes_note_devices(struct np_modes *modes, struct np_err *err)
{
	static const char *const reasons[] = {
		[MODE_DEVICES_TOGETHER] = "several devices in one profile are taken together",
		[MODE_DEVICES_FIRST] = "only the first of several devices in one profile is"
				       " looked at",
	};
	const struct np_run *run = modes->run;
	bool *several = calloc(run->sources.count + 1, sizeof(*several));

	if (!several)
		return np_fail_nomem(err, "the modes");
	for (size_t i = 0; i < run->sources.count; i++)
		several[i] = run->ranks[i] && run->ranks[i]->device_count > 1;
	for (size_t i = MODE_ALL + 1; i < MODES; i++) {
		if (has(modes->options.modes, i) && modes_table[i]->devices != MODE_DEVICES_APART)
			mode_note(modes, NP_NOTE_WARNING, modes_table[i]->name, several,
				  reasons[modes_table[i]->devices]);
	}
	free(several);
	return NP_OK;
}

/* Tables that the merged database has anyway stay empty without sub-tasks. */
int modes_note_links(struct np_modes *modes, struct np_err *err)
{
	static const size_t about[] = { MODE_TIME, MODE_MATRIX, MODE_TIME_SUM, MODE_MATRIX_SUM };
	const uint64_t chosen = modes->options.modes & ~(UINT64_C(1) << MODE_ALL);
	struct np_readiness all[NP_ANALYSIS_COUNT];
	const struct np_readiness *links = &all[NP_ANALYSIS_LINKS];
	int rc;

	if (!np_modes_want_times(chosen) && !np_modes_want_matrix(chosen))
		return NP_OK;
	rc = np_readiness_measure(modes->cluster, modes->align, all, err);
	if (rc < 0 || links->ready)
		return rc;
	for (size_t i = 0; i < NP_COUNT(about); i++) {
		if (has(modes->options.modes, about[i]))
			np_note_add(&modes->run->notes, NP_NOTE_WARNING, NP_NO_RANK,
				    modes->run->roots.item[0], np_mode_names[about[i]],
				    "%s: %s (%s)", links->name, links->missing, links->cure);
	}
	return NP_OK;
}
