#!/usr/bin/env bash
# npuprof-synth: its options, what it refuses, and the files of each form.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# Here it is what is tested, also in a build with sanitizers.
synth=$NPUPROF_BUILD/npuprof-synth

# Small runs: two ranks, two steps.
small=(--ranks 2 --steps 2 --layers 2 --kernels-per-layer 2 --buckets 1)

# generate <options>...: a fresh $work/c
generate() {
	rm -rf "$work/c"
	run "$synth" -q -o "$work/c" "${small[@]}" "$@"
	expect_exit 0
	expect_no_stdout
	expect_no_stderr
}

# files <below>: names below $work/c/<below>, with the rank's directory reduced to its kind
files() {
	(cd "$work/c" && find . -path "./$1" -type f -printf '%P\n' | sort |
		sed -E 's|^host0_[0-9]+_[0-9]{17}_|*_|; s|^PROF_000001_[0-9]{17}_[0-9]{8}[A-R]{8}/|PROF/|;
			s|_[0-9]{14}\.|_TIME.|; s|^msmonitor_[0-9]+_[0-9]{17}_|msmonitor_PID_TIME_|')
}

# contents <directory>: one line per file, databases by what is in them
contents() {
	(
		cd "$1" || exit
		find . -type f | sort | while read -r file; do
			case $file in
			*.db) echo "$file $(sqlite3 "$file" .dump | sha256sum)" ;;
			*) echo "$file $(sha256sum <"$file")" ;;
			esac
		done
	)
}

# is_json <file>
is_json() {
	[[ $(sqlite3 :memory: "SELECT json_valid(CAST(readfile('$1') AS TEXT))") == 1 ]]
}

behaviour 'the help names every form'
run "$synth" -h
expect_exit 0
expect_no_stderr
expect_stdout_has '--format FORM' '--format-of R:FORM' '--gzip' '--unclosed-trace' '--slices N' '--no-rank-id'
for form in db text both msprof-db msprof-text mindspore-db mindspore-text msmonitor; do
	expect_stdout_has "$form"
done

behaviour 'what cannot be done is refused before anything is written'
run "$synth"
expect_exit 2
expect_stderr_has 'no output directory'
run "$synth" -o "$work/c" --format tex
expect_exit 2
expect_stderr_has "--format takes FORM, not 'tex'"
run "$synth" -o "$work/c" --ranks 2 --format-of 2:text
expect_exit 2
expect_stderr_has '--format-of 2: there are 2 ranks'
run "$synth" -o "$work/c" --formt text
expect_exit 2
expect_stderr_has "did you mean '--format'?"
run "$synth" -o "$work/c" --slices 0
expect_exit 2
expect 'nothing was written' test ! -e "$work/c"

behaviour 'a directory that is not empty is left alone, unless forced'
mkdir "$work/full"
echo mine >"$work/full/file"
run "$synth" -o "$work/full" "${small[@]}"
expect_exit 2
expect_stderr_has 'is not empty; use --force'
expect_equal "$(ls "$work/full")" file
run "$synth" -q -o "$work/full" "${small[@]}" --force
expect_exit 0
expect_file "$work/full/truth.json"
expect_file "$work/full/file"

behaviour 'db: the databases of torch_npu'
generate --format db
expect_equal "$(files '*_200000_*')" '*_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db
*_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db
*_ascend_pt/profiler_info_0.json
*_ascend_pt/profiler_metadata.json'

text='*_ascend_pt/ASCEND_PROFILER_OUTPUT/api_statistic.csv
*_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json
*_ascend_pt/ASCEND_PROFILER_OUTPUT/communication_matrix.json
*_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv
*_ascend_pt/ASCEND_PROFILER_OUTPUT/op_statistic.csv
*_ascend_pt/ASCEND_PROFILER_OUTPUT/step_trace_time.csv
*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json
*_ascend_pt/profiler_info_0.json
*_ascend_pt/profiler_metadata.json'

