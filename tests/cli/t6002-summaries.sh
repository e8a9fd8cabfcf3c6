#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Summaries of ranks: kept with --cache, used instead of the profiles, enough without them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

small=(--ranks 4 --steps 2 --layers 2 --kernels-per-layer 4 --noise 0)
"$synth" -q -o "$work/c" "${small[@]}" --slow-rank 2:1.5 || exit 1
cd "$work" || exit 1

# timeless: what stands on stdin without the times that rules took
timeless() {
	sed 's/"elapsed_ns": *[0-9]*//'
}

# dump <output directory>: the merged database as text
dump() {
	sqlite3 "$1/cluster_analysis_output/cluster_analysis.db" .dump
}

# same <name>: stdout and the database of -o <name> are those of the direct run
same() {
	expect 'JSON is the same' cmp "$work/stdout" "$work/direct.json"
	dump "$1" >"$work/$1.sql"
	expect 'the database is the same' cmp "$work/$1.sql" "$work/direct.sql"
}

run "$npuprof" cluster c -f json -o direct
expect_exit 0
cp stdout direct.json
dump direct >direct.sql

behaviour 'keeping summaries changes nothing in the result'
run "$npuprof" cluster c -f json -o kept --cache cache
expect_exit 0
expect_no_stderr
same kept
expect_equal "$(find cache -name 'rank*.npsum' | wc -l)" 4
expect_equal "$(find cache -name '*.tmp*' | wc -l)" 0

behaviour 'the same ranks have the same bytes for any number of threads'
run "$npuprof" cluster c -f json -o kept --cache cache1 -j 1
expect 'the directories are equal' diff -r cache cache1

behaviour 'where no table is written, what only tables show is not missed'
for form in table json; do
	run "$npuprof" cluster --from-summaries cache -f "$form" -o written
	expect_exit 0
	sed -e '/^Do next/,/^$/d' -e '/cluster_analysis/d' stdout >written.txt
	run "$npuprof" cluster --from-summaries cache -f "$form" --no-db
	expect_exit 0
	sed -e '/^Do next/,/^$/d' -e '/cluster_analysis/d' stdout >unwritten.txt
	expect "$form is the same" cmp written.txt unwritten.txt
done

behaviour 'what is kept is used: the profiles are not opened again'
database=$(ls c/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_1.db)
cp -a "$database" original.db
head -c "$(stat -c %s "$database")" /dev/zero >zeros
cp zeros "$database"
touch -r original.db "$database"
run "$npuprof" cluster c -f json -o again --cache cache
expect_exit 0
same again
behaviour 'without the summaries the same files are damaged'
run "$npuprof" cluster c -f json -o other
expect_exit 3
cp -a original.db "$database"

behaviour 'a profile that changed is read again, and it is said'
touch -d '2031-01-01' "$database"
run "$npuprof" cluster c -o again --cache cache
expect_exit 0
expect_stdout_says 'of an older version of them' 'the profile was read again'
run "$npuprof" cluster c -o again --cache cache
expect_stdout_lacks 'read again'
touch -r original.db "$database"
"$npuprof" cluster c -o again --cache cache -q >/dev/null

behaviour 'a damaged summary is not used, and it is said'
summary=$(ls cache/rank000002-*.npsum)
printf x | dd of="$summary" bs=1 seek=200 conv=notrunc status=none
run "$npuprof" cluster c -o again --cache cache
expect_exit 0
expect_stdout_says 'its checksum is wrong' 'the profile was read again'

behaviour 'summaries are enough: the profiles may be elsewhere'
mv c elsewhere
run "$npuprof" cluster --from-summaries cache -f json -o from
expect_exit 0
expect_no_stderr
same from

behaviour 'ranks and steps can be chosen from summaries'
run "$npuprof" cluster --from-summaries cache --ranks 1-2 --steps 11 -f json -o chosen
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.input.ranks_used',
	readfile('$work/stdout') -> '\$.input.steps'")" '2|["11"]'
run "$npuprof" cluster --from-summaries cache --ranks 9 -o chosen
expect_exit 2
expect_stderr_has 'no rank 9 in this run; there are ranks 0-3'

