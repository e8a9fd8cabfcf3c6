#!/usr/bin/env bash
# Profiles without step marks: iterations are found in what repeats, and used as steps.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
shape=(--ranks 4 --pp 2 --steps 5 --layers 4 --kernels-per-layer 6)
"$synth" -q -o marked "${shape[@]}" || exit 1
"$synth" -q -o db "${shape[@]}" --no-steps || exit 1
"$synth" -q -o text "${shape[@]}" --no-steps --format text || exit 1

# query <out> <sql>: of a merged database
query() {
	sqlite3 "$1/cluster_analysis_output/cluster_analysis.db" "$2"
}

own="SELECT rank, computing_ns, communication_not_overlapped_ns, free_ns, span_ns, iteration_ns, between_ns FROM np_step ORDER BY rank, step"
run "$npuprof" cluster marked -o out-marked -f json -q
behaviour 'marks are what steps come from where there are any'
expect_stdout_says '"steps_from": { "how": "marks", "confidence": null }'

for form in db text; do
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

behaviour 'ranks that do not repeat equally often have one step, and it is said'
"$synth" -q -o short "${shape[@]}" --no-steps --truncate 1:0.5 || exit 1
run "$npuprof" cluster short -o out-short
expect_stdout_says 'the ranks do not repeat equally often'
