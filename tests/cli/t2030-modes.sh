#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Modes of cluster: tables on request, in every form of output, from one pass.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

run "$synth" -o "$work/run" --ranks 4 --schedule 3d --steps 2 --layers 2 --slow-rank 2:1.4 --format both -q
db=$work/out/cluster_analysis_output/cluster_analysis.db

# ask <query>: what the merged database answers
ask() {
	sqlite3 "$db" "$1"
}

behaviour 'several modes run together and their tables are in the merged database'
before=$(snapshot "$work/run")
run "$npuprof" cluster -d "$work/run" -o "$work/out" -m hccl_sum,compute_op_sum,export_summary
expect_exit 0
expect_stdout_has 'HcclAllRankStats: ' 'ComputeOpAllRankStats: ' 'ExportSummary: '
expect_equal "$(ask "SELECT count(DISTINCT Rank) FROM HcclPerRankStats")" 4
expect_equal "$(ask "SELECT count(*) FROM sqlite_master WHERE name IN ('HcclTopOpStats',
	'HcclGroupNameMap','ComputeOpPerRankStatsByOpType','ComputeOpPerRankStatsByOpName')")" 4

behaviour 'the tables that Insight reads are there as well'
expect_equal "$(ask "SELECT count(*) FROM ClusterStepTraceTime WHERE type='rank'")" 8

behaviour 'export_summary writes below the output directory and leaves profiles alone'
expect_file "$work/out/cluster_analysis_output/export_summary/rank_3/kernel_details.csv"
expect_file "$work/out/cluster_analysis_output/export_summary/rank_0/api_statistic.csv"
expect_equal "$(snapshot "$work/run")" "$before"

behaviour 'export_summary writes a row for every kernel'
rows=$(tail -n +2 "$work/out/cluster_analysis_output/export_summary/rank_0/kernel_details.csv" |
	grep -cv hcom_)
expect_equal "$rows" "$(sqlite3 "$(find "$work/run" -name 'ascend_pytorch_profiler_0.db')" \
	'SELECT count(*) FROM COMPUTE_TASK_INFO')"

behaviour 'a table of a mode is printed as CSV, the first one by default'
run "$npuprof" cluster -d "$work/run" -o "$work/out2" -f csv -m cann_api_sum
expect_exit 0
expect_file "$work/out2/cluster_analysis_output/CannApiSum.csv"
expect_file "$work/out2/cluster_analysis_output/CannApiSumRank.csv"
cp -r "$work/run" "$work/copy"
run "$npuprof" cluster -d "$work/copy" -f csv -m cann_api_sum
expect_stdout_has 'name,timeRatio,totalTimeNs,totalCount'
run "$npuprof" cluster -d "$work/copy" -f csv -m cann_api_sum --table CannApiSumRank
expect_stdout_has 'name,durationRatio,totalTimeNs'
run "$npuprof" cluster -d "$work/copy" -f csv -m cann_api_sum --table CanApiSum
expect_exit 2
expect_stderr_has "did you mean 'CannApiSum'?"

behaviour 'JSON and Markdown have the tables too'
run "$npuprof" cluster -d "$work/copy" -f json -m slow_rank,free_analysis
expect_exit 0
expect_stdout_has '"modes": {' '"SlowRank": [' '"FreeAnalysis": ['
run "$npuprof" cluster -d "$work/copy" -f md -m hccl_sum
expect_stdout_has '## HcclAllRankStats' '| OpType |'

behaviour 'all together with a mode shows both'
run "$npuprof" cluster -d "$work/copy" -m all,hccl_sum
expect_exit 0
expect_stdout_has 'HcclAllRankStats: '
expect_stdout_says '4 ranks'

behaviour 'the number of rows can be chosen'
run "$npuprof" cluster -d "$work/copy" -f csv -m hccl_sum --table HcclTopOpStats --top-num 3
expect_equal "$(wc -l <"$work/stdout")" 4
run "$npuprof" cluster -d "$work/copy" -m hccl_sum --top-num 0
expect_exit 2

behaviour 'the output does not depend on the number of threads'
modes=cluster_time_summary,slow_rank,slow_link,hccl_sum,compute_op_sum,cann_api_sum,free_analysis
modes=$modes,communication_bottleneck,computational_op_masking,freq_analysis,p2p_pairing
run "$npuprof" cluster -d "$work/copy" -f json -j 1 -m "$modes"
cp "$work/stdout" "$work/one"
run "$npuprof" cluster -d "$work/copy" -f json -j 4 -m "$modes"
expect_stdout <"$work/one"

behaviour 'a mistyped mode is refused with the one that was meant'
run "$npuprof" cluster -d "$work/run" -m hcl_sum
expect_exit 2
expect_stderr_has "did you mean 'hccl_sum'?"

behaviour 'modes that other commands took over, or that are no more, say which'
run "$npuprof" cluster -d "$work/run" -m cluster_time_compare_summary
expect_exit 2
expect_stderr_has "compares with the run that --base names"
run "$npuprof" cluster -d "$work/run" -m all --base "$work/run"
expect_exit 2
expect_stderr_has "'npuprof compare $work/run DIR' compares everything"
run "$npuprof" cluster -d "$work/run" --mode=all,filter_db
expect_exit 2
expect_stderr_has 'profiles are never rewritten'
run "$npuprof" cluster -d "$work/run" -mcalibrate_npu_gpu
expect_exit 2
expect_stderr_has "'npuprof compare GPU NPU --view module' compares a trace of PyTorch or a database of Nsight Systems"

behaviour 'steps and ranks that do not exist are refused with those there are'
run "$npuprof" cluster -d "$work/run" -o "$work/out3" -m hccl_sum --steps 99
expect_exit 2
expect_stderr_has 'there are steps 10-11'
run "$npuprof" cluster -d "$work/run" -o "$work/out3" -m hccl_sum --ranks 9
expect_exit 2
run "$npuprof" cluster -d "$work/run" -o "$work/out3" -m communication_bottleneck --rank-id 9
expect_exit 2
expect_stderr_has 'there are ranks 0-3'
run "$npuprof" cluster -d "$work/run" -o "$work/out3" -m communication_bottleneck --rank-id x
expect_exit 2
expect "a refused run must write nothing" test ! -e "$work/out3/cluster_analysis_output/cluster_analysis.db"

behaviour 'a mode that needs what was not recorded says so, and the others work'
run "$npuprof" cluster -d "$work/copy" -f json -m mstx_sum,hccl_sum
expect_exit 3
expect_stderr_has 'mstx_sum: not for ranks 0-3: no mstx marks'
expect_stdout_has '"HcclAllRankStats": [' '"MSTXMarkStats": []'

behaviour 'a damaged rank costs that rank'
rm -r "$work/copy/cluster_analysis_output"
victim=$(find "$work/copy" -name 'ascend_pytorch_profiler_1.db')
find "$(dirname "$victim")" -type f ! -name '*.db' -delete
truncate -s 5000 "$victim"
rm -f "$(dirname "$victim")/analysis.db"
run "$npuprof" cluster -d "$work/copy" -o "$work/out4" -f csv -m compute_op_sum
expect_exit 3
expect_equal "$(sqlite3 "$work/out4/cluster_analysis_output/cluster_analysis.db" \
	'SELECT group_concat(DISTINCT Rank) FROM ComputeOpPerRankStatsByOpType')" 0,2,3
