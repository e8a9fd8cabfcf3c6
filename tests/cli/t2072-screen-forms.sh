#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a screen does beside its words: widths, pipes, one table, what -v adds, what is written.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1
"$synth" -q -o c --no-instances --ranks 4 --layers 2 --kernels-per-layer 4 --steps 3 --slow-rank 2:1.5 || exit 1
"$synth" -q -o base --no-instances --ranks 4 --layers 2 --kernels-per-layer 4 --steps 3 || exit 1

behaviour 'COLUMNS says how wide a screen is, in a pipe too; nonsense in it does not count'
for columns in 80 140; do
	run env COLUMNS=$columns "$npuprof" cluster -q c -o out
	expect "no line is wider than $columns" test "$(grep -v npuprof stdout | wc -L)" -le $columns
done
run env COLUMNS=80 "$npuprof" cluster -q c -o out
cp stdout narrow
run "$npuprof" cluster -q c -o out
expect 'it changes the lines' test "$(wc -l <narrow)" -gt "$(wc -l <stdout)"
cp stdout usual
for columns in 0 -5 wide 99999999; do
	run env COLUMNS=$columns "$npuprof" cluster -q c -o out
	expect_stdout <usual
done

behaviour 'a terminal that can do nothing gets no colours'
if command -v script >/dev/null; then
	run env TERM=dumb script -qec "'$npuprof' cluster -q c -o out" /dev/null
	expect_equal "$(grep -c $'\e' stdout)" 0
	run env TERM=xterm script -qec "'$npuprof' cluster -q c -o out" /dev/null
	expect 'another one does' test "$(grep -c $'\e' stdout)" -gt 0
fi

behaviour 'a message comes behind what was printed before it, where both go to one file'
: >file
run bash -c "'$npuprof' cluster -d c -o out -v >both 2>&1; '$npuprof' compare c base -o file >>both 2>&1"
expect 'the comparison comes before what could not be written' \
	test "$(grep -n 'Where the step changed' both | cut -d: -f1)" -lt "$(grep -n "npuprof: .*'file" both | tail -1 | cut -d: -f1)"

behaviour '--table prints one table with all of its rows and units, as Markdown too'
run "$npuprof" cluster -q c -o out --table np_comm_step
expect_exit 0
expect_stdout_has 'np_comm_step: ' 'elapsed' ' ms'
expect_stdout_lacks Verdict elapsed_ns
run "$npuprof" cluster -q c --table np_comm_step -f csv
rows=$(($(wc -l <stdout) - 1))
run "$npuprof" cluster -q c -o out --table np_comm_step
expect_equal "$(($(wc -l <stdout) - 2))" "$rows"
run "$npuprof" cluster -q c -o out --table np_comm_step -f md
expect_stdout_has '| elapsed_ns |'
run "$npuprof" info -q c --table groups
expect_stdout_has 'groups: the communicators' dp
run "$npuprof" compare -q base c --table waterfall
expect_exit 0
expect_stdout_has 'waterfall: '
expect_stdout_lacks Verdict
run "$npuprof" compare "$work/nowhere" c --table watrefall
expect_exit 2
expect_stderr_has "did you mean 'waterfall'?"

behaviour 'compare -o writes its tables beside the screen'
run "$npuprof" compare -q base c -o tables
expect_exit 0
expect_stdout_has Verdict
expect_file tables/waterfall.csv
"$npuprof" compare -q base c -f csv -o others
expect 'the same as -f csv does' diff -r tables others

behaviour 'so do info and whatif'
for each in info whatif; do
	run "$npuprof" $each -q -d base -o $each-screen
	expect_exit 0
	expect_stdout_has 'Do next'
	"$npuprof" $each -q -d base -f csv -o $each-csv
	expect 'the same as -f csv does' diff -r $each-screen $each-csv
done

behaviour '-v says which files were read, what came from which, the cache and the times'
run "$npuprof" cluster c -o out -v --cache kept
expect_stdout_says 'Files read, and what from which' 'rank 0-3: rank database, analysis.db' 'step times from rank database'
expect_stderr_has 'read 4 ranks, ' '; 0 of them from the cache kept' 'measured in '
run "$npuprof" cluster c -o out -v --cache kept
expect_stderr_has '; 4 of them from the cache kept'
run "$npuprof" cluster c -o out
expect_no_stderr

behaviour 'no difference is said to be none'
run "$npuprof" compare -q base base
expect_stdout_says 'no difference: the step takes' 'in both runs'
expect_stdout_lacks '+0.0 % (p'

behaviour 'queries are shown as they stand in the rule'
run "$npuprof" rules show compute.no-bound
expect_exit 0
expect_stdout_has 'query       SELECT rank, op_type, core, min(name) AS name' '              FROM v_kernel WHERE core IN'
