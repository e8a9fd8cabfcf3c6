/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured: inputs and commands. */
#include "suite.h"

const struct suite_input suite_inputs[] = {
	{ .name = "2 small", .ranks = 2, .modes = true, .small = true },
	{ .name = "8 x 3 MB", .ranks = 8, .rank_megabytes = 3, .small = true, .growth = "size" },
	{ .name = "8 x 12 MB", .ranks = 8, .rank_megabytes = 12, .small = true, .growth = "size" },
	{ .name = "8 x 50 MB", .ranks = 8, .rank_megabytes = 50, .modes = true, .growth = "size" },
	{ .name = "16 x 1 MB", .ranks = 16, .rank_megabytes = 1, .small = true, .growth = "ranks" },
	{ .name = "64 x 1 MB", .ranks = 64, .rank_megabytes = 1, .small = true, .growth = "ranks" },
	{ .name = "256 x 1 MB", .ranks = 256, .rank_megabytes = 1, .growth = "ranks" },
	{ .name = "64 x 20 MB", .ranks = 64, .rank_megabytes = 20, .commands = true },
	{ .name = "256 x 4 MB", .ranks = 256, .rank_megabytes = 4 },
	{ .name = "1024 x 1 MB", .ranks = 1024, .rank_megabytes = 1, .growth = "ranks" },
	{ .name = "64 x 20,000 kernels",
	  .ranks = 64,
	  .shape = { "--steps", "2", "--layers", "8", "--kernels-per-layer", "417", "--shapes",
		     "2000" } },
	{ .name = "2 x 12 MB text", .ranks = 2, .rank_megabytes = 12, .text = true, .small = true },
	{ .name = "8 x 50 MB text", .ranks = 8, .rank_megabytes = 50, .text = true },
};

const size_t suite_input_count = NP_COUNT(suite_inputs);

const struct suite_case suite_cases[] = {
	{ "bare scan, 1 thread", { "1" }, .threads = 1, .scan = true, .any_input = true },
	{ "bare scan, 2 threads", { "2" }, .threads = 2, .scan = true, .any_input = true },
	{ "cluster -j 1",
	  { "cluster", "@in", "-o", "@out", "-j", "1" },
	  .threads = 1,
	  .any_input = true },
	{ "cluster -j 2",
	  { "cluster", "@in", "-o", "@out", "-j", "2" },
	  .threads = 2,
	  .any_input = true },
	{ "cluster --cache, used",
	  { "cluster", "@in", "-o", "@out", "-j", "2", "--cache", "@cache" },
	  .threads = 2,
	  .any_input = true },
	{ "mpirun -n 1 cluster -j 1",
	  { "cluster", "@in", "-o", "@out", "-j", "1" },
	  .processes = 1,
	  .threads = 1 },
	{ "mpirun -n 2 cluster -j 1",
	  { "cluster", "@in", "-o", "@out", "-j", "1" },
	  .processes = 2,
	  .threads = 2,
	  .any_input = true },
	{ "mpirun -n 4 cluster -j 1",
	  { "cluster", "@in", "-o", "@out", "-j", "1" },
	  .processes = 4,
	  .threads = 2 },
	{ "whatif -j 1", { "whatif", "@in", "-o", "@out", "-j", "1" }, .threads = 1 },
	{ "whatif -j 2", { "whatif", "@in", "-o", "@out", "-j", "2" }, .threads = 2 },
	{ "advisor -j 1", { "advisor", "@in", "-o", "@out", "-j", "1" }, .threads = 1 },
	{ "advisor -j 2", { "advisor", "@in", "-o", "@out", "-j", "2" }, .threads = 2 },
	{ "mpirun -n 2 advisor -j 1",
	  { "advisor", "@in", "-o", "@out", "-j", "1" },
	  .processes = 2,
	  .threads = 2 },
	{ "compare -j 1", { "compare", "@in", "@in", "-o", "@out", "-j", "1" }, .threads = 1 },
	{ "compare -j 2", { "compare", "@in", "@in", "-o", "@out", "-j", "2" }, .threads = 2 },
	{ "mpirun -n 2 compare -j 1",
	  { "compare", "@in", "@in", "-o", "@out", "-j", "1" },
	  .processes = 2,
	  .threads = 2 },
	{ "mpirun -n 2 cluster -j 1 -m free_analysis",
	  { "cluster", "@in", "-o", "@out", "-j", "1", "-m", "free_analysis" },
	  .processes = 2,
	  .threads = 2 },
	{ "info -j 2", { "info", "@in", "-j", "2" }, .threads = 2 },
};

const size_t suite_case_count = NP_COUNT(suite_cases);

struct suite_case suite_against[SUITE_AGAINST] = {
	{ "reading all bytes", .shell = "find \"$IN\" -type f -exec cat {} + >/dev/null",
	  .threads = 1, .any_input = true },
	{ "bare scan, 2 threads", { "2" }, .threads = 2, .scan = true, .any_input = true },
	{ "npuprof cluster -j 2",
	  { "cluster", "@in", "-o", "@out", "-j", "2" },
	  .threads = 2,
	  .any_input = true },
	{ "other", .threads = 2, .any_input = true, .other = true },
};

#define EVERY_MODE \
	"cluster_time_summary,slow_rank,slow_link,hccl_sum,compute_op_sum,cann_api_sum," \
	"free_analysis,communication_bottleneck,computational_op_masking,ep_load_balance," \
	"freq_analysis,mstx_sum,module_statistic,operator_mfu,p2p_pairing,pp_chart,export_summary"

const struct suite_mode suite_modes[] = {
	{ "cluster_time_summary", "cluster_time_summary" },
	{ "slow_rank", "slow_rank" },
	{ "slow_link", "slow_link" },
	{ "hccl_sum", "hccl_sum" },
	{ "compute_op_sum", "compute_op_sum" },
	{ "cann_api_sum", "cann_api_sum" },
	{ "free_analysis", "free_analysis" },
	{ "communication_bottleneck", "communication_bottleneck" },
	{ "computational_op_masking", "computational_op_masking" },
	{ "ep_load_balance", "ep_load_balance" },
	{ "freq_analysis", "freq_analysis" },
	{ "mstx_sum", "mstx_sum" },
	{ "module_statistic", "module_statistic" },
	{ "operator_mfu", "operator_mfu" },
	{ "p2p_pairing", "p2p_pairing" },
	{ "pp_chart", "pp_chart" },
	{ "export_summary", "export_summary" },
	{ "of three", "hccl_sum,compute_op_sum,cann_api_sum" },
	{ "of all together", EVERY_MODE },
	{ NULL, NULL },
};
