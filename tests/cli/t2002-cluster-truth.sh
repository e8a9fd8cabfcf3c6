#!/usr/bin/env bash
# Synthetic clusters: every step time equals what the generator knows, to the nanosecond.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

quantities='computing_ns communication_ns communication_not_overlapped_ns overlapped_ns free_ns
	bubble_ns stage_ns preparing_ns span_ns host_step_ns'

# differences <directory>: times of $work/stdout (JSON) that are not those of truth.json, and the count compared
differences() {
	local where='' quantity

	for quantity in $quantities; do
		where="$where OR o.value ->> '$quantity' IS NOT t.value ->> '$quantity'"
	done
	sqlite3 :memory: "
		CREATE TABLE truth AS SELECT r.value ->> 'rank' AS rank, s.value ->> 'step' AS step, s.value
			FROM json_each(readfile('$1/truth.json'), '\$.ranks') r, json_each(r.value, '\$.steps') s;
		CREATE TABLE ours AS SELECT r.value ->> 'rank' AS rank, s.value ->> 'step' AS step, r.value
			FROM json_each(readfile('$work/stdout'), '\$.steps') s, json_each(s.value, '\$.ranks') r;
		SELECT count(*), sum(o.value IS NULL $where) FROM truth t LEFT JOIN ours o
			ON o.rank = t.rank AND o.step IS t.step"
}

more=()

# check <rows> <synth options>...
check() {
	local rows=$1

	shift
	behaviour "the truth of: $*"
	rm -rf "$work/c"
	run "$synth" -o "$work/c" --kernels-per-layer 6 --layers 4 "$@"
	expect_exit 0
	before=$(snapshot "$work/c")
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json "${more[@]}"
	expect_exit 0
	expect_no_stderr
	expect_equal "$(differences "$work/c")" "$rows|0"
	# Nothing disagrees with analysis.db, which the generator derives by itself.
	expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') -> '\$.input.warnings'")" '[]'
	expect_equal "$(snapshot "$work/c")" "$before"
}

check 16 --schedule dp --ranks 8 --steps 2 --seed 1 --slow-rank 5:1.3
check 16 --schedule dp --ranks 8 --steps 2 --seed 2 --schema 1.2 --hosts 2
check 8 --schedule dp --ranks 4 --steps 2 --seed 3 --level 0
check 8 --schedule dp --ranks 4 --steps 2 --seed 4 --level 2 --pmu --memory
check 8 --schedule dp --ranks 4 --steps 2 --seed 5 --no-analysis --clock-skew 1:250us
check 8 --schedule tp --ranks 4 --tp 4 --steps 2 --seed 6
check 16 --schedule pp --ranks 4 --pp 4 --micro-batches 6 --steps 4 --seed 7
check 8 --schedule pp --ranks 4 --pp 4 --micro-batches 4 --p2p batch --steps 2 --seed 8
check 16 --schedule ep --ranks 8 --ep 4 --steps 2 --seed 9 --expert-skew 0.5
check 32 --schedule 3d --ranks 16 --tp 2 --pp 2 --dp 4 --micro-batches 4 --steps 2 --seed 10 --hosts 2
more=(--steps-from none)
check 4 --schedule dp --ranks 4 --steps 3 --seed 11 --no-steps
more=()
