#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command lines of users of msprof-analyze and MindSpeed, one by one: each does what they expect, or says in one
# line what to use instead.
. "$(dirname "$0")/lib.sh"
need_program sqlite3 unzip

mkdir "$work/bin" "$work/in" "$work/empty"
ln -s "$npuprof" "$work/bin/msprof-analyze"
P=$work/bin/msprof-analyze
D=$work/in/new
B=$work/in/base
make=("$synth" --dp 2 --steps 4 --layers 2 --kernels-per-layer 2 --format db -q)
"${make[@]}" -o "$D" && "${make[@]}" -o "$B" --seed 9 || exit 1
N1=$(find "$D" -maxdepth 1 -name '*_ascend_pt' | sort | head -n 1)
B1=$(find "$B" -maxdepth 1 -name '*_ascend_pt' | sort | head -n 1)
before=$(snapshot "$work/in")

counted=0 working=0 explained=0

# fresh: an empty current directory, for what writes there
fresh() {
	rm -rf "$work/here"
	mkdir "$work/here"
	cd "$work/here" || exit 1
}

# line <number> works|explains <command>...
line() {
	local number=$1 kind=$2

	shift 2
	counted=$((counted + 1))
	behaviour "line $number $kind"
	run "$@"
	checks=$((checks + 1))
	if [[ $kind == works ]]; then
		working=$((working + 1))
		[[ $status == 0 || $status == 3 ]] || wrong "it does not work: exit status $status"
	else
		explained=$((explained + 1))
		[[ ($status == 2 || $status == 1) && -s $work/stderr ]] || wrong "it does not explain: exit status $status"
	fi
}

out() {
	sqlite3 "$work/here/out/cluster_analysis_output/cluster_analysis.db" "$1"
}

# sheets: the names of the sheets of the only workbook below here
sheets() {
	unzip -p "$(find "$work/here" -name '*.xlsx')" xl/workbook.xml | grep -o 'sheet name="[^"]*"' | cut -d'"' -f2 | xargs
}

# --- the front door -----------------------------------------------------------------------------
fresh
line 1 works "$P"
expect_stdout_has 'usage: npuprof'
line 2 works "$P" --help
expect_stdout_has 'usage: npuprof'
for number in 3 4 5; do
	option=$(printf '%s\n' -V --version -v | sed -n "$((number - 2))p")
	line "$number" works "$P" "$option"
	expect_stdout_has 'npuprof '
done

# --- cluster ------------------------------------------------------------------------------------
cp -r "$work/in" "$work/below"
line 6 works "$P" -d "$work/below/new"
expect_file "$work/below/new/cluster_analysis_output/cluster_analysis.db"
rm -r "$work/below/new/cluster_analysis_output"
line 7 works "$P" cluster -d "$work/below/new"
expect_file "$work/below/new/cluster_analysis_output/cluster_analysis.db"
rm -r "$work/below"
line 8 works "$P" cluster -m all -d "$D" -o ./out
expect_equal "$(out 'SELECT count(*) > 0 FROM ClusterStepTraceTime')" 1
line 9 works "$P" cluster -d "$D" -o ./out -m communication_matrix
line 10 works "$P" cluster -d "$D" -o ./out --mode communication_time --force
expect_stderr_has '--force is ignored'
line 11 works "$P" cluster -d "$D" -o ./out -m all --agent
expect_no_stderr
expect_equal "$(wc -l <"$work/stdout")" 1
expect_equal "$(sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '\$.status', '\$.code',
	'\$.message.db_path', '\$.log_path', '\$.command')")" \
	'["success",0,"./out/cluster_analysis_output/cluster_analysis.db","","cluster"]'
behaviour 'a failure is one line, too'
run "$P" cluster -d "$work/nosuch" --agent
expect_equal "$(wc -l <"$work/stdout")" 1
expect_equal "$(sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '\$.status', '\$.code') ||
	(json_extract(readfile('$work/stdout'), '\$.message.err') LIKE '%nosuch%')")" "[\"error\",$status]1"
