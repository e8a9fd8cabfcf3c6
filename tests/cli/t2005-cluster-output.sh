#!/usr/bin/env bash
# Forms of output, selection of ranks and steps, repeatability.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

"$synth" -q -o "$work/c" --ranks 8 --steps 3 --layers 2 --kernels-per-layer 4 --slow-rank 5:1.5 --noise 0 || exit 1
out=$work/out/cluster_analysis_output

behaviour 'the screen names the slow rank as the one that computes most'
cd "$work" || exit 1
run "$npuprof" cluster -d c -o out
expect_exit 0
expect_no_stderr
expect_stdout_has '8 ranks of 8, 1 host, steps 10-12' 'rank 5 computed longest'
expect 'it fits 100 columns' test "$(wc -L <"$work/stdout")" -le 100
expect 'it fits one screen' test "$(wc -l <"$work/stdout")" -le 40

behaviour 'output does not depend on the number of threads, and not on an earlier run'
run "$npuprof" cluster -d "$work/c" -o "$work/out" -j 1 -f json
cp "$work/stdout" "$work/j1"
first=$(sha256sum <"$out/cluster_analysis.db")
run "$npuprof" cluster -d "$work/c" -o "$work/out" -j 4 -f json
expect_exit 0
expect_equal "$(sha256sum <"$out/cluster_analysis.db")" "$first"
expect 'JSON is the same' cmp "$work/stdout" "$work/j1"
expect_equal "$(ls "$out")" cluster_analysis.db

behaviour 'a reader who leaves early needs no words, however long the result'
cp -r "$work/c" "$work/left"
mkfifo "$work/pipe"
for form in json 'csv --table np_wait' 'md -m all,communication_time'; do
	exec 3<>"$work/pipe"
	exec 4>"$work/pipe" 3<&-
	status=0 command="npuprof cluster -d left -f $form | (nobody)"
	# shellcheck disable=SC2086 # words of options
	"$npuprof" cluster -d "$work/left" -f $form >&4 2>"$work/stderr" || status=$?
	exec 4>&-
	expect_exit 1
	expect_no_stderr
done

behaviour 'other files in the output directory are kept, stale sidecars of the database are not'
touch "$out/mine.txt" "$out/cluster_analysis.db-wal" "$out/cluster_analysis.db-shm"
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_equal "$(ls "$out")" 'cluster_analysis.db
mine.txt'

behaviour 'JSON has every field of the contract; what is not measured is null or empty'
expect_equal "$(sqlite3 :memory: "SELECT group_concat(key, ' ') FROM json_each(readfile('$work/j1'))")" \
	'schema input trust step_basis steps_from steps communicators roles stragglers verdict unattributed_ns charges links pipeline experts memory job_findings replay whatif critical_path efficiency breakdown device_time timings'
expect_equal "$(sqlite3 :memory: "SELECT group_concat(key, ' ') FROM json_each(readfile('$work/j1'), '\$.steps[0].ranks[0]')")" \
	'rank device host computing_ns communication_ns communication_not_overlapped_ns overlapped_ns free_ns bubble_ns stage_ns preparing_ns span_ns iteration_ns between_ns source host_step_ns e2e_ns partition dp pp tp cp ep'
expect_equal "$(sqlite3 :memory: "SELECT group_concat(key, ' ') FROM json_each(readfile('$work/j1'), '\$.communicators[0].steps[0]')")" \
	'step ops bytes moved_bytes gb_per_s elapsed_ns wait_ns transit_ns exposed_ns overlapped_ns computing_ns comm_compute_ratio estimator'
expect_equal "$(sqlite3 :memory: "SELECT sum(value ->> 'wait_ns' + value ->> 'transit_ns' <> value ->> 'elapsed_ns')
	FROM json_each(readfile('$work/j1'), '\$.communicators[0].steps')")" 0

