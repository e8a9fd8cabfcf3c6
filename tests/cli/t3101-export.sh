#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # bodies of programs are written out, not run
# npuprof export: raw data become files that can be analysed; one bad rank costs one rank.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/raw.sh"
need_program sqlite3

real=$NPUPROF_BUILD/sim/bin/msprof
[[ -x $real ]] || skip 'the stand-in msprof was not built'
PATH=$NPUPROF_BUILD/sim/bin:$PATH

# output <job> <rank>: what was exported of a rank
output() {
	echo "$work/$1"/*_$((1000 + $2))_*_ascend_pt/ASCEND_PROFILER_OUTPUT
}

# raw_of <job>: a line that changes with any raw file
raw_of() {
	(cd "$work/$1" && find . -path '*/PROF_*' \( -path '*/host/*' -o -path '*/device_*/*' \) -type f -print0 | sort -z | xargs -0 sha256sum) |
		sha256sum
}

# states <job>: of its ranks, from the manifest
states() {
	sqlite3 :memory: "SELECT group_concat(value ->> 'state') FROM json_each(readfile('$work/$1/npuprof_manifest.json'), '\$.ranks')"
}

# imitate <name> <body>: an msprof in $work/<name>/ with this body; "$real" is the true one
imitate() {
	mkdir -p "$work/$1"
	printf '#!/bin/bash\nreal=%q\n%s\n' "$real" "$2" >"$work/$1/msprof"
	chmod +x "$work/$1/msprof"
}

# ended <pid>: it has, or does so in a moment; nobody may have collected its status
ended() {
	local i

	for ((i = 0; i < 600; i++)); do
		grep -qs '^State:.*[^Z] (' "/proc/$1/status" || return 0
		sleep 0.05
	done
	return 1
}

# --- what is written ------------------------------------------------------------------------------

write_job "$work/db" 4
before=$(raw_of db)

behaviour 'what is not exported yet is told, with the command that does it'
run "$npuprof" info "$work/db"
expect_exit 1
expect_stderr_has 'raw data that was not exported; run npuprof export'

behaviour 'every rank is exported'
run "$npuprof" export "$work/db"
expect_exit 0
expect_no_stderr
expect_stdout_has 'exported' '10-11' 'node1'
expect_equal "$(states db)" exported,exported,exported,exported
for rank in 0 1 2 3; do
	expect_file "$(output db $rank)/ascend_pytorch_profiler_$rank.db"
	expect_file "$(output db $rank)/analysis.db"
	expect_file "$(output db $rank)/analyse.done"
done

behaviour 'the database knows rank, device, host, steps, communicators and clock'
db=$(output db 2)/ascend_pytorch_profiler_2.db
expect_equal "$(sqlite3 "$db" 'SELECT * FROM RANK_DEVICE_MAP')" '2|2'
expect_equal "$(sqlite3 "$db" 'SELECT * FROM HOST_INFO')" '70001|node1'
# Step 12 has no end: it was not captured.
expect_equal "$(sqlite3 "$db" 'SELECT group_concat(id) FROM STEP_TIME')" 10,11
expect_equal "$(sqlite3 "$db" "SELECT value -> '\$.group_world.global_ranks', value ->> '\$.group_world.group_rank'
	FROM META_DATA WHERE name = 'parallel_group_info'")" '[0,1,2,3]|2'
expect_equal "$(sqlite3 "$db" "SELECT value ->> '\$.clock[0].offset_ns' FROM META_DATA WHERE name = 'npuprof_clock'")" 1500

behaviour 'analysis.db has what follows from the tasks'
# Three kernels of 100 µs; the operator from 400 + 10 × rank to 600 µs, so 180 µs on rank 2, and 70 µs free before it.
# The first kernel starts 50 µs after step 10.
expect_equal "$(sqlite3 "$(output db 2)/analysis.db" "SELECT * FROM StepTraceTime WHERE step = '10'")" \
	'2|10|300|180|0|180|70|550|0|180|50'
expect_equal "$(sqlite3 "$(output db 2)/analysis.db" "SELECT step, type, elapse_time FROM CommAnalyzerTime")" $'step10|collective|0.18\nstep11|collective|0.18'
# 4 MB in 80 µs
expect_equal "$(sqlite3 "$(output db 2)/analysis.db" "SELECT transport_type, transit_size, transit_time, bandwidth FROM CommAnalyzerBandwidth
	WHERE step = 'step11' AND transport_type = 'HCCS'")" 'HCCS|4|0.08|50'
expect_equal "$(sqlite3 "$(output db 2)/analysis.db" "SELECT DISTINCT transport_type FROM CommAnalyzerMatrix WHERE src_rank = '2' AND dst_rank = '3'")" HCCS

behaviour 'raw data are not changed, and msprof leaves nothing beside them'
expect_equal "$(raw_of db)" "$before"
expect_equal "$(find "$work/db" -name 'msprof_*' -o -name analyze -o -name '*tmp*' -o -name '.npuprof*' | wc -l)" 0

behaviour 'what is fresh is left alone'
touched=$(find "$work/db" -name '*.db' -printf '%p %T@\n' | sort)
PATH=/usr/bin:/bin run "$npuprof" export "$work/db"
expect_exit 0
expect_stdout_has 'fresh'
expect_stdout_lacks 'exported'
expect_equal "$(find "$work/db" -name '*.db' -printf '%p %T@\n' | sort)" "$touched"

if [[ -e $NPUPROF_BUILD/libfailing_calls.so ]] && ! grep -q '^NP_SANITIZE:STRING=.' "$NPUPROF_BUILD/CMakeCache.txt"; then
	behaviour 'a directory that cannot be read is no directory without ranks'
	cp "$work/stdout" "$work/fresh"
	for ((at = 1; at <= 60; at++)); do
		run env LD_PRELOAD="$NPUPROF_BUILD/libfailing_calls.so" NP_TEST_FAIL=files NP_TEST_FAIL_AT=$at "$npuprof" export "$work/db"
		if [[ $status == 0 ]]; then
			expect "with status 0 the call $at that failed changes the answer" grep -q fresh "$work/stdout"
			expect_equal "$(grep -c 'fresh\|exported' "$work/stdout")" "$(grep -c fresh "$work/fresh")"
		else
			expect "the call $at that failed is not said" test -s "$work/stderr"
		fi
	done
	run "$npuprof" export "$work/db"
	expect_exit 0
fi

behaviour 'newer raw data are exported again, as is everything with --force'
touch "$work"/db/*_1001_*/PROF_*/host/info.json
run "$npuprof" export "$work/db"
expect_exit 0
expect_equal "$(grep -c fresh "$work/stdout") $(grep -c exported "$work/stdout")" '3 1'
run "$npuprof" export --force --ranks 2 "$work/db"
expect_exit 0
expect_equal "$(grep -c exported "$work/stdout")" 1

behaviour '--keep-raw keeps what msprof wrote'
run "$npuprof" export --force --ranks 3 --keep-raw "$work/db"
expect_exit 0
expect_file "$(echo "$work"/db/*_1003_*/PROF_*/msprof_*.db)"

behaviour 'the table names the directories of ranks below the one that was given'
run "$npuprof" export --force --ranks 3 "$work/db/"
expect_equal "$(awk '$1 == 3 { print $NF }' "$work/stdout")" "$(basename "$work"/db/*_1003_*)"

behaviour 'one rank directory may be given'
run "$npuprof" export --force "$(echo "$work"/db/*_1001_*)"
expect_exit 0
expect_equal "$(grep -c exported "$work/stdout")" 1
expect_equal "$(sqlite3 "$(output db 1)/ascend_pytorch_profiler_1.db" "SELECT count(*) FROM META_DATA
	WHERE name IN ('npuprof_clock', 'parallel_group_info')")" 2

# --- text, levels, analysis -----------------------------------------------------------------------

facts() {
	sqlite3 :memory: "
		SELECT s.value ->> 'step', r.value ->> 'rank', r.value ->> 'computing_ns', r.value ->> 'communication_ns', r.value ->> 'free_ns',
			r.value ->> 'span_ns', r.value ->> 'preparing_ns'
			FROM json_each(readfile('$1'), '\$.steps') s, json_each(s.value, '\$.ranks') r;
		SELECT c.value ->> 'group', c.value ->> 'pg_name', c.value -> 'ranks', s.value ->> 'ops', s.value ->> 'bytes',
			s.value ->> 'moved_bytes', s.value ->> 'elapsed_ns'
			FROM json_each(readfile('$1'), '\$.communicators') c, json_each(c.value, '\$.steps') s"
}

for level in 39 2049; do
	behaviour "text and database say the same (mask $level)"
	for type in db text; do
		write_job "$work/$type$level" 2 $level
		run "$npuprof" export --type $type "$work/$type$level"
		expect_exit 0
		expect_no_stderr
		run "$npuprof" cluster -q -f json "$work/$type$level"
		expect_exit 0
		cp "$work/stdout" "$work/$type$level.json"
	done
	facts "$work/db$level.json" >"$work/db.facts"
	facts "$work/text$level.json" >"$work/stdout"
	expect_equal "$(wc -l <"$work/db.facts")" 6
	expect_stdout <"$work/db.facts"
done

behaviour 'at level 0 nothing is said about what operators moved'
expect_equal "$(sqlite3 "$(output db2049 0)/analysis.db" 'SELECT group_concat(name) FROM sqlite_master')" StepTraceTime
expect_equal "$(find "$work/text2049" -name 'communication*.json' | wc -l)" 0

behaviour 'text has the files that analyses look for'
for name in trace_view.json kernel_details.csv step_trace_time.csv communication.json communication_matrix.json op_statistic.csv api_statistic.csv; do
	expect_file "$(output text39 1)/$name"
done
expect_equal "$(head -n 2 "$(output text39 1)/kernel_details.csv" | cut -d , -f 1,6 | paste -sd ' ')" 'Step Id,Name 10,MatMul_1'

behaviour 'the other form can be added'
run "$npuprof" export --type db,text "$work/text39"
expect_exit 0
expect_file "$(output text39 0)/ascend_pytorch_profiler_0.db"
run "$npuprof" export --type text "$work/text39"
expect_stdout_has fresh

behaviour 'the result does not depend on -j'
for jobs in 1 3; do
	write_job "$work/j$jobs" 3
	run "$npuprof" export -j $jobs "$work/j$jobs"
	expect_exit 0
	for rank in 0 1 2; do
		sqlite3 "$(output j$jobs $rank)/ascend_pytorch_profiler_$rank.db" .dump
		sqlite3 "$(output j$jobs $rank)/analysis.db" .dump
	done >"$work/j$jobs.dump"
done
expect 'dumps differ' cmp "$work/j1.dump" "$work/j3.dump"

behaviour 'info finds what was exported'
run "$npuprof" info "$work/j1"
expect_exit 0
expect_stdout_has 'node1' 'Level1'

# --- failures -------------------------------------------------------------------------------------

behaviour 'without msprof it says what to install'
write_job "$work/none" 2
PATH=/usr/bin:/bin run "$npuprof" export "$work/none"
expect_exit 1
expect_stderr_has "no program 'msprof'" 'CANN toolkit' 'set_env.sh' '--msprof'
expect_equal "$(states none)" raw,raw

behaviour 'one bad rank costs one rank'
imitate fails 'case $* in *00001001*) echo "[ERROR] cannot parse"; exit 5 ;; esac; exec "$real" "$@"'
write_job "$work/one" 3
run "$npuprof" export --msprof "$work/fails/msprof" -v "$work/one"
expect_exit 3
expect_stderr_has 'rank 1 was not exported: msprof ended with status 5: [ERROR] cannot parse' 'npuprof_export.log'
expect_equal "$(states one)" exported,failed,exported
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/one/npuprof_manifest.json') ->> '\$.ranks[1].export_reason'")" \
	'msprof ended with status 5: [ERROR] cannot parse'
expect_equal "$(find "$work"/one/*_1001_* -name ASCEND_PROFILER_OUTPUT | wc -l)" 0
run "$npuprof" cluster -q -f json "$work/one"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.input.ranks_used'")" 2

behaviour 'it is exported when it is tried again, and the others are left alone'
run "$npuprof" export "$work/one"
expect_exit 0
expect_equal "$(grep -c fresh "$work/stdout") $(grep -c exported "$work/stdout")" '2 1'
expect_equal "$(states one)" exported,exported,exported

behaviour 'a capture that was cut short is said by export and by what analyses it, and stays in the manifest'
write_job "$work/cut" 2
sed -i '0,/"state": "raw", "exit": 0/! s/"state": "raw", "exit": 0/"state": "raw", "reason": "killed in its window", "exit": 137/' \
	"$work/cut/npuprof_manifest.json"
run "$npuprof" export "$work/cut"
expect_exit 3
expect_stderr_has 'the capture is incomplete: killed in its window'
expect_equal "$(states cut)" exported,exported
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/cut/npuprof_manifest.json') ->> '\$.ranks[1].reason'")" \
	'killed in its window'
for command in cluster info whatif advisor; do
	run "$npuprof" $command -f json -d "$work/cut"
	expect_exit 3
	expect_stdout_has 'killed in its window'
	expect_stderr_has 'killed in its window'
done
run "$npuprof" export "$work/cut"
expect_exit 3

behaviour 'a manifest that cannot be read is said by info too'
cp -r "$work/cut" "$work/damaged"
echo '{"schema": "npuprof.manifest/1", "ranks": [' >"$work/damaged/npuprof_manifest.json"
for command in cluster info; do
	run "$npuprof" $command -f json -d "$work/damaged"
	expect_exit 3
	expect_stdout_has npuprof_manifest.json
done

behaviour 'nothing usable is a failure'
imitate never 'exit 1'
write_job "$work/all" 2
run "$npuprof" export --msprof "$work/never/msprof" "$work/all"
expect_exit 1
expect_equal "$(states all)" failed,failed

behaviour 'an msprof that hangs is stopped, with what it started'
imitate hangs 'sleep 4711 & echo $! >"$(dirname "$0")/pid"; wait'
run "$npuprof" export --msprof "$work/hangs/msprof" --timeout 1 --ranks 0 "$work/all"
expect_exit 1
expect_stderr_has 'took longer than 1 s' '--timeout'
expect 'what it started is still there' ended "$(cat "$work/hangs/pid")"

behaviour 'an msprof that is killed, that writes nothing, or rubbish, is told apart'
imitate killed 'kill -9 $$'
run "$npuprof" export --msprof "$work/killed/msprof" --ranks 0 "$work/all"
expect_exit 1
expect_stderr_has 'ended by signal 9'
imitate silent 'exit 0'
run "$npuprof" export --msprof "$work/silent/msprof" --ranks 0 "$work/all"
expect_exit 1
expect_stderr_has 'wrote no database'
imitate rubbish 'for last; do :; done; echo rubbish >"${last#--output=}/msprof_20260101000000.db"'
run "$npuprof" export --msprof "$work/rubbish/msprof" --ranks 0 "$work/all"
expect_exit 1
expect_stderr_has 'msprof_20260101000000.db'
rm -f "$work"/all/*/PROF_*/msprof_*.db

behaviour 'a database that was cut short is not taken for good'
imitate cuts '"$real" "$@"; for db in "${@: -1}"; do for f in "${db#--output=}"/msprof_*.db; do truncate -s 20480 "$f"; done; done'
run "$npuprof" export --msprof "$work/cuts/msprof" --ranks 0 "$work/all"
expect_exit 1
expect_stderr_has 'rank 0 was not exported'
expect_equal "$(find "$work/all" -name 'ascend_pytorch*' | wc -l)" 0
rm -f "$work"/all/*/PROF_*/msprof_*.db

behaviour 'raw data that were cut are exported, with a warning'
write_job "$work/cut" 2
rm "$work"/cut/*_1001_*/PROF_*/host/end_info
slice=$(echo "$work"/cut/*_1001_*/PROF_*/device_1/data/npusim.data.1.slice_0)
truncate -s $(($(stat -c %s "$slice") * 3 / 4)) "$slice"
run "$npuprof" export "$work/cut"
expect_exit 0
expect_stderr_has 'did not end properly'
expect_equal "$(states cut)" exported,exported

behaviour 'damaged and missing raw data cost their ranks'
write_job "$work/damaged" 3
slice=$(echo "$work"/damaged/*_1000_*/PROF_*/device_0/data/npusim.data.0.slice_0)
sed -i '6s/\t/x/' "$slice"
sed -i '6s/^[A-Z]*x/TASK\t/; 6s/\t[0-9]*\t/\tabc\t/' "$slice"
rm -rf "$work"/damaged/*_1001_*/PROF_*
run "$npuprof" export "$work/damaged"
expect_exit 3
expect_stderr_has 'rank 0 was not exported' 'npusim.data.0.slice_0:6' "rank 1 was not exported: no PROF_*"
expect_equal "$(states damaged)" failed,failed,exported

if [[ $(id -u) != 0 ]]; then
	behaviour 'a directory that cannot be written is told'
	write_job "$work/ro" 2
	chmod a-w "$work"/ro/*_1000_*
	run "$npuprof" export "$work/ro"
	expect_exit 3
	expect_stderr_has 'rank 0 was not exported: cannot make the directory' 'Permission denied'
	chmod u+w "$work"/ro/*_1000_*
fi

behaviour 'a full disk is told'
write_job "$work/full" 1
run bash -c 'ulimit -f 40; trap "" XFSZ; exec "$0" "$@"' "$npuprof" export "$work/full"
expect_exit 1
expect_stderr_has 'rank 0 was not exported'
expect_equal "$(find "$work/full" -name 'ascend_pytorch*' | wc -l)" 0
run "$npuprof" export "$work/full"
expect_exit 0

behaviour 'an export that was killed goes on where it was'
imitate slow 'case $* in *00001001*) : >"${0%/*}/busy"; sleep 30 ;; esac; exec "$real" "$@"'
# is_busy: wait until the slow one is at work on rank 1
is_busy() {
	for ((i = 0; i < 600; i++)); do
		[[ -e $work/slow/busy ]] && break
		sleep 0.05
	done
	rm -f "$work/slow/busy"
}
write_job "$work/kill" 3
"$npuprof" export -j 1 --msprof "$work/slow/msprof" "$work/kill" >/dev/null 2>&1 &
victim=$!
is_busy
kill -9 $victim
wait $victim 2>/dev/null
expect_file "$(output kill 0)/analyse.done"
expect_equal "$(states kill)" raw,raw,raw
run "$npuprof" export "$work/kill"
expect_exit 0
expect_equal "$(grep -c fresh "$work/stdout") $(grep -c exported "$work/stdout")" '1 2'
expect_equal "$(states kill)" exported,exported,exported

behaviour 'one that is interrupted says so and leaves states alone'
write_job "$work/int" 2
"$npuprof" export -j 1 --msprof "$work/slow/msprof" "$work/int" >"$work/stdout" 2>"$work/stderr" &
victim=$!
is_busy
kill -TERM $victim
status=0
wait $victim || status=$?
expect_exit 3
expect_stderr_has 'start it again'
expect_equal "$(states int)" exported,raw

behaviour 'two exports do not work on one rank at a time'
"$npuprof" export -j 1 --msprof "$work/slow/msprof" "$work/int" >/dev/null 2>&1 &
victim=$!
is_busy
run "$npuprof" export --ranks 1 "$work/int"
kill -TERM $victim
wait $victim
expect_exit 1
expect_stderr_has 'another export is at work'

behaviour 'profiles that torch_npu recorded itself are left to torch_npu'
write_job "$work/torch" 2
mkdir "$(echo "$work"/torch/*_1000_*)/FRAMEWORK"
run "$npuprof" export "$work/torch"
expect_exit 3
expect_stderr_has 'from torch_npu.profiler.profiler import analyse; analyse(profiler_path='

behaviour 'a rank that nothing names is told'
write_raw "$work/odd/somewhere_ascend_pt" 0 1
rm "$work"/odd/somewhere_ascend_pt/{npuprof_rank.json,profiler_info_0.json}
run "$npuprof" export "$work/odd"
expect_exit 1
expect_stderr_has 'nothing names the rank'

behaviour 'a record that is damaged costs the steps, not the rank'
write_job "$work/record" 1
echo '{"rank": 0, "steps": [' >"$(echo "$work"/record/*_1000_*)/npuprof_rank.json"
run "$npuprof" export "$work/record"
expect_exit 3
expect_stderr_has 'steps are not known'
expect_stdout_has none

behaviour 'a damaged manifest is told before anything is done'
write_job "$work/manifest" 1
echo '{' >"$work/manifest/npuprof_manifest.json"
run "$npuprof" export "$work/manifest"
expect_exit 1
expect_stderr_has 'npuprof_manifest.json'

behaviour 'wrong usage is refused'
run "$npuprof" export
expect_exit 2
run "$npuprof" export "$work/nowhere"
expect_exit 2
expect_stderr_has 'is not a directory'
run "$npuprof" export --type xml "$work/db"
expect_exit 2
run "$npuprof" export --ranks 77 "$work/db"
expect_exit 2
expect_stderr_has 'none of the ranks asked for'
mkdir "$work/empty"
run "$npuprof" export "$work/empty"
expect_exit 1
expect_stderr_has 'nothing to export' '*_ascend_pt'
