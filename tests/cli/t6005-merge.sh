#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Summaries of hosts merged into parts, parts into parts: what an analysis finds is the same, to the byte.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

"$synth" -q -o "$work/c" --schedule 3d --tp 2 --pp 2 --ranks 16 --hosts 4 --steps 2 --layers 2 \
	--kernels-per-layer 4 --slow-rank 5:1.5 --manifest || exit 1
cd "$work" || exit 1

# The summaries of each host, as if each had written its own: the first has what belongs to no rank.
run "$npuprof" cluster -q --no-db --cache sums -d c
expect_exit 0
mkdir h0 h1 h2 h3
for rank in {0..15}; do
	mv sums/rank0000"$(printf %02d "$rank")"-*.npsum "h$((rank / 4))"
done
cp sums/run-*.npsum h0

# dump <output directory>: the merged database as text
dump() {
	sqlite3 "$1/cluster_analysis_output/cluster_analysis.db" .dump
}

# found <input>...: everything that cluster and whatif find in summaries
found() {
	"$npuprof" cluster -f json -j 2 -o out --from-summaries "$@"
	echo "status $?"
	dump out
	rm -r out
	"$npuprof" whatif -f json --from-summaries "$@"
	echo "status $?"
	"$npuprof" info -f json --from-summaries "$@" | sed 's/"path": "[^"]*"//'
}

found h0 h1 h2 h3 >flat.txt
expect 'the summaries of hosts are a run' grep -q '^status 0$' flat.txt

# hosts -> racks -> cluster
snapshot h0 >before.txt
run "$npuprof" merge h0 h1 -o rack0.nppart
expect_exit 0
expect_stdout_has 'rack0.nppart' '8 ranks of 2 inputs'
run "$npuprof" merge h2 h3 -o rack1.nppart
expect_exit 0
run "$npuprof" merge rack0.nppart rack1.nppart -o all.nppart
expect_exit 0
expect_stdout_has '16 ranks of 2 inputs'
snapshot h0 >after.txt
expect 'the inputs are as they were' cmp before.txt after.txt

behaviour 'a tree of merges is as good as all summaries'
# No profile is needed, nor a summary beside the parts.
mv c elsewhere
found all.nppart >tree.txt
found h0 h1 h2 h3 >flat.txt
expect 'a tree of merges is found to be what the flat way is' cmp tree.txt flat.txt
found rack0.nppart rack1.nppart >racks.txt
expect 'parts may be given side by side' cmp racks.txt flat.txt
mkdir d
cp all.nppart d
run "$npuprof" info --from-summaries d
expect_exit 0
expect_stdout_has '16 ranks'
run "$npuprof" report -q --from-summaries all.nppart -o page.html
expect 'the page is made of a part' test -s page.html

behaviour 'a part depends on what is in it alone'
# Merging is the same in any order of inputs, and to the standard output.
run "$npuprof" merge -o other.nppart h0 h1 h2 h3
expect_exit 0
expect 'one merge or several give the same part' cmp other.nppart all.nppart
"$npuprof" merge -o - rack0.nppart rack1.nppart >piped.nppart
expect 'a part on the standard output is the same' cmp piped.nppart all.nppart
run "$npuprof" merge h0
expect_exit 0
expect 'the usual place is beside the input' test -s h0/cluster_analysis_output/summaries.nppart
run "$npuprof" merge -o few.nppart --ranks 4-7 all.nppart
expect_exit 0
expect_stdout_has '4 ranks of 1 inputs'

behaviour 'what is there twice is said'
# A part that is there twice, and one beside what it was made of: said once, taken once.
run "$npuprof" merge -o twice.nppart rack0.nppart rack0.nppart h1
expect_exit 0
expect_stdout_has '8 ranks of 3 inputs'
run "$npuprof" cluster --no-db -v -f json --from-summaries twice.nppart rack1.nppart
expect_exit 0
expect_stderr_has '12 ranks here are in' 'each is taken once'

# Ranks of another capture under the same numbers: the newest is taken, the others are listed.
"$synth" -q -o c2 --ranks 2 --steps 2 --layers 2 --kernels-per-layer 4 || exit 1
run "$npuprof" cluster -q --no-db --cache sums2 -d c2
run "$npuprof" merge -o both.nppart all.nppart sums2
expect_exit 3
expect_stderr_has 'holds the same rank and is newer'
run "$npuprof" cluster --no-db -f json --from-summaries both.nppart
expect_exit 3
expect_stdout_has 'holds the same rank and is newer'

behaviour 'damaged and foreign files are said'
# Damage: a part that was cut, one with a changed byte in a rank, in the index, of another form,
# and files that are none.
size=$(stat -c %s rack1.nppart)
head -c $((size / 2)) rack1.nppart >cut.nppart
run "$npuprof" cluster --no-db -f json --from-summaries rack0.nppart cut.nppart
expect_exit 3
expect_stdout_has "the part 'cut.nppart' is damaged: it ends before its index"
run "$npuprof" merge -o x.nppart cut.nppart
expect_exit 1
expect 'nothing is left of a merge that failed' test ! -e x.nppart
# changed <offset>: rack1.nppart with one byte changed
changed() {
	cp rack1.nppart changed.nppart
	printf '\x5a' | dd of=changed.nppart bs=1 seek="$1" conv=notrunc status=none
}
changed 300
run "$npuprof" cluster --no-db -f json --from-summaries rack0.nppart changed.nppart
expect_exit 3
expect_stdout_has 'its checksum is wrong'
run "$npuprof" merge -o x.nppart changed.nppart
expect_exit 3
expect_stdout_has '7 ranks of 1 inputs'
expect_stderr_has 'its checksum is wrong'
run "$npuprof" cluster --no-db -f json --from-summaries rack0.nppart x.nppart
expect_exit 3
expect_stdout_has 'its checksum is wrong'
changed $((size - 200))
run "$npuprof" merge -o y.nppart rack0.nppart changed.nppart
expect_exit 3
expect_stderr_has 'its checksum is wrong'
changed 8
run "$npuprof" merge -o y.nppart rack0.nppart changed.nppart
expect_exit 3
expect_stderr_has "is of form"
run "$npuprof" merge -o y.nppart c2/*/profiler_metadata.json
expect_exit 2
expect_stderr_has 'is neither a directory nor a part of summaries'
echo 'not a part' >foreign.nppart
run "$npuprof" merge -o y.nppart rack0.nppart foreign.nppart
expect_exit 3
expect_stderr_has "'foreign.nppart' is no part of summaries"
run "$npuprof" merge -o y.nppart empty_or_missing
expect_exit 2
run "$npuprof" merge -o /nowhere/y.nppart rack0.nppart
expect_exit 1