behaviour 'text: the text export of torch_npu'
generate --format text
expect_equal "$(files '*_200000_*')" "$text"
output=$(echo "$work"/c/host0_200000_*/ASCEND_PROFILER_OUTPUT)
expect 'profiler_info says text' grep -q '"_export_type": "text",' "$output/../profiler_info_0.json"
expect 'lines of step_trace_time.csv end with CR LF' grep -q $'Preparing\r$' "$output/step_trace_time.csv"
expect 'times in kernel_details.csv have a tab behind them' grep -qP '\d{16}\.\d{3}\t,' "$output/kernel_details.csv"
expect 'shapes are quoted in quotes' grep -qF '"""25165824"""' "$output/kernel_details.csv"
expect 'the lane of communication is HCCL' grep -q '{"name": "HCCL"}' "$output/trace_view.json"
expect 'communicators are numbered' grep -q '"Group 0 Communication"' "$output/trace_view.json"

behaviour 'memory tables come with --memory'
generate --format text --memory
expect_equal "$(files '*_200000_*m[eo][mr]*.csv' | sed 's|.*/||')" 'memory_record.csv
npu_module_mem.csv
operator_memory.csv'

behaviour 'level 0 has neither calls nor small tasks nor communication files'
generate --format text --level 0
expect_equal "$(files '*_200000_*' | sed 's|.*/||')" 'kernel_details.csv
step_trace_time.csv
trace_view.json
profiler_info_0.json
profiler_metadata.json'
output=$(echo "$work"/c/host0_200000_*/ASCEND_PROFILER_OUTPUT)
expect 'no Node@launch' bash -c "! grep -q Node@launch '$output/trace_view.json'"
expect 'no Notify_Wait' bash -c "! grep -q Notify_Wait '$output/trace_view.json'"
expect 'but Notify Wait on its stream' grep -q '"Task Type": "Notify Wait"' "$output/trace_view.json"

behaviour 'schema 1.2 has other names and more columns'
generate --format text --schema 1.2
output=$(echo "$work"/c/host0_200000_*/ASCEND_PROFILER_OUTPUT)
expect 'the lane is Communication' grep -q '{"name": "Communication"}, "ph": "M"' "$output/trace_view.json"
expect 'communicators have their names' grep -q '"Group [^"]*%[^"]* Communication"' "$output/trace_view.json"
expect 'tasks tell the master plane' grep -q '"is_master": 1' "$output/trace_view.json"
expect 'kernels have Block Num' grep -q '^Step Id,Device_id,.*,Block Num,Mix Block Num,' "$output/kernel_details.csv"
expect 'steps have their device' grep -q '^Device_id,Step,' "$output/step_trace_time.csv"

behaviour 'both: text and databases side by side'
generate --format both
expect_equal "$(files '*_200000_*')" "$(printf '%s\n' "$text" \
	'*_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db' \
	'*_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db' | sort)"

behaviour 'msprof-db: PROF directories'
generate --format msprof-db
expect_equal "$(files 'PROF_*_00200017*')" 'PROF/analyze/communication_analyzer.db
PROF/device_1/info.json.1
PROF/host/info.json
PROF/msprof_TIME.db'
expect 'the rank is in info.json' grep -q '"rank_id":1,' "$work"/c/PROF_*_00200017*/device_1/info.json.1

behaviour 'msprof-text: the same as text, in slices if asked for'
generate --format msprof-text
expect_equal "$(files 'PROF_*_00200017*')" 'PROF/analyze/communication.json
PROF/analyze/communication_matrix.json
PROF/device_1/info.json.1
PROF/host/info.json
PROF/mindstudio_profiler_output/api_statistic_TIME.csv
PROF/mindstudio_profiler_output/msprof_TIME.json
PROF/mindstudio_profiler_output/op_statistic_TIME.csv
PROF/mindstudio_profiler_output/op_summary_TIME.csv'
generate --format msprof-text --slices 3 --no-rank-id
expect_equal "$(files 'PROF_*_00200000*/msprof_*')" 'PROF/mindstudio_profiler_output/msprof_slice_0_TIME.json
PROF/mindstudio_profiler_output/msprof_slice_1_TIME.json
PROF/mindstudio_profiler_output/msprof_slice_2_TIME.json'
expect 'the rank is not in info.json' grep -q '"rank_id":-1,' "$work"/c/PROF_*_00200017*/device_1/info.json.1

