#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The replay of a run, what repairs gain in it, and the verdict that follows.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# make <name> <synth options>...: a run in $work/<name>
make() {
	local name=$1

	shift
	run "$synth" -q -o "$work/$name" --no-instances --layers 8 --kernels-per-layer 6 --steps 3 "$@"
	expect_exit 0
}

# whatif <name> <options>...: its JSON in $work/json; of a run that is asked twice what was said the first time
whatif() {
	local name=$1 kept="$work/$*.json"

	shift
	if [[ ! -e $kept || $name == throttled ]]; then
		run "$npuprof" whatif -q -f json "$work/$name" "$@"
		expect_exit 0
		cp "$work/stdout" "$kept"
	fi
	cp "$kept" "$work/json"
}

# of <path>...: fields of the JSON, separated by |
of() {
	local fields='' path

	for path; do fields+="${fields:+, }readfile('$work/json') ->> '\$.$path'"; done
	sqlite3 :memory: "SELECT $fields"
}

# ask <SQL>: with j for the JSON
ask() {
	sqlite3 :memory: "${1//@j/readfile(\'$work/json\')}"
}

# step_with <repair>...: the step with these; what was asked before is not run again
step_with() {
	local options=() each kept="$work/step $*"

	for each; do options+=(--fix "$each"); done
	[[ -e $kept ]] || "$npuprof" whatif -q -f json "$work/slow" "${options[@]}" >"$kept" || echo failed
	sqlite3 :memory: "SELECT readfile('$kept') ->> '\$.together.step_ns'"
}

pipeline=(--schedule 3d --ranks 8 --tp 2 --pp 2 --micro-batches 8)

make slow "${pipeline[@]}" --seed 3 --slow-rank 5:1.3
make sound "${pipeline[@]}" --seed 3

behaviour 'the screen tells the replay, the verdict, the repairs, the critical path and the efficiency'
run "$npuprof" whatif -q "$work/slow"
expect_exit 0
expect_stdout_has Replay Verdict 'Repairs, one at a time' 'Critical path' Efficiency 'step with it' 'costs alone' \
	'load balance' 'rank:5' slack
expect_stdout_says 'rank 5 makes the others wait' 'repairing it would save' 'if all ranks, stages and links were even' \
	'if no transfer showed' 'several at once: npuprof whatif -d' '--fix rank:5 --fix role:tp'

behaviour 'the verdict comes first, and limits and what gains nothing are not among the repairs'
expect_equal "$(grep -n -m1 '^Verdict' "$work/stdout" | cut -d: -f1)" 3
expect_equal "$(sed -n '/^Repairs/,/^Critical/p' "$work/stdout" | grep -c -e '^  all' -e '^  hide-comm' -e ' 0.0 %')" 0
expect_stdout_says 'more were tried that would save next to nothing: -f json lists all'

behaviour 'JSON has the keys of its schema'
whatif slow
expect_equal "$(of schema)" npuprof.whatif/1
expect_equal "$(ask 'SELECT group_concat(key, " ") FROM json_each(@j)')" \
	'schema input step_basis steps_from trust verdict replay whatif critical_path critical_path_summary slack efficiency efficiency_steps efficiency_roles together curve'
expect_equal "$(ask "SELECT group_concat(key, ' ') FROM json_each(@j, '\$.replay')")" 'observed_ns step_ns fidelity ideal_ns slowdown balance'
expect_equal "$(ask "SELECT group_concat(key, ' ') FROM json_each(@j, '\$.whatif[0]')")" 'fix step_ns saved_ns saved_pct alone_ns'
expect_equal "$(ask "SELECT group_concat(key, ' ') FROM json_each(@j, '\$.critical_path[0]')")" 'step rank leaf ns'
expect_equal "$(ask "SELECT group_concat(key, ' ') FROM json_each(@j, '\$.verdict')")" 'kind reason what recovered_ns lost_ns with text'
expect_equal "$(of together curve)" '|[]'

behaviour 'the untouched replay is what was recorded'
expect 'fidelity below 0.1 %' test "$(ask "SELECT @j ->> '\$.replay.fidelity' < 0.001")" = 1

