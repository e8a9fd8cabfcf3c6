#!/usr/bin/env bash
# Profiles without step marks: iterations are found in what repeats, and used as steps.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
shape=(--ranks 4 --pp 2 --steps 5 --layers 4 --kernels-per-layer 6)
"$synth" -q -o marked "${shape[@]}" || exit 1
"$synth" -q -o db "${shape[@]}" --no-steps || exit 1
"$synth" -q -o text "${shape[@]}" --no-steps --format text || exit 1

behaviour 'layers are repeats within iterations and micro batches, from every form the same'
"$synth" -q -o kineto "${shape[@]}" --no-steps --format kineto || exit 1
# A stage has 2 of 4 layers, which are too few to repeat; with 8 it has 4, forward of 6 kernels and backward of 12.
"$synth" -q -o deep --ranks 4 --pp 2 --steps 4 --layers 8 --kernels-per-layer 6 --no-steps || exit 1
layers="SELECT group_concat((l.value ->> 'depth') || ':' || (l.value ->> 'repeats') || 'x' || (l.value ->> 'members'), ' ')
	FROM json_each(readfile('stdout'), '\$.ranks') AS r, json_each(r.value, '\$.layers') AS l WHERE r.value ->> 'rank' = 3"
for form in db text kineto; do
	run "$npuprof" info -q -f json $form
	sqlite3 :memory: "$layers" >layers.$form
done
expect 'text is as db' cmp layers.db layers.text
expect 'Kineto is as db' cmp layers.db layers.kineto
run "$npuprof" info -q -f json deep
expect_equal "$(sqlite3 :memory: "$layers")" '0:4x75 1:4x6 1:4x12'
run "$npuprof" info -q -v deep
expect_stdout_has 'Layers: what repeats within iterations that were found' '  4 x 12 '
run "$npuprof" info -q deep
expect_equal "$(grep -c Layers stdout)" 0

# query <out> <sql>: of a merged database
query() {
	sqlite3 "$1/cluster_analysis_output/cluster_analysis.db" "$2"
}

own="SELECT rank, computing_ns, communication_not_overlapped_ns, free_ns, span_ns, iteration_ns, between_ns FROM np_step ORDER BY rank, step"
run "$npuprof" cluster marked -o out-marked -f json -q
behaviour 'marks are what steps come from where there are any'
expect_stdout_says '"steps_from": { "how": "marks", "confidence": null }'

# Without its trace the text has iterations in the table of kernels and operators in communication.json.
cp -r text tables
find tables -name trace_view.json -delete
for form in db text tables; do
	run "$npuprof" cluster $form -o out-$form -f json -q
	behaviour "iterations found are the true steps, from $form"
	expect_stdout_says '"how": "period", "confidence": 0.9'
	expect 'the same times' diff <(query out-marked "$own") <(query out-$form "$own")
	expect_equal "$(query out-$form "SELECT group_concat(step, ' ') FROM np_step WHERE rank = 0")" '1 2 3 4 5'
	run "$npuprof" cluster $form -o out-whole-$form --steps-from none -f json -q
	behaviour "with --steps-from none all is one step, from $form"
	expect_stdout_says '"how": "none", "confidence": null'
	behaviour "the vendor's tables have one step with or without iterations, from $form"
	for table in ClusterStepTraceTime ClusterCommunicationTime ClusterCommunicationMatrix ClusterCommunicationBandwidth; do
		expect "$table" diff <(query out-whole-$form "SELECT * FROM $table") <(query out-$form "SELECT * FROM $table")
	done
done

behaviour 'summaries hold them too'
run "$npuprof" cluster db -o out-cached --cache cache -f json -q
run "$npuprof" cluster db -o out-cached --cache cache -f json -q
expect 'the same times' diff <(query out-marked "$own") <(query out-cached "$own")

behaviour 'a capture that ends early has the first iterations'
"$synth" -q -o short "${shape[@]}" --no-steps --truncate 1:0.5 || exit 1
run "$npuprof" cluster short -o out-short -q
expect_equal "$(query out-short "SELECT group_concat(step, ' ') FROM np_step WHERE rank = 1")" '1 2'
expect_equal "$(query out-short "SELECT group_concat(step, ' ') FROM np_step WHERE rank = 0")" '1 2 3 4 5'

# late <sql>: rank 1 of the run with what was recorded before a time left out
late() {
	local db

	rm -rf late
	cp -r db late
	db=$(find late -name 'ascend_pytorch_profiler_1.db')
	find late -name analysis.db -delete
	sqlite3 "$db" "CREATE TEMP TABLE cut AS SELECT $1 AS at;
		DELETE FROM COMMUNICATION_OP WHERE startNs < (SELECT at FROM cut);
		DELETE FROM TASK WHERE startNs < (SELECT at FROM cut);
		DELETE FROM COMPUTE_TASK_INFO WHERE globalTaskId NOT IN (SELECT globalTaskId FROM TASK);
		DELETE FROM COMMUNICATION_TASK_INFO WHERE globalTaskId NOT IN (SELECT globalTaskId FROM TASK);
		DELETE FROM CANN_API WHERE connectionId NOT IN (SELECT connectionId FROM TASK) AND
			connectionId NOT IN (SELECT connectionId FROM COMMUNICATION_OP)"
}

behaviour 'a capture that begins later has the later iterations, by the collectives that all ranks share'
begin=$(sqlite3 "$(find marked -name 'ascend_pytorch_profiler_1.db')" 'SELECT startNs FROM STEP_TIME ORDER BY 1 LIMIT 1 OFFSET 1')
late "$begin"
run "$npuprof" cluster late -o out-late -q
expect_equal "$(query out-late "SELECT group_concat(step, ' ') FROM np_step WHERE rank = 1")" '2 3 4 5'
expect_equal "$(query out-late "SELECT group_concat(step, ' ') FROM np_step WHERE rank = 0")" '1 2 3 4 5'
# It begins with what the first iteration left behind: the same phase on every iteration, not that of the others.
expect 'they are as long' test "$(query out-late "ATTACH 'out-db/cluster_analysis_output/cluster_analysis.db' AS whole;
	SELECT count(*) FROM np_step a JOIN whole.np_step b USING (rank, step) WHERE rank = 1
		AND abs(a.iteration_ns - b.iteration_ns) * 100 < b.iteration_ns")" -eq 3

behaviour 'where the iterations of one rank are not those of the others none are used, and it is said'
rm -rf odd
cp -r db odd
find odd -name analysis.db -delete
sqlite3 "$(find odd -name 'ascend_pytorch_profiler_1.db')" 'DELETE FROM COMPUTE_TASK_INFO WHERE abs(random()) % 3 > 0;
	DELETE FROM COMMUNICATION_OP WHERE abs(random()) % 3 > 0'
run "$npuprof" cluster odd -o out-odd -f json -q
expect_stdout_says '"how": "none"' 'but not the same on rank 1'

behaviour 'tokens of experts are others on each rank: iterations are the same where their sizes are not'
"$synth" -q -o experts --schedule ep --ranks 4 --ep 4 --steps 5 --layers 4 --expert-skew 0.5 --no-steps --no-instances || exit 1
run "$npuprof" cluster experts --no-db -f json -q
expect_exit 0
expect_stdout_says '"how": "period"'
expect_stdout_lacks 'not the same on rank'