behaviour 'mindspore-db and mindspore-text: directories of MindSpore'
generate --format mindspore-db
expect_equal "$(files '*_200000_*')" '*_ascend_ms/ASCEND_PROFILER_OUTPUT/ascend_mindspore_profiler_0.db
*_ascend_ms/ASCEND_PROFILER_OUTPUT/communication_analyzer.db
*_ascend_ms/profiler_info_0.json
*_ascend_ms/profiler_metadata.json'
generate --format mindspore-text
expect_equal "$(files '*_200000_*')" "${text//ascend_pt/ascend_ms}"

behaviour 'msmonitor: one file per rank'
generate --format msmonitor
expect_equal "$(files '*')" 'msmonitor_PID_TIME_0.db
msmonitor_PID_TIME_1.db
truth.json'

behaviour 'ranks can have forms of their own'
generate --format-of 1:msmonitor --format text
expect_equal "$(files '*_200017_*')" 'msmonitor_PID_TIME_1.db'
expect_equal "$(files '*_200000_*')" "$text"

need_program sqlite3 gzip

behaviour 'all that ends in .json is JSON, and a trace can lack its end'
for form in text msprof-text mindspore-text; do
	generate --format "$form" --schedule pp --pp 2
	while read -r file; do
		expect "$file is JSON" is_json "$file"
	done < <(find "$work/c" -name '*.json*')
done
generate --format text --unclosed-trace
trace=$(echo "$work"/c/host0_200000_*/*/trace_view.json)
expect 'the bracket is missing' test "$(tail -c 1 "$trace")" = '}'
echo ']' >>"$trace"
expect 'nothing else is' is_json "$trace"

behaviour 'a compressed trace is the same trace'
generate --format text
before=$(sha256sum <"$(echo "$work"/c/host0_200000_*/*/trace_view.json)")
generate --format text --gzip
expect_equal "$(gzip -dc "$work"/c/host0_200000_*/*/trace_view.json.gz | sha256sum)" "$before"

behaviour 'the number of threads does not show, the seed does, and the form not in truth.json'
mixed=(--format-of 0:text --format-of 1:msprof-text --format-of 2:mindspore-db --format-of 3:msmonitor)
run "$synth" -q -o "$work/j1" --ranks 6 --steps 2 --layers 2 --format both "${mixed[@]}" -j 1
run "$synth" -q -o "$work/j4" --ranks 6 --steps 2 --layers 2 --format both "${mixed[@]}" -j 4
run "$synth" -q -o "$work/s2" --ranks 6 --steps 2 --layers 2 --format both "${mixed[@]}" --seed 2
run "$synth" -q -o "$work/db" --ranks 6 --steps 2 --layers 2
expect_equal "$(contents "$work/j1")" "$(contents "$work/j4")"
expect 'another seed gives other files' test "$(contents "$work/j1")" != "$(contents "$work/s2")"
expect 'truth.json is the same for all forms' cmp "$work/j1/truth.json" "$work/db/truth.json"

behaviour 'idle time between steps and stalls of the data loader are in truth.json and in the files'
rm -rf "$work/c"
run "$synth" -q -o "$work/c" --format both --ranks 2 --steps 3 --layers 2 --noise 0 --between 4000 --dataloader 1:7000:3
expect_exit 0
truth() {
	sqlite3 :memory: "SELECT group_concat($1, ' ') FROM json_each(CAST(readfile('$work/c/truth.json') AS TEXT), '$2')"
}
expect_equal "$(truth "value ->> 'plant' || ' ' || (value ->> 'amount') || ' ' || coalesce(value ->> 'rank', 'all')" '$.planted')" \
	'between 4000.0 all dataloader 7000.0 1'