behaviour 'a repaired rank leaves the step of the run in which it was never slow'
expect_equal "$(of verdict.kind verdict.what)" 'rank|5'
predicted=$(step_with rank:5)
whatif sound
observed=$(of replay.observed_ns)
whatif slow
expect "within 3 %: $predicted of $observed" awk -v a="$predicted" -v b="$observed" 'BEGIN { exit !(a < 1.03 * b && a > 0.97 * b) }'
expect_equal "$(ask "SELECT @j ->> '\$.verdict.recovered_ns' = (@j ->> '\$.replay.step_ns') - $predicted")" 1

behaviour 'without a fault nobody is named'
whatif sound
expect_equal "$(of verdict.kind verdict.what verdict.recovered_ns)" 'none||'

behaviour 'nothing repaired is what was replayed, everything the ideal, more never worse than less'
whatif slow
expect_equal "$(step_with all)" "$(of replay.ideal_ns)"
for set in 'rank:5 host-gaps' 'rank:5 rank:1' 'role:tp rank:5' 'optype:MatMul* stage:1' 'hide-comm host-gaps' 'all rank:5'; do
	# shellcheck disable=SC2086
	both=$(step_with $set)
	for each in $set; do
		expect "$set gains no less than $each" test "$both" -le "$(step_with "$each")"
	done
done
expect "all rows are no longer than the replay" test \
	"$(ask "SELECT min(value ->> 'saved_ns') >= 0 FROM json_each(@j, '\$.whatif')")" = 1

behaviour 'repairs that are asked for are made together, and compared with each by itself'
whatif slow --fix rank:5 --fix host-gaps
expect_equal "$(of together.fixes)" '["rank:5","host-gaps"]'
expect_equal "$(ask "SELECT @j ->> '\$.together.sum_of_singles_ns' = (SELECT sum(value ->> 'saved_ns') FROM json_each(@j, '\$.whatif')
	WHERE value ->> 'fix' IN ('rank:5', 'host-gaps')),
	@j ->> '\$.together.saved_ns' = (@j ->> '\$.replay.step_ns') - (@j ->> '\$.together.step_ns')")" '1|1'
run "$npuprof" whatif -q "$work/slow" --fix rank:5 --fix optype:MatMul*
expect_stdout_says 'repaired together, the step takes' 'one by one they would save'

behaviour 'the best ranks are taken one after the other'
whatif slow --top 3
expect_equal "$(of 'curve[0].fix')" rank:5
expect_equal "$(ask "SELECT count(*) BETWEEN 1 AND 3, count(DISTINCT value ->> 'fix') = count(*), sum(value ->> 'saved_ns' < before) = 0
	FROM (SELECT value, lag(value ->> 'saved_ns', 1, 0) OVER (ORDER BY key) AS before FROM json_each(@j, '\$.curve'))")" '1|1|1'

behaviour 'hosts instead of ranks'
make hosts --schedule dp --ranks 16 --hosts 2 --seed 4 --slow-rank 8:1.2 --slow-rank 9:1.2 --slow-rank 10:1.2 --slow-rank 11:1.2 \
	--slow-rank 12:1.2 --slow-rank 13:1.2 --slow-rank 14:1.2 --slow-rank 15:1.2
whatif hosts --top 1 --hosts
expect_equal "$(of 'curve[0].fix' verdict.kind verdict.what)" 'host:host1|host|host1'

behaviour 'the last stage, which has more kernels by its nature, is not slow: evening it out gains little'
make head --schedule pp --ranks 4 --seed 2
whatif head
expect_equal "$(of verdict.kind verdict.what)" 'none|'

behaviour 'a stage of a single rank that is too long is no slow rank'
make chain --schedule pp --ranks 4 --seed 2 --slow-stage 1:1.5
whatif chain
expect_equal "$(of verdict.kind verdict.what)" 'stage|1'

behaviour 'a link of a ring over two hosts, repaired, is held up by the next one'
make ring --schedule dp --ranks 8 --hosts 2 --seed 5 --slow-link 1-2:3
make ring-sound --schedule dp --ranks 8 --hosts 2 --seed 5
whatif ring-sound
observed=$(of replay.observed_ns)
whatif ring --fix link:1-2
predicted=$(of together.step_ns)
expect_equal "$(of verdict.kind verdict.what)" 'link|1-2'
expect "within 3 %: $predicted of $observed" awk -v a="$predicted" -v b="$observed" 'BEGIN { exit !(a < 1.03 * b && a > 0.97 * b) }'