behaviour 'summaries of nodes merge: those of ranks are enough, in several directories'
mkdir n1 n2
cp cache/rank00000[01]* n1
cp cache/rank00000[23]* n2
run "$npuprof" cluster --from-summaries n1 n2 -f json -o merged
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') -> '\$.steps' =
	readfile('$work/direct.json') -> '\$.steps'")" 1

behaviour 'a summary that is damaged costs its rank, and is listed'
printf x | dd of="$(ls n2/rank000003*)" bs=1 seek=150 conv=notrunc status=none
run "$npuprof" cluster --from-summaries n1 n2 -o merged -f json
expect_exit 3
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.input.ranks_used',
	readfile('$work/stdout') ->> '\$.input.skipped[0].what'")" '3|summary'

behaviour 'a directory without summaries is refused'
mkdir empty
run "$npuprof" cluster --from-summaries empty
expect_exit 1
expect_stderr_has "no summaries in 'empty'" '--cache'
expect_equal "$(ls empty)" ''

behaviour 'a rank that could not be read is listed with its reason from summaries too'
mv elsewhere c
: >"$database"
find c -name 'analysis.db' -delete
run "$npuprof" cluster c -f json -o bad --cache badcache
expect_exit 3
cp stdout bad.json
run "$npuprof" cluster --from-summaries badcache -f json -o bad2
expect_exit 3
expect 'JSON is the same' cmp stdout bad.json
cp -a original.db "$database"
run "$npuprof" cluster c -f json -o bad --cache badcache
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.input.ranks_used'")" 4

behaviour 'without a directory summaries are beside the output, made with all that is above them'
rm -rf beside
run "$npuprof" cluster c -f json -o beside/x --cache
expect_exit 0
expect_equal "$(find beside/x/cluster_analysis_output/summaries -name 'rank*.npsum' | wc -l)" 4
cp stdout beside.json
cp zeros "$database"
touch -r original.db "$database"
run "$npuprof" cluster c --cache -f json -o beside/x
expect_exit 0
expect 'they are used' cmp stdout beside.json
cp -a original.db "$database"
run "$npuprof" info c --cache -q
expect_equal "$(find c/cluster_analysis_output/summaries -name 'rank*.npsum' | wc -l)" 4
run "$npuprof" cluster c -f json -o beside/y
expect 'what lies there is no rank' cmp stdout beside.json
rm -r c/cluster_analysis_output
run "$npuprof" cluster c --cache=
expect_exit 2

behaviour 'a summary of another form is not used, and it is said'
run "$npuprof" cluster c -q -o again --cache forms
for summary in forms/rank*.npsum; do
	printf '\377' | dd of="$summary" bs=1 seek=8 conv=notrunc status=none
done
run "$npuprof" cluster c -o again --cache forms
expect_exit 0
expect_stdout_says 'is of form 255, and this program knows form' 'the profile was read again'
run "$npuprof" cluster c -o again --cache forms
expect_stdout_lacks 'read again'

behaviour 'summaries serve the other commands'
for verb in whatif info advisor 'compare c'; do
	# shellcheck disable=SC2086
	run "$npuprof" $verb c -f json
	timeless <stdout >one.json
	expect "$verb prints something" test -s one.json
	# shellcheck disable=SC2086
	run "$npuprof" $verb c -f json --cache others
	# shellcheck disable=SC2086
	run "$npuprof" $verb c -f json --cache others
	timeless <stdout >two.json
	expect "$verb is the same" cmp two.json one.json
done

behaviour 'memory is bounded in sizes that make sense; the result is the same'
run "$npuprof" cluster c -f json -o bounded --max-memory 1K -j 4
expect_exit 0
cp stdout bounded.json
run "$npuprof" cluster c -f json -o bounded
expect 'JSON is the same' cmp stdout bounded.json
for size in 0 -1 many 5X 99999999999T ''; do
	run "$npuprof" cluster c "--max-memory=$size"
	expect_exit 2
done

behaviour 'many ranks do not need many open files'
"$synth" -q -o "$work/many" --ranks 64 --steps 1 --layers 1 --kernels-per-layer 2 || exit 1
ulimit -n 24
run "$npuprof" cluster many -o manyout -j 2 -f json --cache manycache
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.input.ranks_used'")" 64
run "$npuprof" cluster --from-summaries manycache -o manyout -j 2 -f json
expect_exit 0
