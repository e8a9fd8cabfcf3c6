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

behaviour 'where messages do not say between which ranks they went, no verdict is given'
make bare no-trace-pp:3 text
run "$npuprof" cluster -q -f json -d "$work/bare/run" -o "$work/bare/out"
expect 'withheld, with the reason' grep -q '"reason": "messages do not say between which ranks they went' "$work/stdout"

behaviour 'where other ranks are late in every step nobody is named'
make lengths lengths:702 db
run "$npuprof" cluster -q -f json -d "$work/lengths/run" -o "$work/lengths/out"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.verdict.kind'")" none

behaviour 'a gain that is a little more than the critical path allows is what it allows'
make late late-first-step:708 db
run "$npuprof" cluster -q -f json -d "$work/late/run" -o "$work/late/out"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.verdict.what'")" \
	"$(sqlite3 :memory: "SELECT readfile('$work/late/truth.json') ->> '\$.accept[0].what'")"

behaviour 'a case that does not exist is refused'
run python3 "$field" --make nonsense:1 "$work/none"
expect_exit 2
expect_stderr_has 'takes CASE:SEED'

behaviour 'no link is blamed where messages do not say where they went'
make alone loader-one:1001 text
find "$work/alone" -name trace_view.json -delete
run "$npuprof" cluster -q -f json -d "$work/alone/run" -o "$work/alone/out"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.verdict.kind'")" withheld
