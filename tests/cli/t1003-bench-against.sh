#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npuprof-bench --against: another program over the same inputs, in turn, and whether both answered.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1
bench=$NPUPROF_BUILD/npuprof-bench
mkdir w

behaviour 'the same input is given to both in turn, and ratios with their spread are printed'
# shellcheck disable=SC2016
run "$bench" -n 2 -i '2 small' -w "$work/w" --against 'echo "$IN" >>"$0.seen"; find "$IN" -name "*.db" | sort | tee "$OUT/list"'
expect_exit 0
expect_stdout_has 'other: echo' '2 small, 2 repetitions' '  reading all bytes ' '  bare scan, 2 threads ' '  other ' ' x (' \
	'of processors'
expect_equal "$(sort -u sh.seen)" "$work/w/in"
expect_equal "$(wc -l <sh.seen)" 3 # one round to warm up
expect_equal "$(ls w)" ''

behaviour 'who fails, or says nothing, did not answer'
run "$bench" -n 1 -i '2 small' -w "$work/w" --against 'echo something; exit 7'
expect_exit 1
expect_stdout_has 'other                  did not answer: exit status 7'
run "$bench" -n 1 -i '2 small' -w "$work/w" --against true
expect_exit 1
expect_stdout_has 'other                  did not answer: exit status 0, nothing printed or written'
run "$bench" -n 1 -i '2 small' -w "$work/w" --against
expect_exit 1