expect_equal "$(truth "value ->> 'every'" '$.planted')" 3
# Step 1 is an ordinary pause; before step 3 the loader stalls as well; the last step has no iteration.
expect_equal "$(truth "(value ->> 'between_ns') / 1000000" '$.ranks[1].steps')" '4 11'
expect_equal "$(truth "(value ->> 'iteration_ns') - (value ->> 'span_ns') = (value ->> 'between_ns')" '$.ranks[1].steps')" '1 1'
expect_equal "$(truth "value ->> 'iteration_ns' IS NULL" '$.ranks[1].steps')" '0 0 1'
output=$(echo "$work"/c/host0_200017_*/ASCEND_PROFILER_OUTPUT)
expect_equal "$(sqlite3 "$output/ascend_pytorch_profiler_1.db" "SELECT group_concat((endNs - startNs) / 1000000, ' ') FROM PYTORCH_API p
	JOIN STRING_IDS s ON s.id = p.name WHERE s.value LIKE 'enumerate(DataLoader)#%.__next__'")" '0 0 7'
expect 'the loader is a cpu_op of the trace' grep -qP '"name": "enumerate\(DataLoader\)#[^"]*__next__".*"dur": 7\d{3}\..*"cat": "cpu_op"' \
	"$output/trace_view.json"

# agree <what> <sql>: the query on the database of rank 0 gives no rows
agree() {
	expect "$1" test -z "$(sqlite3 "$db" "$2" 2>&1)"
}

behaviour 'text and database tell of the same run'
generate --format both --schedule pp --pp 2 --micro-batches 4
output=$(echo "$work"/c/host0_200000_*/ASCEND_PROFILER_OUTPUT)
db=$output/ascend_pytorch_profiler_0.db
# Events of the trace, with their lanes; times in ns, without a double in between.
sqlite3 "$db" "ATTACH '$work/trace.db' AS t;
	CREATE TABLE t.event AS SELECT value ->> 'name' AS name, value ->> 'ph' AS ph, value ->> 'pid' AS pid,
		CAST(replace(value ->> 'ts', '.', '') AS INTEGER) AS start,
		CAST(round((value ->> 'dur') * 1000) AS INTEGER) AS length,
		value ->> '\$.args.connection_id' AS connection, value ->> '\$.args.name' AS lane
		FROM json_each(CAST(readfile('$output/trace_view.json') AS TEXT));
	CREATE TABLE t.lane AS SELECT pid, lane FROM t.event WHERE ph = 'M' AND name = 'process_name'"
tasks="SELECT startNs, endNs - startNs, connectionId FROM TASK"
hardware="SELECT start, length, connection FROM t.event JOIN t.lane l USING (pid) WHERE ph = 'X' AND l.lane = 'Ascend Hardware'"
ops="SELECT startNs, endNs - startNs, connectionId FROM COMMUNICATION_OP"
hccl="SELECT start, length, connection FROM t.event JOIN t.lane l USING (pid) WHERE ph = 'X' AND l.lane = 'HCCL' AND name LIKE 'hcom%'"
agree 'tasks' "ATTACH '$work/trace.db' AS t; $tasks EXCEPT $hardware"
agree 'tasks of the trace' "ATTACH '$work/trace.db' AS t; $hardware EXCEPT $tasks"
agree 'operators' "ATTACH '$work/trace.db' AS t; $ops EXCEPT $hccl"
agree 'operators of the trace' "ATTACH '$work/trace.db' AS t; $hccl EXCEPT $ops"
agree 'steps' "ATTACH '$work/trace.db' AS t; SELECT 'ProfilerStep#' || id, startNs, endNs - startNs FROM STEP_TIME
	EXCEPT SELECT name, start, length FROM t.event"
