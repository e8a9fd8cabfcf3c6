#!/usr/bin/env bash
# --steps-from: marks, iterations that are found, ranges of the application, or one step.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
shape=(--ranks 2 --steps 4 --layers 4 --kernels-per-layer 6)
"$synth" -q -o db "${shape[@]}" || exit 1
"$synth" -q -o text "${shape[@]}" --format text || exit 1

# query <out> <sql>: of a merged database
query() {
	sqlite3 "$1/cluster_analysis_output/cluster_analysis.db" "$2"
}

times="SELECT rank, computing_ns, communication_not_overlapped_ns, free_ns, span_ns, iteration_ns FROM np_step ORDER BY rank, rowid"

behaviour 'what cannot be meant is refused before anything is read'
for word in rhythm range: 'range:(' ''; do
	run "$npuprof" cluster nowhere --steps-from "$word"
	expect_exit 2
	expect_stderr_has '--steps-from'
done

behaviour 'marks may be left aside'
for form in db text; do
	run "$npuprof" cluster $form -o out-marks -f json -q
	run "$npuprof" cluster $form -o out-none --steps-from none -f json -q
	expect_exit 0
	expect_stdout_says '"how": "none"'
	expect_equal "$(query out-none 'SELECT count(*), count(step) FROM np_step')" '2|0'
	run "$npuprof" cluster $form -o out-period --steps-from period -f json -q
	expect_exit 0
	expect_stdout_says '"how": "period"'
	expect "$form: the same times" diff <(query out-marks "$times") <(query out-period "$times")
	expect_equal "$(query out-period 'SELECT DISTINCT step IS NULL FROM ClusterStepTraceTime')" 1
done

behaviour 'ranges of mstx are steps, called by their numbers where their names repeat'
for name in db/*/*/ascend_pytorch_profiler_*.db; do
	sqlite3 "$name" "INSERT INTO STRING_IDS VALUES (9000001, 'decode'), (9000002, 'decode inner'), (9000003, 'other');
		CREATE TABLE IF NOT EXISTS MSTX_EVENTS (startNs INTEGER, endNs INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,
			message INTEGER, globalTid INTEGER, endGlobalTid INTEGER, domainId INTEGER, connectionId INTEGER);
		INSERT INTO MSTX_EVENTS (startNs, endNs, eventType, message) SELECT startNs, endNs, 2, 9000001 FROM STEP_TIME;
		INSERT INTO MSTX_EVENTS (startNs, endNs, eventType, message) SELECT startNs + 100, endNs - 100, 2, 9000002 FROM STEP_TIME;
		INSERT INTO MSTX_EVENTS (startNs, endNs, eventType, message) SELECT startNs, startNs, 3, 9000001 FROM STEP_TIME;
		INSERT INTO MSTX_EVENTS (startNs, endNs, eventType, message) SELECT startNs - 5000, endNs, 2, 9000003 FROM STEP_TIME"
done
before=$(snapshot db)
run "$npuprof" cluster db -o out-marks -f json -q
run "$npuprof" cluster db -o out-range --steps-from 'range:^decode$' -f json -q
expect_exit 0
expect_stdout_says '"how": "range"'
expect 'the same times' diff <(query out-marks "$times") <(query out-range "$times")
expect_equal "$(query out-range "SELECT group_concat(step, ' ') FROM np_step WHERE rank = 0")" '1 2 3 4'
expect_equal "$(query out-range 'SELECT DISTINCT step IS NULL FROM ClusterStepTraceTime')" 1
run "$npuprof" cluster db -o out-range --steps-from 'range:^decode$'
expect_stdout_says 'steps (ranges) 1-4'

behaviour 'a range that lies in another is left out, and that is said'
run "$npuprof" cluster db -o out-nested --steps-from range:decode -f json -q
expect_stdout_says '4 ranges that match' 'lie in another one'
expect 'the same times' diff <(query out-marks "$times") <(query out-nested "$times")

behaviour 'a pattern that nothing matches leaves one step, and that is said'
run "$npuprof" cluster db -o out-nothing --steps-from range:prefill -f json -q
expect_exit 0
expect_stdout_says '"how": "none"' "no range whose name matches 'prefill'"
expect_equal "$(snapshot db)" "$before"

behaviour 'annotations of the user are ranges, called by their names where these differ'
for name in text/*/ASCEND_PROFILER_OUTPUT; do
	sed -i 's/ProfilerStep#/serve#/g' "$name/trace_view.json"
	rm -f "$name/step_trace_time.csv" "$name"/communication*.json
done
run "$npuprof" cluster text -o out-names --steps-from 'range:^serve#' -f json -q
expect_stdout_says '"how": "range"' '"serve#10"'
expect 'the same times' diff <(query out-marks "$times") <(query out-names "$times")

behaviour 'every command over a run takes it, and summaries keep it'
for command in info whatif advisor; do
	run "$npuprof" $command db --steps-from 'range:^decode$' -f json -q
	expect_stdout_says '"how": "range"'
done
run "$npuprof" compare db db --steps-from 'range:^decode$' -f json -q
expect_stdout_says '"how": "range"' '"steps_base": 3'
for _ in 1 2; do
	run "$npuprof" cluster db -o out-cached --cache cache --steps-from 'range:^decode$' -f json -q
	expect_stdout_says '"how": "range"'
	run "$npuprof" cluster db -o out-cached --cache cache -f json -q
	expect_stdout_says '"how": "marks"'
done

behaviour 'where no table has the steps, marks such as "step 12" are them, as msMonitor writes them'
run "$npuprof" cluster db -o out-table -f json -q
for name in db/*/ASCEND_PROFILER_OUTPUT; do
	sqlite3 "$name"/ascend_pytorch_profiler_*.db "
		DROP TABLE IF EXISTS MSTX_EVENTS;
		CREATE TABLE MSTX_EVENTS(startNs INTEGER, endNs INTEGER, eventType INTEGER, message INTEGER, globalTid INTEGER, domainId INTEGER,
			connectionId INTEGER);
		INSERT INTO STRING_IDS SELECT 800000000 + id, 'step ' || id FROM STEP_TIME;
		INSERT INTO STRING_IDS VALUES (800900000, 'step twelve');
		INSERT INTO MSTX_EVENTS SELECT startNs, endNs, 1, 800000000 + id, 1, 0, 4000000000 + id FROM STEP_TIME;
		INSERT INTO MSTX_EVENTS SELECT startNs + 5, endNs, 1, 800000000 + id, 2, 0, 4000001000 + id FROM STEP_TIME;
		INSERT INTO MSTX_EVENTS SELECT startNs, endNs, 1, 800900000, 2, 0, 4000002000 + id FROM STEP_TIME;
		DROP TABLE STEP_TIME" || exit 1
	rm -f "$name/analysis.db"
done
run "$npuprof" cluster db -o out-step-marks -f json -q
expect_exit 0
expect_stdout_says '"how": "marks"' '"steps": ["10", "11", "12"'
expect 'the same times' diff <(query out-table "$times") <(query out-step-marks "$times")
