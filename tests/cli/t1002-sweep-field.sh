#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The second generator of the sweeps: it is sound, and what it writes is read as what it says is true.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
need_program sqlite3
field=$NPUPROF_SOURCE/tools/sweep/field.py
export PYTHONDONTWRITEBYTECODE=1

# make <name> <case:seed> <form>: a run in $work/<name>/run
make() {
	run python3 "$field" --make "$2" "$work/$1" --form "$3"
	expect_exit 0
	expect_no_stderr
}

# figures <name>: step, rank and sums of its run as npuprof sees them, and as they are true, one line each
figures() {
	run "$npuprof" cluster -q -f json -d "$work/$1/run" -o "$work/$1/out"
	expect_exit 0
	cp "$work/stdout" "$work/$1/json"
	sqlite3 :memory: "SELECT s.value ->> 'step', r.value ->> 'rank', r.value ->> 'span_ns', r.value ->> 'computing_ns',
		r.value ->> 'communication_ns', r.value ->> 'communication_not_overlapped_ns', r.value ->> 'free_ns'
		FROM json_each(readfile('$work/$1/json'), '\$.steps') s, json_each(s.value, '\$.ranks') r ORDER BY 1, 2" >"$work/$1/found"
	sqlite3 :memory: "SELECT s.value ->> 'step', r.value ->> 'rank', s.value ->> 'span_ns', s.value ->> 'computing_ns',
		s.value ->> 'communication_ns', s.value ->> 'communication_not_overlapped_ns', s.value ->> 'free_ns'
		FROM json_each(readfile('$work/$1/truth.json'), '\$.per_rank') r, json_each(r.value, '\$.steps') s ORDER BY 1, 2" >"$work/$1/true"
}

behaviour 'its schedules, its simulation and its sums are sound'
cd "$NPUPROF_SOURCE/tools/sweep" || exit 1
run python3 -m field.selftest tiny
expect_exit 0
cd "$work" || exit 1

behaviour 'what is true of a run is what is read, from databases and from text'
for form in db text; do
	make "$form" tiny:3 "$form"
	figures "$form"
	expect_equal "$(cat "$work/$form/true")" "$(cat "$work/$form/found")"
done

behaviour 'messages that do not say between which ranks they went find their other ends by when they end'
make bare no-trace-pp:3 text
run "$npuprof" cluster -q -f json -d "$work/bare/run" -o "$work/bare/out"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.verdict.what'")" \
	"$(sqlite3 :memory: "SELECT readfile('$work/bare/truth.json') ->> '\$.accept[0].what'")"

behaviour 'where other ranks are late in every step nobody is named'
make lengths lengths:702 db
run "$npuprof" cluster -q -f json -d "$work/lengths/run" -o "$work/lengths/out"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.verdict.kind'")" none

behaviour 'a gain that is a little more than the critical path allows is what it allows'
make first late-first-step:708 db
run "$npuprof" cluster -q -f json -d "$work/first/run" -o "$work/first/out"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.verdict.what'")" \
	"$(sqlite3 :memory: "SELECT readfile('$work/first/truth.json') ->> '\$.accept[0].what'")"

# answer <name> <path>: what cluster, or whatif, says of its run
answer() {
	sqlite3 :memory: "SELECT readfile('$work/$1/json') ->> '$2'"
}

behaviour 'messages of both directions in one queue do not wait for each other for ever'
make both both-ways:1 db
run "$npuprof" whatif -q -f json -d "$work/both/run"
cp "$work/stdout" "$work/both/json"
expect 'the replay is the run' test "$(sqlite3 :memory: "SELECT readfile('$work/both/json') ->> '\$.replay.fidelity' < 0.005")" = 1
expect_equal "$(answer both '$.verdict.what')" 0
saved=$(sqlite3 :memory: "SELECT readfile('$work/both/truth.json') ->> '\$.saved_ns'")
expect 'the gain is what the fault cost' \
	test "$(sqlite3 :memory: "SELECT abs(readfile('$work/both/json') ->> '\$.verdict.recovered_ns' - $saved) < $saved / 5")" = 1

behaviour 'a rank that computes no more than others in all is late for its host'
make sharded sharded-slow-host:1 db
run "$npuprof" cluster -q -f json -d "$work/sharded/run" -o "$work/sharded/out"
cp "$work/stdout" "$work/sharded/json"
expect_equal "$(answer sharded '$.verdict.what') $(answer sharded '$.stragglers[0].cause')" '1 host'

behaviour 'a host is not blamed for one of its ranks'
make late slow-host:7 db
run "$npuprof" cluster -q -f json -d "$work/late/run" -o "$work/late/out"
cp "$work/stdout" "$work/late/json"
expect_equal "$(answer late '$.verdict.kind') $(answer late '$.verdict.what')" 'rank 6'

behaviour 'the time of steps that were not chosen is on no critical path'
run "$npuprof" whatif -q -f json --steps 11,13,15 -d "$work/late/run"
cp "$work/stdout" "$work/late/json"
expect 'little of it is idle' test "$(sqlite3 :memory: "SELECT sum((value ->> 'leaf' LIKE 'free/%') * (value ->> 'ns')) * 10 < sum(value ->> 'ns')
	FROM json_each(readfile('$work/late/json'), '\$.critical_path')")" = 1

behaviour 'half of the ranks are the last ones half of the time by chance: that they were not profiled is no verdict'
make half one-node:2102 db
run "$npuprof" cluster -q -f json -d "$work/half/run" -o "$work/half/out"
cp "$work/stdout" "$work/half/json"
expect 'nothing is said of ranks that were not profiled' test "$(answer half '$.verdict.kind')" != not-profiled

behaviour 'a case that does not exist is refused'
run python3 "$field" --make nonsense:1 "$work/none"
expect_exit 2
expect_stderr_has 'takes CASE:SEED'

behaviour 'no link is blamed where messages do not say where they went'
make alone loader-one:1001 text
find "$work/alone" -name trace_view.json -delete
run "$npuprof" cluster -q -f json -d "$work/alone/run" -o "$work/alone/out"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.verdict.kind', readfile('$work/stdout') ->> '\$.verdict.what'")" \
	"rank|$(sqlite3 :memory: "SELECT readfile('$work/alone/truth.json') ->> '\$.accept[0].what'")"