db=$output/analysis.db
agree 'times of operators' "SELECT hccl_op_name || '@' || group_name, elapse_time, wait_time FROM CommAnalyzerTime
	EXCEPT SELECT o.key, o.value ->> '\$.Communication Time Info.Elapse Time(ms)',
		o.value ->> '\$.Communication Time Info.Wait Time(ms)'
		FROM json_each(CAST(readfile('$output/communication.json') AS TEXT)) s, json_each(s.value) t, json_each(t.value) o"

behaviour 'text and database tell the same of counters, and kernels of a kind have as many shapes as asked for'
rm -rf "$work/c"
run "$synth" -q -o "$work/c" --format both --ranks 1 --steps 2 --layers 2 --kernels-per-layer 24 --pmu --shapes 3
expect_exit 0
output=$(echo "$work"/c/host0_200000_*/ASCEND_PROFILER_OUTPUT)
shapes=$(sqlite3 "$output/ascend_pytorch_profiler_0.db" "SELECT s.value, count(*) FROM COMPUTE_TASK_INFO c
	JOIN STRING_IDS s ON s.id = c.inputShapes WHERE s.value LIKE '%,1,2816;%' GROUP BY 1")
expect_equal "$shapes" $'"4096,1,2816;4096,1,5632"|4\n"4097,1,2816;4096,1,5632"|4\n"4098,1,2816;4096,1,5632"|4'
sqlite3 "$work/csv.db" ".mode csv" ".import '$output/kernel_details.csv' k"
for counter in aic_mac aic_fixpipe aiv_mte3 aiv_scalar; do
	expect_equal "$(sqlite3 "$work/csv.db" "SELECT printf('%.3f', sum(${counter}_ratio)) FROM k")" \
		"$(sqlite3 "$output/ascend_pytorch_profiler_0.db" "SELECT printf('%.3f', sum(p.value)) FROM TASK_PMU_INFO p
			JOIN STRING_IDS s ON s.id = p.name WHERE s.value = '${counter}_ratio'")"
done

# written: of all that stands in profiles, one line
written() {
	cat "$work"/c/*/ASCEND_PROFILER_OUTPUT/* | sha256sum
}

behaviour 'every plan and every fault can be made in both forms, and shows in what is written'
while read -r plan faults; do
	case $plan in
	dp) plan=(--ranks 4 --hosts 2 --kernels-per-layer 12) ;;
	pp) plan=(--ranks 4 --schedule pp --micro-batches 2 --layers 4) ;;
	ep) plan=(--ranks 4 --schedule ep --ep 2 --dp 4) ;;
	esac
	generate "${plan[@]}" --format both
	sound=$(written)
	expect_equal "$(find "$work/c" -name 'profiler_info_*' | wc -l)" 4
	while read -r -d, fault; do
		# shellcheck disable=SC2086
		generate "${plan[@]}" --format both --no-instances $fault
		expect "$fault changes something" test "$(written)" != "$sound"
	done <<<"$faults,"
done <<'FAULTS'
dp --tp 2 --dp 2, --cp 2, --grads scatter, --first-step 3, --no-steps, --slow-rank 1:2 --seq-imbalance 0.3, --slow-link 0-1:3 --slow-sender 2:3 --slow-receiver 3:3, --clock-skew host1:120s --clock-skew 3:-250us:20, --host-gap 1:300, --drop-ops 1:1 --shift-ordinals 2:3, --truncate 1:0.5, --slow-type MatMulV2:2 --extra-casts 2, --reshape 2, --memory --leak 1:100000
pp --p2p batch, --slow-stage 1:1.5
ep --expert-skew 0.5
FAULTS

behaviour 'ranks can be left out, and a manifest added'
generate --ranks 4 --omit-ranks 1-2 --manifest --no-analysis
expect_equal "$(find "$work/c" -name 'profiler_info_*' | wc -l) $(find "$work/c" -name analysis.db | wc -l)" '2 0'
expect_file "$work/c/npuprof_manifest.json"