behaviour 'CSV prints the first table, or the one named'
run "$npuprof" cluster -d "$work/c" -o "$work/out"
run "$npuprof" cluster "$work/c" -f csv --table np_run_info
expect_exit 0
expect_stdout_has 'key,value' 'schema,npuprof.cluster/1'
rm -r "$work/c/cluster_analysis_output"
run "$npuprof" cluster "$work/c" -f csv --table np_runinfo
expect_exit 2
expect_stderr_has "did you mean 'np_run_info'?"
run "$npuprof" cluster "$work/c" -f csv
expect_equal "$(head -n 1 "$work/stdout" | cut -d, -f 1-4)" 'step,type,index,computing'
expect_equal "$(wc -l <"$work/stdout")" 25
rm -rf "$work/c/cluster_analysis_output"

behaviour 'CSV with -o writes one file for each table'
run "$npuprof" cluster "$work/c" -f csv -o "$work/csv"
expect_exit 0
expect_no_stdout
expect_equal "$(cd "$work/csv/cluster_analysis_output" && find . -name '*.csv' | sed 's|^\./||; s|\.csv$||' | sort)" \
	"$(sqlite3 "$work/csv/cluster_analysis_output/cluster_analysis.db" "SELECT name FROM sqlite_master WHERE type = 'table'" | sort)"
expect_equal "$(wc -l <"$work/csv/cluster_analysis_output/RankDeviceMap.csv")" 9

behaviour 'Markdown is the screen as tables, and lines of text as items that a viewer wraps'
run "$npuprof" cluster "$work/c" -f md -o "$work/out"
expect_exit 0
expect_stdout_has '## Communicators' '|---:' '- all waiting: '

behaviour 'ranks can be chosen'
run "$npuprof" cluster "$work/c" --ranks 0-2,5 -o "$work/out" -f csv
run "$npuprof" cluster "$work/c" --ranks 0-2,5 -o "$work/out" -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.input.ranks_used'")" 4
run "$npuprof" cluster "$work/c" --ranks 0,9
expect_exit 2
expect_stderr_has 'no rank 9 in this run; there are ranks 0-7'

behaviour 'ranks of the job without a profile are listed, unless they were left out on purpose'
"$synth" -q -o "$work/part" --ranks 8 --steps 1 --layers 2 --kernels-per-layer 4 --omit-ranks 3,5-6 || exit 1
run "$npuprof" cluster part -o out
expect_exit 0
expect_stdout_says '5 ranks of 8' '3 of the 8 ranks of the job have no profile here: 3,5-6'
run "$npuprof" cluster part -o out --ranks 0-2
expect_stdout_lacks 'have no profile'

behaviour 'steps can be chosen'
run "$npuprof" cluster "$work/c" --steps 11-12 -o "$work/out" -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') -> '\$.input.steps',
	json_array_length(readfile('$work/stdout'), '\$.communicators[0].steps')")" '["11","12"]|2'
run "$npuprof" cluster "$work/c" --steps 7
expect_exit 2
expect_stderr_has 'no step 7 in this run; there are steps 10-12'

behaviour 'an output directory that cannot be made: the result is printed, and it is said'
: >"$work/file"
run "$npuprof" cluster "$work/c" -o "$work/file"
expect_exit 3
expect_stdout_has '8 ranks of 8'
expect_stderr_has "cannot make the directory '$work/file/cluster_analysis_output'" '-o'

behaviour 'what to do next can be pasted into a shell, and names all that was read'
mkdir "$work/it's 2"
mv "$(dirname "$(ls "$work"/left/host*/profiler_info_3.json)")" "$work/it's 2"
cd "$work" || exit 1
run "$npuprof" cluster -d left -d "it's 2" -o out
expect_stdout_has "npuprof advisor -d left -d 'it'\\''s 2'" "npuprof whatif -d left -d 'it'\\''s 2' --fix rank:5"

behaviour 'what to pick must be there'
run "$npuprof" cluster -d left --pick left/nothing
expect_exit 2
expect_stderr_has "'left/nothing', which --pick names, is not a directory"

behaviour 'a file in the place of the output directory is said to be one'
mkdir "$work/taken"
touch "$work/taken/cluster_analysis_output"
run "$npuprof" cluster -d "$work/c" -o "$work/taken"
expect_exit 3
expect_stderr_has "cannot make the directory '$work/taken/cluster_analysis_output': Not a directory; give another with -o"
run "$npuprof" cluster -d "$work/c" -o "$work/taken" -m all,export_summary
expect_exit 3
expect_stdout_has Verdict
expect_stderr_has "cannot make the directory '$work/taken/cluster_analysis_output': Not a directory; give another with -o"