behaviour 'what is no repair is refused with what is'
run "$npuprof" whatif -q "$work/slow" --fix rnak:5
expect_exit 2
expect_stderr_has "'rnak:5' is no repair" rank:R host-gaps optype:GLOB
expect_no_stdout

# refused <repair> <text>...
refused() {
	run "$npuprof" whatif -q "$work/slow" --fix "$1"
	expect_exit 2
	shift
	expect_stderr_has "$@"
	expect_no_stdout
}
behaviour 'what is not there is refused with what is'
refused rank:99 "there is no rank '99'" 'ranks 0-7'
refused host:nowhere "there is no host 'nowhere'" host0
refused role:ep "there is no role 'ep'" tp
refused stage:2 'this run has 2 stages'
refused link:0-9 'ranks 0-7'
refused link:x 'such as link:3-4'
refused optype:Conv* "no kernel has a type like 'Conv*'"
refused experts 'no rank of this run has experts'
refused group:none "there is no group 'none'"

behaviour 'communicators are named as the screen shows them'
expect_equal "$(step_with group:dp)" "$(step_with role:dp)"
run "$npuprof" cluster -q -d "$work/slow" -o "$work/shown"
shown=$(sed -n 's/^  \(tp …[0-9]*\) .*/\1/p' "$work/stdout" | head -n 1)
expect "'$shown' is repaired" test "$(step_with "group:$shown")" -gt 0

behaviour 'as CSV a row for each repair, those asked for together first; as Markdown the screen'
run "$npuprof" whatif -q "$work/slow" -f csv --fix rank:5 --fix host-gaps
expect_exit 0
expect_equal "$(head -n 2 "$work/stdout" | cut -d, -f1)" 'fix
rank:5+host-gaps'
expect_equal "$(head -n 1 "$work/stdout")" 'fix,step_ns,saved_ns,saved_pct,alone_ns'
cp "$work/stdout" "$work/repairs"
run "$npuprof" whatif -q "$work/slow" -f csv --fix rank:5 --fix host-gaps -o "$work/csv"
expect_exit 0
expect_no_stdout
expect "the file has the same" cmp "$work/csv/whatif.csv" "$work/repairs"
run "$npuprof" whatif -q "$work/slow" -f md
expect_exit 0
expect_stdout_has '## Verdict' '- rank 5 makes the others wait' '| repair | step with it |'