line 12 works "$P" cluster -d "$D" -o ./out --mode hccl_sum --top_num 10
expect_equal "$(out 'SELECT count(*) FROM HcclTopOpStats')" 10
line 13 works "$P" cluster -d "$D" -o ./out -m all --data_simplification
expect_stderr_has '--data-simplification is ignored'
line 14 works "$P" -m cluster_time_summary -d "$D" -o ./out
expect_stdout_has ClusterTimeSummary
line 15 works "$P" -m cluster_time_summary -d "$D" -o ./out
expect_equal "$(out 'SELECT count(*) FROM ClusterTimeSummary')" 8
line 16 works "$P" -m cluster_time_summary -d "$D" -o ./out --export_type text
expect_equal "$(find out -path '*/ClusterTimeSummary/cluster_time_summary_2*.csv' | wc -l)" 1
expect_equal "$(cut -d, -f1-3 out/*/ClusterTimeSummary/*.csv | head -n 1)" 'Rank,Step,Step Time(us)'
line 17 works "$P" -m cluster_time_compare_summary -d "$D" --bp "$B" -o ./out
expect_equal "$(out 'SELECT count(*) FROM ClusterTimeCompareSummary WHERE abs(stepTime - stepTimeBase - stepTimeDiff) < 1e-6')" 8
expect_stdout_has 'explains the difference'
line 18 works "$P" -m cluster_time_compare_summary -d "$D" -bp "$B" -o ./out
line 19 works "$P" -m free_analysis -d "$D" -o ./out
line 20 works "$P" -m free_analysis -d "$D" -o ./out --top_num 10 --export_type text
expect_equal "$(head -n 1 out/*/FreeAnalysis/free_analysis.csv | cut -d, -f1-2)" 'Rank ID,Start Time(us)'
line 21 works "$P" -m communication_bottleneck -d "$D" -o ./out --rank_id 0 --top_num 10
line 22 works "$P" -m computational_op_masking --export_type db --step_id 11 --parallel_types 'edp,dp;dp;edp' -d "$D" -o ./out
expect_equal "$(out 'SELECT DISTINCT stepId FROM ComputationalOperatorMaskingLinearity')" 11
line 23 explains "$P" -m computational_op_masking -d "$D" --parallel_types 'dp;'
expect_stderr_has 'group 2' 'is empty'
line 24 works "$P" -m module_statistic -d "$D" -o ./out --export_type text
line 25 works "$P" -m operator_mfu -d "$D" -o ./out --export_type text
line 26 works "$P" cluster -m pp_chart -d "$D" -o ./out
line 27 works "$P" cluster -m export_summary -d "$D" -o ./out
expect_equal "$(find out -name kernel_details.csv | wc -l)" 2
sqlite3 "$work/gpu.sqlite" "CREATE TABLE StringIds(id INTEGER, value TEXT);
	CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER);
	INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 500000, 0, 7)"
line 28 works "$P" cluster -m calibrate_npu_gpu --profiling_path "$N1" --baseline_profiling_path "$work/gpu.sqlite" -o ./calibration \
	--export_type text --dump_intermediate_results
