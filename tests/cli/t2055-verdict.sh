#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One verdict on a run: the same object from cluster, whatif, advisor and compare, whatever is wrong with it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# make <name> <synth options>...: a run in $work/<name>
make() {
	local name=$1

	shift
	run "$synth" -q -o "$work/$name" --no-instances --layers 8 --kernels-per-layer 4 --steps 3 "$@"
	expect_exit 0
}

# verdict_of <path in the JSON> <command>...: its text in one line
verdict_of() {
	local path=$1

	shift
	run "$npuprof" "$@" -q -f json
	sqlite3 :memory: "SELECT readfile('$work/stdout') -> '$path'"
}

# field <name>: of the verdict in $verdict
field() {
	sqlite3 :memory: "SELECT '${verdict//\'/\'\'}' ->> '\$.$1'"
}

# same <name>: all commands have the same verdict on a run; it is in $verdict
same() {
	local run=$work/$1 side

	verdict=$(verdict_of '$.verdict' cluster -d "$run" -o "$work/out-$1")
	expect 'there is one' test -n "$verdict"
	[[ ${2:-} == --no-replay ]] || expect_equal "$(verdict_of '$.verdict' whatif "$run")" "$verdict"
	expect_equal "$(verdict_of '$.verdict' advisor "$run")" "$verdict"
	run "$npuprof" compare "$run" "$run" -q -f json
	for side in base new; do
		expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') -> '\$.$side.verdict'")" "$verdict"
	done
	expect_equal "$(sqlite3 :memory: "SELECT group_concat(key, ' ') FROM json_each('${verdict//\'/\'\'}')")" \
		'kind reason what recovered_ns lost_ns with text'
}

# kind <name> <kind> <synth options>...
kind() {
	local name=$1 expected=$2

	shift 2
	behaviour "all commands say the same of $name: $expected"
	make "$name" "$@"
	same "$name"
	expect_equal "$(field kind)" "$expected"
}

pipeline=(--schedule 3d --ranks 8 --tp 2 --pp 2 --micro-batches 8)

kind healthy none --ranks 8 --seed 3
kind slow-rank rank --ranks 8 --seed 3 --slow-rank 5:1.3
expect_equal "$(field what)" 5
kind slow-host host --ranks 16 --hosts 2 --seed 4 --slow-rank 8:1.2 --slow-rank 9:1.2 --slow-rank 10:1.2 --slow-rank 11:1.2 \
	--slow-rank 12:1.2 --slow-rank 13:1.2 --slow-rank 14:1.2 --slow-rank 15:1.2
expect_equal "$(field what)" host1
kind slow-stage stage "${pipeline[@]}" --seed 6 --slow-stage 1:1.5
kind slow-link link "${pipeline[@]}" --seed 5 --slow-link 2-3:2.5
kind skewed experts --schedule ep --ep 4 --dp 8 --ranks 8 --seed 2 --expert-skew 0.5
kind all-hosts host-gaps --ranks 4 --seed 7 --host-gap 0:400 --host-gap 1:400 --host-gap 2:400 --host-gap 3:400
kind unseen not-profiled --schedule tp --ranks 8 --seed 3 --slow-rank 5:1.5 --omit-ranks 4-5
expect_equal "$(field what)" 'tp {0-3, 4-5 (not profiled), 6-7}'
expect_equal "$(field recovered_ns)" ''
expect 'in words' grep -q '^ranks that were not profiled make the others wait: .* begins in tp {0-3, 4-5 (not profiled), 6-7}; waiting takes ' <<<"$(field text)"

behaviour 'all commands say the same of a run without intervals of kernels: withheld'
make no-intervals --ranks 4 --seed 3 --format text --slow-rank 2:1.5
find "$work/no-intervals" \( -name trace_view.json -o -name kernel_details.csv \) -delete
same no-intervals --no-replay
expect_equal "$(field kind)" withheld
expect 'with what is missing' test -n "$(field reason)"
expect_equal "$(field text)" "withheld: $(field reason)"
run "$npuprof" info -f json "$work/no-intervals"
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'ready', value ->> 'missing' FROM json_each(readfile('$work/stdout'), '\$.analyses')
	WHERE value ->> 'name' = 'replay and verdict'")" "0|$(field reason)"

behaviour 'all commands say the same of a single rank: none'
make single --ranks 1 --seed 3
same single --no-replay
expect_equal "$(field kind)" none
expect 'in words, with what the device does' \
	grep -Eq '^one rank: there is nobody to compare it with; the device computes [0-9]+ % of the time and is idle [0-9.]+ %' <<<"$(field text)"

behaviour 'two that hide each other are named together, and what that explains of the loss'
make two --ranks 8 --hosts 2 --seed 3 --slow-rank 5:1.3 --slow-rank 6:1.3
same two
expect_equal "$(field kind)" rank
expect 'both' test "$(field what)-$(field 'with[0]')" = '5-rank:6' -o "$(field what)-$(field 'with[0]')" = '6-rank:5'
expect 'most of it is explained' test "$(field recovered_ns)" -gt "$(($(field lost_ns) * 6 / 10))"
expect 'no more than all' test "$(field recovered_ns)" -le "$(field lost_ns)"
expect 'in words' grep -Eq 'together would save .* of the step \(.*\), which explains .* of .* lost to uneven ranks, stages and links' <<<"$(field text)"

behaviour 'screens have the sentence'
make spoken --ranks 8 --seed 3 --slow-rank 5:1.3
for command in cluster whatif advisor; do
	run "$npuprof" "$command" -q "$work/spoken"
	expect_stdout_says 'rank 5 makes the others wait' 'which explains'
done
run "$npuprof" compare -q "$work/healthy" "$work/spoken"
expect_stdout_says 'base: no rank stands out' 'new : rank 5 makes the others wait'

behaviour 'the advisor says it from a merged database as well, whole'
run "$npuprof" cluster -q "$work/two"
expect_exit 0
same two
run "$npuprof" advisor -v -f json "$work/two"
expect_stderr_has 'are fresh'
