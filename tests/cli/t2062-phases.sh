#!/usr/bin/env bash
# Captures of one rank in several roles, steps or windows: phases, each analysed by itself.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
small=(--ranks 4 --steps 2 --layers 2 --kernels-per-layer 3 --seed 3)
"$synth" -q -o rl/actor_update "${small[@]}" --slow-rank 2:2 || exit 1
"$synth" -q -o rl/ref_log_prob "${small[@]}" || exit 1
before=$(snapshot rl)

# of_json <sql over j>: of the JSON on stdout
of_json() {
	sqlite3 :memory: "SELECT $1 FROM (SELECT readfile('stdout') AS j)"
}

# times <database>
times() {
	sqlite3 "$1/cluster_analysis.db" "SELECT step, \"index\", computing, free FROM ClusterStepTraceTime ORDER BY 1, 2"
}

behaviour 'roles are phases, a section and a database each'
run "$npuprof" cluster -o out rl
expect_exit 0
expect_stdout_has '=== phase actor_update ===' '=== phase ref_log_prob ===' 'Phases: time on the device'
expect_equal "$(find out -name '*.db' | sort | tr '\n' ' ')" \
	'out/cluster_analysis_output/actor_update/cluster_analysis.db out/cluster_analysis_output/ref_log_prob/cluster_analysis.db '
for role in actor_update ref_log_prob; do
	run "$npuprof" cluster -q -o alone/$role rl/$role
	expect "$role is as by itself" diff <(times alone/$role/cluster_analysis_output) <(times out/cluster_analysis_output/$role)
done

behaviour 'the results of the phases stand in for profiles that are not there'
run "$npuprof" cluster -o later out/cluster_analysis_output
expect_exit 0
expect_stdout_has '=== phase actor_update ===' '=== phase ref_log_prob ==='
expect 'step times are as they were' diff <(times out/cluster_analysis_output/ref_log_prob) \
	<(times later/cluster_analysis_output/ref_log_prob)

behaviour 'JSON has an object for each phase'
run "$npuprof" cluster -o out -f json rl
expect_exit 0
expect_equal "$(of_json "j ->> '\$.schema', json_array_length(j, '\$.phases'), j ->> '\$.phases[0].phase', j ->> '\$.phases[1].phase',
	json_array_length(j, '\$.phases[0].steps[0].ranks')")" 'npuprof.cluster/1|2|actor_update|ref_log_prob|4'

behaviour 'the table of phases and ranks has time, idle time and what phases share of an NPU'
expect_equal "$(of_json "json_array_length(j, '\$.phase_ranks'), j ->> '\$.phase_ranks[0].phase', j ->> '\$.phase_ranks[5].rank',
	j ->> '\$.phase_ranks[0].time_ns' > 0, j ->> '\$.phase_ranks[0].idle_ns' >= 0,
	j ->> '\$.phase_ranks[4].overlap_ns' BETWEEN 1 AND j ->> '\$.phase_ranks[4].time_ns'")" '8|actor_update|1|1|1|1'

behaviour 'other commands do likewise'
for each in info whatif advisor; do
	run "$npuprof" $each -q -f json rl
	expect_exit 0
	expect_equal "$each $(of_json "j ->> '\$.schema', json_array_length(j, '\$.phases')")" "$each npuprof.$each/1|2"
	run "$npuprof" $each -q rl
	expect_stdout_has '=== phase ref_log_prob ==='
done
run "$npuprof" info -f csv rl
expect_equal "$(head -1 stdout | cut -d, -f1-2)" phase,rank
expect_equal "$(wc -l <stdout)" 9

behaviour '--phase chooses one, and the output is as without phases'
run "$npuprof" cluster -o chosen -f json --phase ref_log_prob rl
expect_exit 0
expect_equal "$(of_json "j ->> '\$.phases' IS NULL, j ->> '\$.input.ranks_used'")" '1|4'
expect 'its database is its own' test -s chosen/cluster_analysis_output/ref_log_prob/cluster_analysis.db
run "$npuprof" cluster --phase critic rl
expect_exit 2
expect_stderr_has "no phase 'critic' in this run; there are actor_update, ref_log_prob"
run "$npuprof" advisor -f sarif rl
expect_exit 2
expect_stderr_has '--phase'

behaviour 'what is wrong with all phases is said once, and there is no half of a result'
for form in table json csv; do
	run "$npuprof" whatif -f $form --fix rank:9 rl
	expect_exit 2
	expect_stderr_has "there is no rank '9' in this run" 'it is the same in all 2 phases'
	expect_equal "$form $(grep -c 'rank .9' stderr)" "$form 1"
	[ $form = table ] || expect_equal "$form $(wc -c <stdout)" "$form 0"