expect_stderr_has '--dump-intermediate-results is ignored'
expect_equal "$(find calibration -name 'performance_comparison_result_*.xlsx' | wc -l)" 1
rm -r calibration
run "$P" cluster -m calibrate_npu_gpu -d "$N1"
expect_exit 2
expect_stderr_has 'npuprof compare GPU NPU'
line 29 works "$P" -m mstx2commop -d "$D" -o ./out
line 30 works "$P" -m p2p_pairing -d "$D" -o ./out
line 31 works "$P" -m slow_rank -d "$D" -o ./out
line 32 works "$P" -m slow_link -d "$D" -o ./out --top_num 20
line 33 works "$P" -m cann_api_sum -d "$D" -o ./out --rank_list 0,1 --step_id=11
expect_equal "$(out 'SELECT DISTINCT rank FROM CannApiSumRank ORDER BY 1' | xargs)" '0 1'
line 34 works "$P" -m compute_op_sum -d "$D" -o ./out --exclude_op_name --rank_list all
expect_equal "$(out "SELECT count(*) FROM sqlite_master WHERE name = 'ComputeOpPerRankStatsByOpName'")" 0
line 35 works "$P" -m hccl_sum -d "$D" -o ./out --export_type notebook
expect_stderr_has '--export-type notebook is ignored'
expect_file out/cluster_analysis_output/HcclSum/all_stats.csv
line 36 works "$P" -m mstx_sum -d "$D" -o ./out --step_id -1
line 37 works "$P" -m freq_analysis -d "$D" -o ./out
line 38 works "$P" -m ep_load_balance -d "$D" -o ./out
line 39 works "$P" -m communication_group_map -d "$D" -o ./out
line 40 works "$P" -m communication_time_sum -d "$D" -o ./out --export_type text
expect_file out/cluster_analysis_output/CommunicationTimeSum/cluster_communication_bandwidth.csv
line 41 works "$P" -m communication_matrix_sum -d "$D" -o ./out
line 42 works "$P" -m hccl_sum -d "$D" -o ./out --rank_list 0-1
expect_equal "$(out 'SELECT count(DISTINCT Rank) FROM HcclPerRankStats')" 2
line 43 explains "$P" -m hccl_sum -d "$D" -o ./out --step_id 999
expect_stderr_has 999 10
line 44 explains "$P" -m all -d "$work/empty" -o ./out
expect_stderr_has "$work/empty"
line 45 explains "$P" -m nosuch -d "$D"
expect_stderr_has nosuch

# --- advisor ------------------------------------------------------------------------------------
fresh
line 46 works "$P" advisor all -d "$D"
expect_equal "$(find . -type f | sed 's/[0-9]\{14\}/TIME/' | sort | xargs)" './log/mstt_advisor_TIME.xlsx ./mstt_advisor_TIME.html'
expect_equal "$(sheets | cut -d' ' -f1)" problems
line 47 works "$P" advisor all -d "$D" -o ./advice
expect_equal "$(find advice -name 'mstt_advisor_*.html' | wc -l)" 1
line 48 works "$P" advisor all -d "$D" -bp "$B" -o ./advice
line 49 works "$P" advisor computation -d "$D" -o ./advice
line 50 works "$P" advisor schedule -d "$D" -o ./advice
line 51 works "$P" advisor all -d "$D" -l en -o ./advice
line 52 works "$P" advisor all -d "$D" -l cn -o ./chinese
expect_equal "$(unzip -p chinese/log/*.xlsx xl/workbook.xml | grep -c 问题综述)" 1
line 53 works "$P" advisor all -d "$D" --force --debug -o ./advice
expect_stderr_has '--force is ignored'
line 54 works "$P" advisor all -d "$D" -o ./advice -cv 8.0.RC1 -tv 2.1.0 -pt pytorch
expect_stderr_has '-pt is ignored'
fresh
line 55 works "$P" advisor all -d "$D" --agent
expect_equal "$(find . -type f | wc -l)" 0
expect_equal "$(sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '\$.status', '\$.message.problems.headers[0]',
	'\$.schema')")" '["success","category","npuprof.agent/1"]'