behaviour 'a limit of the size of files keeps the old result, and leaves nothing else'
rm -rf "$work/out"
run "$npuprof" cluster -d "$work/c" -o "$work/out" --ranks 0-3
before=$(sha256sum "$out"/*)
run bash -c 'ulimit -f 20; exec "$@"' bash "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_exit 3
expect_stdout_has Verdict
expect_stderr_has "cannot write '$work/out/cluster_analysis_output/cluster_analysis.db'"
expect_equal "$(sha256sum "$out"/*)" "$before"
run bash -c 'ulimit -f 20; exec "$@"' bash "$npuprof" cluster -d "$work/c" -o "$work/csv" -m export_summary
expect_exit 3
expect_stderr_has "$work/csv/cluster_analysis_output/export_summary/rank_0/kernel_details.csv: cannot write table"

behaviour 'duplicates of a rank: the newest is used, --pick overrides, both are said'
cp -a "$(dirname "$(ls "$work"/c/*/profiler_info_3.json)")" "$work/c/again_20300101000000000_ascend_pt"
run "$npuprof" cluster "$work/c" -o "$work/out"
expect_exit 3
expect_stdout_says '8 ranks of 8' 'not used: rank 3' 'again_20300101000000000_ascend_pt'
expect_equal "$(sqlite3 "$out/cluster_analysis.db" "SELECT profilePath LIKE '%/again_%' FROM RankDeviceMap WHERE rankId = 3")" 1
run "$npuprof" cluster "$work/c" -o "$work/out" --pick "$(dirname "$(ls "$work"/c/host*/profiler_info_3.json)")"
expect_equal "$(sqlite3 "$out/cluster_analysis.db" "SELECT profilePath LIKE '%/again_%' FROM RankDeviceMap WHERE rankId = 3")" 0

# at_80_columns <argument>...: what npuprof shows on a terminal of that width
at_80_columns() {
	local words

	printf -v words '%q ' "$npuprof" "$@"
	# shellcheck disable=SC2024
	NO_COLOR=1 script -qec "stty cols 80; $words" "$work/typed" </dev/null | tr -d '\r' >"$work/stdout"
}

behaviour 'a terminal of 80 columns wraps no line: long titles take two, and of spreads the most is named'
need_program script
"$synth" -q -o "$work/wide" --ranks 16 --tp 4 --pp 2 --steps 2 --layers 4 --slow-rank 11:1.5 || exit 1
for words in 'cluster wide -q -o out' 'whatif wide -q' 'advisor wide -q' 'info wide -q' 'compare c wide -q'; do
	read -ra arguments <<<"$words"
	at_80_columns "${arguments[@]}"
	# An address is not broken.
	expect_equal "$words: $(grep -v 'https://' "$work/stdout" | grep -cE '^.{81}')" "$words: 0"
done
at_80_columns cluster wide -q -v -o out
expect_stdout_has 'others' 'waited'
expect_equal "$(grep -cE '^ +10 ( [0-9.]+…[0-9.]+ [mu]s r[0-9]+ *){4}$' "$work/stdout")" 1
# No step follows the last: it has no iteration.
expect_equal "$(grep -cE '^ +11 ( [0-9.]+…[0-9.]+ [mu]s r[0-9]+ *){3} -$' "$work/stdout")" 1

behaviour 'a rank that talks to nobody lacks communication, and not what the profiler would have recorded of it'
"$synth" -q -o "$work/alone" --ranks 1 --steps 1 --layers 2 --kernels-per-layer 4 || exit 1
run "$npuprof" cluster alone -o out
expect_exit 0
expect_stdout_lacks 'communication operators'
run "$npuprof" cluster alone -o out -v
expect_stdout_says 'communicators, exposed communication, wait and transfer, bandwidth and links: no communication operators'
expect_stdout_lacks 'no intervals of kernels'