done
mkdir alone-rank
for minute in 10 20 30; do
	to=alone-rank/host0_200_202501090816${minute}000_ascend_pt
	mkdir -p $to && cp -r "$(dirname "$(ls rl/ref_log_prob/*/profiler_info_0.json)")"/* $to
done
run "$npuprof" whatif alone-rank
expect_exit 1
expect_equal "$(grep -c 'nothing to replay' stderr) $(grep -c '=== phase' stdout)" '1 1'
expect_stderr_has 'it is the same in all 3 phases'

behaviour 'what is wrong with some phases leaves the others, and is listed'
"$synth" -q -o mixed/critic "${small[@]}" || exit 1
"$synth" -q -o mixed/rollout --ranks 2 --steps 2 --layers 2 --kernels-per-layer 3 --seed 3 || exit 1
run "$npuprof" whatif -q -f json --fix rank:3 mixed
expect_exit 3
expect_equal "$(of_json "json_array_length(j, '\$.phases'), j ->> '\$.phases[0].phase', j ->> '\$.phases_failed[0].phase',
	j ->> '\$.phases_failed[0].reason' LIKE '%no rank%3%'")" '1|critic|rollout|1'

behaviour 'compare pairs phases by name, and says which have no other'
cp -r rl new
"$synth" -q -o new/critic_update "${small[@]}" --slow-rank 1:2 || exit 1
run "$npuprof" compare -q -f json rl new
expect_exit 3
expect_stderr_has "phase 'critic_update' is not compared: only the new run has it"
expect_equal "$(of_json "json_array_length(j, '\$.phases'), j ->> '\$.phases[0].step.delta_ns', j ->> '\$.phases[1].phase'")" '2|0|ref_log_prob'

behaviour 'a run without phases is compared with the phase that is chosen'
run "$npuprof" compare -q rl/ref_log_prob rl
expect_exit 2
expect_stderr_has 'one side has 2 phases and the other has one: choose with --phase'
run "$npuprof" compare -q -f json --phase ref_log_prob rl/ref_log_prob rl
expect_exit 0
expect_equal "$(of_json "j ->> '\$.step.delta_ns'")" 0

behaviour 'windows of one process are phases in the order of time'
mkdir -p windows
for rank in 0 1 2 3; do
	from=$(dirname "$(ls rl/ref_log_prob/*/profiler_info_$rank.json)")
	for minute in 10 20; do
		cp -r "$from" "windows/host0_$((200 + rank))_202501090816${minute}00${rank}_ascend_pt"
	done
done
run "$npuprof" info -f json windows
expect_exit 0
expect_equal "$(of_json "json_array_length(j, '\$.phases'), j ->> '\$.phases[0].phase', j ->> '\$.phases[1].phase',
	j ->> '\$.phases[1].input.ranks_used', j ->> '\$.phases[1].ranks[3].path' LIKE '%20003_ascend_pt'")" '2|window-1|window-2|4|1'

behaviour 'files side by side say role, step and what was measured by their names'
for step in 1 2; do
	for kind in actor ref; do
		"$synth" -q -o "made/$kind$step" --format kineto --ranks 2 --steps 2 --layers 1 --kernels-per-layer 2 --no-rank-id \
			--seed "$step${#kind}" || exit 1
	done
done
# names <file name with R, S and K for rank, step and kind>: of two ranks
names() {
	rm -rf named && mkdir -p named/actor named/ref
	for part in made/*; do
		rank=0
		for trace in "$part"/*.trace.json; do
			file=${1//R/$((rank++))} file=${file//S/${part: -1}} kind=${part#made/}
			cp "$trace" "named/${file//K/${kind%?}}"
		done
	done
	"$npuprof" info -q -f json named >stdout 2>stderr
	of_json "(SELECT group_concat((value ->> 'phase') || ':' || (value ->> '\$.input.ranks_used'), ' ') FROM json_each(j, '\$.phases'))"
}
expect_equal "$(names 'K_update_stepS_rankR-of-2_tpR-pp0_pid10R_2026040216035200S.json')" 'actor/step1:2 actor/step2:2 ref/step1:2 ref/step2:2'
expect_equal "$(names 'K/K_update_stepS_rankR-of-2_pid10R_2026040216035200S.json')" 'actor/step1:2 actor/step2:2 ref/step1:2 ref/step2:2'
expect_equal "$(names 'K_update_rankR-of-2_pid10R_2026040216035200S.json')" 'actor-1:2 actor-2:2 ref-1:2 ref-2:2'
expect_equal "$(names 'bs-S-176755377S.976-TP-R-K.trace.json')" 'bs-1/actor:2 bs-1/ref:2 bs-2/actor:2 bs-2/ref:2'
expect_equal "$(names '176755377S.976-TP-R-K.trace.json')" 'actor-1:2 actor-2:2 ref-1:2 ref-2:2'

behaviour 'inputs are untouched'
expect_equal "$(snapshot rl)" "$before"

behaviour 'a real duplicate is left out, with status 3'
cp -r "$(dirname "$(ls rl/ref_log_prob/*/profiler_info_1.json)")" rl/ref_log_prob/other_1_20200101000000000_ascend_pt
run "$npuprof" cluster -o out -f json --phase ref_log_prob rl
expect_exit 3
expect_equal "$(of_json "j ->> '\$.input.skipped[0].rank', j ->> '\$.input.skipped[0].reason' LIKE '%newer%'")" '1|1'
rm -r rl/ref_log_prob/other_1_20200101000000000_ascend_pt

behaviour 'a run that was copied is one run, and the copies are listed'
mkdir -p twice/{a,b} && cp -r rl/ref_log_prob twice/a/run && cp -r rl/ref_log_prob twice/b/run
run "$npuprof" cluster -o out -f json twice
expect_exit 3
expect_equal "$(of_json "j ->> '\$.phases' IS NULL, j ->> '\$.input.ranks_used', json_array_length(j, '\$.input.skipped'),
	j ->> '\$.input.skipped[0].reason' LIKE 'a copy of %/a/run/%'")" '1|4|4|1'

behaviour 'with one phase everything is as without'
run "$npuprof" info rl/ref_log_prob
expect_exit 0
expect_equal "$(grep -c 'phase' stdout)" 0

behaviour '-j makes no difference'
"$npuprof" cluster -q -o out -f json -j 1 rl >one.json
"$npuprof" cluster -q -o out -f json -j 4 rl >four.json
expect 'the same bytes' cmp one.json four.json