# --- compare ------------------------------------------------------------------------------------
cat >"$work/gpu_trace.json" <<'TRACE'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50, "args": {"External id": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "args": {"correlation": 5}},
{"ph": "X", "cat": "kernel", "name": "ampere_sgemm", "pid": 0, "tid": 7, "ts": 100, "dur": 400, "args": {"device": 0, "stream": 7, "correlation": 5}}
]}
TRACE
fresh
line 56 works "$P" compare -d "$N1" -bp "$work/gpu_trace.json" -o ./compare_output
expect_equal "$(sheets | cut -d' ' -f1)" OverallMetrics
# compared <number> <option>...: the everyday comparison with these options
compared() {
	local number=$1

	shift
	fresh
	line "$number" works "$P" compare -d "$N1" -bp "$B1" -o ./compare_output "$@"
	expect_equal "$(find compare_output -name 'performance_comparison_result_*.xlsx' | wc -l)" 1
}
has_sheet() {
	expect "no sheet $1" grep -qw "$1" <(sheets)
}
compared 57
has_sheet KernelCompare
has_sheet CommunicationCompare
compared 58 --enable_profiling_compare
expect_equal "$(sheets | cut -d' ' -f1-2)" 'OverallMetrics waterfall'
compared 59 --enable_operator_compare
compared 60 --enable_communication_compare
expect_equal "$(sheets | cut -d' ' -f1-3)" 'OverallMetrics CommunicationCompare waterfall'
compared 61 --enable_memory_compare
compared 62 --enable_api_compare
compared 63 --enable_kernel_compare --use_kernel_type
expect_equal "$(sheets | cut -d' ' -f1-3)" 'OverallMetrics KernelTypeCompare waterfall'
compared 64 --base_step=11 --comparison_step=11
compared 65 --disable_details
expect 'details are there' test "$(sheets | grep -cw operator_detail)" = 0
compared 66 --disable_module --use_input_shape --max_kernel_num=10
expect_stderr_has '--max-kernel-num is ignored'
compared 67 "--op_name_map={'Optimizer.step#SGD.step':'Optimizer.step#NpuFusedSGD.step'}" --gpu_flow_cat=async_gpu
expect_stderr_has '--gpu-flow-cat is ignored'
fresh
line 68 works "$P" compare -d "$N1" -bp "$B1" --output_path=./result_dir
expect_equal "$(find result_dir -name '*.xlsx' | wc -l)" 1
line 69 works "$P" auto-completion Bash
expect_stdout_has complete
fresh
line 70 works "$npuprof" compare "$B1" "$N1" --output_path=./out
expect_equal "$(find out -name '*.xlsx' | wc -l)" 1

# --- MindSpeed ----------------------------------------------------------------------------------
mkdir -p "$work/raw/host_1_20250101000000_ascend_pt/FRAMEWORK" "$work/raw/host_1_20250101000000_ascend_pt/PROF_000001_20250101000000000_A"
printf '{ // comment\n "profile": {"enable": true, "static_param": {"save_path": "%s"}}, }\n' "$work/raw" >"$work/tools.json"
for number in 71 72; do
	if [[ $number == 71 ]]; then
		line 71 explains "$npuprof" export --mm-tool "$work/tools.json" --export-type text --export-type db
	else
		line 72 explains "$npuprof" export --profiler-path "$work/raw" --max-process-number 8
	fi
	expect_stderr_has 'from torch_npu.profiler.profiler import analyse' "profiler_path=\"$work/raw"
done
behaviour 'a tools.json without a path is refused, and so is none'
echo '{"profile": {}}' >"$work/other.json"
run "$npuprof" export --mm-tool "$work/other.json"
expect_exit 2
expect_stderr_has 'names no profile.static_param.save_path'
run "$npuprof" export --mm-tool "$work/nosuch.json"
expect_exit 2
run "$npuprof" export
expect_exit 2
expect_stderr_has 'export needs an argument DIR'

# Without Open MPI there is no collector.
if [[ -x $NPUPROF_BUILD/npuprof-collect ]]; then
	export LD_LIBRARY_PATH=$NPUPROF_BUILD/npusim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	flags=(--profile-step-start 5 --profile-step-end 6 --profile-ranks 0 --profile-level level1 --profile-with-cpu
		--profile-save-path ./profile_dir)
	line 73 works "$NPUPROF_BUILD/npuprof-collect" --profile "${flags[@]}" --dry-run -- true
	expect_stdout_has 'steps'
	line 74 works "$NPUPROF_BUILD/npuprof-collect" --profile --profile_step_start 5 --profile_step_end 6 --profile_ranks -1 \
		--profile_level level1 --profile_with_cpu --profile_save_path ./profile_dir --dry-run -- true
	expect_stdout_has 'steps'

	behaviour 'all 74 lines were tried: 68 work, 6 explain'
	expect_equal "$counted $working $explained" '74 68 6'
fi

behaviour 'inputs are untouched'
expect_equal "$(snapshot "$work/in")" "$before"