behaviour 'a rank that could not be used is listed'
cp -a "$work/slow" "$work/cut"
rm "$work"/cut/*/ASCEND_PROFILER_OUTPUT/analysis.db
truncate -s 100 "$(find "$work/cut" -name ascend_pytorch_profiler_2.db)"
run "$npuprof" whatif -q "$work/cut"
expect_exit 3
expect_stdout_says 'not used: rank 2' 'ascend_pytorch_profiler_2.db'
run "$npuprof" whatif "$work/cut" -f csv
expect_exit 3
expect_stderr_has 'ascend_pytorch_profiler_2.db'
rm -rf "$work/cut"

behaviour 'without operators on several ranks there is nothing to replay'
run "$synth" -q -o "$work/alone" --ranks 1 --steps 1
run "$npuprof" whatif -q "$work/alone"
expect_exit 1
expect_stderr_has 'nothing to replay: no communication operator was matched over ranks'
expect_no_stdout

behaviour 'the result does not depend on the number of threads'
for jobs in 1 2 7; do
	"$npuprof" whatif -q -f json -j "$jobs" --top 2 --fix rank:5 "$work/slow" >"$work/threads-$jobs"
done
expect '2 threads' cmp "$work/threads-1" "$work/threads-2"
expect '7 threads' cmp "$work/threads-1" "$work/threads-7"

behaviour 'text gives what databases give, but for clocks, which databases know to be those of a host'
make text "${pipeline[@]}" --seed 3 --slow-rank 5:1.3 --format text
whatif text
cp "$work/json" "$work/text.json"
whatif slow
expect_equal "$(ask "SELECT count(*) > 10, max(abs((a.value ->> 'step_ns') * 1.0 / (b.value ->> 'step_ns') - 1)) < 0.002
	FROM json_each(@j, '\$.whatif') a JOIN json_each(readfile('$work/text.json'), '\$.whatif') b ON a.value ->> 'fix' = b.value ->> 'fix'")" '1|1'
expect_equal "$(ask "SELECT @j ->> '\$.verdict.what' = readfile('$work/text.json') ->> '\$.verdict.what'")" 1

behaviour 'pieces of the path sum to all three steps, leaves of the summary to a third of that'
whatif slow
# The run is two iterations and the last step.
expect_equal "$(ask "SELECT path > 2.5 * step AND path < 3.1 * step, abs(path / 3 - summary) < 100
	FROM (SELECT (SELECT sum(value ->> 'ns') FROM json_each(@j, '\$.critical_path')) AS path, @j ->> '\$.replay.step_ns' AS step,
	(SELECT sum(value ->> 'step_ns') FROM json_each(@j, '\$.critical_path_summary')) AS summary)")" '1|1'

behaviour 'the rank that is slow has no slack, its peers have'
expect_equal "$(ask "SELECT max(value ->> 'slack_ns') < 1000 FROM json_each(@j, '\$.slack') WHERE value ->> 'rank' = 5")" 1
expect_equal "$(ask "SELECT max(value ->> 'slack_ns') > 1000000 FROM json_each(@j, '\$.slack') WHERE value ->> 'rank' = 7")" 1

behaviour 'factors multiply to the share of computing, in sum and in every step'
exact="abs((e ->> 'load_balance') * (e ->> 'serialisation') * (e ->> 'transfer') * (e ->> 'host') - (e ->> 'product')) < 1e-9
	AND (e ->> 'load_balance_ns') + (e ->> 'serialisation_ns') + (e ->> 'transfer_ns') + (e ->> 'host_ns') = (e ->> 'step_ns') - (e ->> 'computing_ns')"
expect_equal "$(ask "SELECT $exact FROM (SELECT @j -> '\$.efficiency' AS e)")" 1
expect_equal "$(ask "SELECT count(*), sum($exact) FROM (SELECT value AS e FROM json_each(@j, '\$.efficiency_steps'))")" '3|3'
expect_equal "$(ask "SELECT sum(value ->> 'transfer_ns') = (@j ->> '\$.efficiency.transfer_ns') FROM json_each(@j, '\$.efficiency_roles')")" 1

# verdict <name> <kind and what> <synth options>...
verdict() {
	local name=$1 expected=$2

	shift 2
	behaviour "the verdict on $name is $expected"
	make "$name" "$@"
	whatif "$name"
	expect_equal "$(of verdict.kind verdict.what)" "$expected"
	rm -rf "${work:?}/$name"
}
verdict link 'link|2-3' "${pipeline[@]}" --seed 5 --slow-link 2-3:2
verdict stage 'stage|1' "${pipeline[@]}" --seed 6 --slow-stage 1:1.4
verdict gap 'rank|2' --schedule dp --ranks 8 --seed 7 --host-gap 2:500
verdict uneven 'none|' "${pipeline[@]}" --seed 8 --seq-imbalance 0.15

behaviour 'experts with as many tokens each leave the step of the run in which they had'
make even --schedule ep --ranks 8 --ep 4 --dp 8 --seed 5
whatif even
even=$(of replay.observed_ns)
make skewed --schedule ep --ranks 8 --ep 4 --dp 8 --seed 5 --expert-skew 0.4
whatif skewed
expect_equal "$(of verdict.kind)" experts
predicted=$(ask "SELECT value ->> 'step_ns' FROM json_each(@j, '\$.whatif') WHERE value ->> 'fix' = 'experts'")
expect "within 3 %: $predicted of $even" awk -v a="$predicted" -v b="$even" 'BEGIN { exit !(a < 1.03 * b && a > 0.97 * b) }'
rm -rf "$work/even" "$work/skewed"

behaviour 'a bad sender and a bad receiver are the verdict, and all of their links are repaired at once'
make mesh --ranks 8 --seed 4
whatif mesh
mesh=$(of replay.observed_ns)
make sender --ranks 8 --seed 4 --slow-sender 3:4
make receiver --ranks 8 --seed 4 --slow-receiver 3:4
for end in sender:3-\* receiver:\*-3; do
	whatif "${end%:*}"
	expect_equal "$(of verdict.kind verdict.what)" "link|${end#*:}"
	predicted=$(ask "SELECT value ->> 'step_ns' FROM json_each(@j, '\$.whatif') WHERE value ->> 'fix' = 'link:${end#*:}'")
	expect "within 0.5 %: $predicted of $mesh" \
		awk -v a="$predicted" -v b="$mesh" 'BEGIN { exit !(a < 1.005 * b && a > 0.995 * b) }'
done
run "$npuprof" advisor -q "$work/sender" -f json
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.findings[0].repair', readfile('$work/stdout') ->> '\$.findings[0].gain_bound'")" 'link:3-*|replay'
run "$npuprof" whatif -q "$work/sender"
expect_stdout_has 'all links that rank 3 sends over are slow; repairing them would save' 'link:3-*'
rm -rf "$work/mesh" "$work/sender" "$work/receiver"

behaviour 'where another rank is late in each step, it is said what evenness would gain'
make changing --ranks 8 --seed 1 --seq-imbalance 0.4
whatif changing
expect 'with the share' grep -q 'even ranks and links would save 2[0-9] % of the step, but no single repair does' "$work/json"
rm -rf "$work/changing"

behaviour 'two causes that hide each other are named together'
make two "${pipeline[@]}" --seed 1 --slow-rank 1:1.3 --slow-rank 7:1.3
whatif two
expect 'one of them, with the other' test "$(of verdict.kind verdict.what verdict.with)" = 'rank|1|["rank:7"]' -o \
	"$(of verdict.kind verdict.what verdict.with)" = 'rank|7|["rank:1"]' -o "$(of 'verdict.with[0]' verdict.kind)" = '|rank'

behaviour 'cores at less than their rated clock compute longer than they need'
make throttled --ranks 4 --seed 9
whatif throttled --fix frequency
expect_equal "$(of together.fixes together.saved_ns)" '["frequency"]|0'
sqlite3 "$(find "$work/throttled" -name ascend_pytorch_profiler_2.db)" 'UPDATE AICORE_FREQ SET freq = freq * 9 / 10'
whatif throttled --fix frequency
# Rank 2 is as fast as the others all the same, so that its repair alone gains little.
expect 'it is tried' test "$(ask "SELECT count(*) FROM json_each(@j, '\$.whatif') WHERE value ->> 'fix' = 'frequency'")" = 1
for db in "$work"/throttled/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_[013].db; do
	sqlite3 "$db" 'UPDATE AICORE_FREQ SET freq = freq * 9 / 10'
done
# The rated clock is the highest that is seen, long before the steps.
sqlite3 "$(find "$work/throttled" -name ascend_pytorch_profiler_0.db)" "CREATE TEMP TABLE before AS SELECT * FROM AICORE_FREQ LIMIT 1;
	UPDATE before SET freq = freq * 10 / 9, timestampNs = timestampNs - 1000000000; INSERT INTO AICORE_FREQ SELECT * FROM before"
whatif throttled --fix frequency
expect 'all ranks gain' test "$(of together.saved_ns)" -gt "$(($(of replay.step_ns) / 50))"
find "$work/throttled" -name 'ascend_pytorch_profiler_*.db' -exec sqlite3 {} 'DROP TABLE AICORE_FREQ' \;
run "$npuprof" whatif -q "$work/throttled" --fix frequency
expect_exit 2
expect_stderr_has 'no rank has samples'

behaviour 'a recorded pipeline is replayed'
if [[ -z ${NPUPROF_SHARED:-} || ! -d $NPUPROF_SHARED/data/llm-pp2dp2 ]]; then
	echo 'left out: no recorded profiles (NPUPROF_SHARED)'
else
	run "$npuprof" whatif -f json -q "$NPUPROF_SHARED/data/llm-pp2dp2"
	cp "$work/stdout" "$work/json"
	expect "exit status $status" test "$status" = 0 -o "$status" = 3
	echo "llm-pp2dp2: $(ask "SELECT printf('step %.3f ms, fidelity %.4f %%, slowdown %.3f', (@j ->> '\$.replay.observed_ns') / 1e6,
		100 * (@j ->> '\$.replay.fidelity'), @j ->> '\$.replay.slowdown')")"
	expect 'within 3 %' test "$(ask "SELECT @j ->> '\$.replay.fidelity' < 0.03")" = 1
fi
