#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The injection library in a small application on the simulated AscendCL, with a launcher
# that prints what the library says.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

library=$NPUPROF_BUILD/libnpuprof_inject.so
app=$NPUPROF_BUILD/inject_app
out=$work/out
mkdir "$out"
[[ -f $library && -x $app ]] || skip 'the injection library was not built'
# A preloaded library stands before the sanitizer's own.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"

# launch [key=value]... -- program [argument]...: run it as rank 1 of 4, selected
launch() {
	rm -rf "${out:?}"/*
	run "$NPUPROF_BUILD/inject_launch" "$library" job=t rank=1 world_size=4 selected=1 \
		dir="$out" host=node1 "$@"
}

# A window is closed when its profile is complete: what the launcher and the clock bring about
# takes a busy machine more than a few steps.
closed="--until=$out/*/PROF_*/host/end_info"

# rank_file: npuprof_rank.json of the one rank directory there is, in one line
rank_file() {
	cat "$out"/*_ascend_pt/npuprof_rank.json | tr -s '\n ' ' '
}

# expect_rank_file_has <text>...
expect_rank_file_has() {
	local text

	for text; do
		checks=$((checks + 1))
		rank_file | grep -qF -e "$text" || wrong "npuprof_rank.json lacks: $text: $(rank_file)"
	done
}

expect_no_directory() {
	expect_equal "$(find "$out" -mindepth 1 | wc -l)" 0
}

behaviour 'only hooks and npuprof_step can be seen from outside'
others=$(nm -D --defined-only "$library" | awk '{print $3}' |
	grep -vE '^(acl(rt|prof)?[A-Z]|Hccl[A-Z]|InitInjectionMstx$|npuprof_step$)')
expect_equal "$others" ''
needed=$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^lib(c|m|dl|pthread|rt)\.so')
expect_equal "$needed" ''

behaviour 'without a launcher the library does nothing'
run env LD_PRELOAD="$library" "$app" --mark=npuprof 5
expect_exit 0
expect_stdout <<<'trained'
expect_no_stderr

behaviour 'an application that never touches AscendCL runs unharmed'
launch step_start=0 -- sh -c 'echo hello; exit 7'
expect_exit 7
expect_stdout_has 'HELLO' 'hello'
expect_stdout_lacks 'ATTACHED' 'PROF_ERROR'
expect_no_directory

behaviour 'an explicit step opens and closes the window'
launch step_start=5 step_end=8 -- "$app" --mark=npuprof 12
expect_exit 0
expect_stdout_has 'ATTACHED 4 1 Ascend910B' 'SOURCE 0 1 npuprof_step()' "WINDOW_OPEN 5 39 $out/node1_" \
	'WINDOW_CLOSED 7 ' 'DONE 11 0 exit' 'trained'
expect_rank_file_has '"rank": 1' '"state": "closed"' '"step_source": "explicit"' '{ "step": 5,' '{ "step": 7,' \
	'"first_step": 5, "last_step": 7' '"call": "aclprofStart", "code": 0' '"pg_name": "default_group"' \
	'"ranks": [0, 1, 2, 3]' '"size": 2, "group_rank": 1, "pg_name": null, "ranks": [0, 1]'
dir=$(echo "$out"/*_ascend_pt)
expect_file "$dir/profiler_info_1.json"
expect_file "$dir/profiler_metadata.json"
expect 'a profile was written' compgen -G "$dir/PROF_*/host" >/dev/null
expect 'the groups are those of torch_npu' grep -q '"global_ranks": \[0, 1\]' "$dir/profiler_metadata.json"

behaviour 'a rank that is not selected counts steps and leaves nothing'
launch selected=0 step_start=2 step_end=4 -- "$app" --mark=npuprof 6
expect_exit 0
expect_stdout_has 'ATTACHED' 'STEP 0 1' 'COMM 1 4' 'DONE 5'
expect_stdout_lacks 'WINDOW'
expect_no_directory

behaviour 'mstx marks that match the pattern are steps'
launch step_start=5 step_end=6 -- "$app" --mark=mstx 12
expect_exit 0
expect_stdout_has 'SOURCE 0 2 step 0' 'WINDOW_OPEN 5 39' 'WINDOW_CLOSED 5'
expect_rank_file_has '"step_source": "mstx"'

behaviour 'a pattern without a number counts what matches'
launch 'pattern=^some' step_start=5 step_end=6 -- "$app" --mark=mstx 12
expect_exit 0
expect_stdout_has 'SOURCE 1 2 something else' 'WINDOW_OPEN 5 39' 'WINDOW_CLOSED 5'

behaviour 'a pattern that is wrong is reported and the application runs'
launch 'pattern=(step' -- "$app" --mark=mstx 3
expect_exit 0
expect_stdout_has 'PROF_ERROR' 'trained'
expect_no_directory

behaviour 'stamps of the framework are counted'
launch step_start=5 step_end=6 -- "$app" --mark=stamp 12
expect_exit 0
expect_stdout_has 'SOURCE 1 3 aclprofGetStepTimestamp' 'WINDOW_OPEN 5' 'WINDOW_CLOSED 5'

behaviour 'without marks the collectives tell the steps'
launch step_start=10 step_end=12 -- "$app" --mark=none --loops 20
expect_exit 0
expect_stdout_has '4 23 ' 'WINDOW_OPEN 10' 'WINDOW_CLOSED 11'
expect_rank_file_has '"step_source": "hccl"' '"step_detail": "23 collectives repeat from call 0 on'

behaviour 'a time window opens and closes by the clock'
launch source=5 delay_ms=60 duration_ms=60 -- "$app" --pause=5 "$closed" 60
expect_exit 0
expect_stdout_has 'SOURCE 0 5' 'WINDOW_OPEN 0' 'WINDOW_CLOSED 0'

behaviour 'an application that profiles itself is left alone, before the window'
launch step_start=5 step_end=6 -- "$app" --mark=npuprof --self=3 8
expect_exit 0
expect_stdout_has 'SELF_PROFILING -1 -1 aclprofInit' 'trained'
expect_stdout_lacks 'WINDOW'
expect_no_directory

behaviour 'and within it'
launch step_start=2 step_end=6 -- "$app" --mark=npuprof --self=3 8
expect_exit 0
expect_stdout_has 'WINDOW_OPEN 2' 'WINDOW_CLOSED 3' 'SELF_PROFILING' 'trained'
expect_rank_file_has '"reason": "the application profiles itself (aclprofInit)"'

behaviour 'a forked helper is left alone'
# In a forked process the sanitizer cannot look for leaks: it waits for locks of threads that are not there.
ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 launch step_start=3 step_end=4 -- "$app" --mark=npuprof --fork=1 6
expect_exit 0
expect_stdout_has 'WINDOW_OPEN 3' 'WINDOW_CLOSED 3' 'DONE 5'
expect_equal "$(grep -c -e HELLO -e DONE "$work/stdout")" 2

behaviour 'an application that leaves without aclFinalize still gets its profile'
launch step_start=3 -- "$app" --mark=npuprof --no-finalize 6
expect_exit 0
expect_stdout_has 'WINDOW_CLOSED 5' 'DONE 5'
expect_rank_file_has '"reason": "the application ended"'

behaviour 'a device that is set late costs the steps before it'
launch step_start=1 step_end=5 -- "$app" --mark=npuprof --late-device 8
expect_exit 0
expect_stdout_has 'WINDOW_OPEN 3' 'WINDOW_CLOSED 4'

behaviour 'the launcher can stop a window'
launch step_start=2 say-stop-at=4 -- "$app" --mark=npuprof --pause=30 "$closed" 12
expect_exit 0
expect_stdout_has 'WINDOW_CLOSED' 'trained'
expect_rank_file_has '"reason": "the launcher said stop"'

behaviour 'and start one on a rank that was not selected'
launch selected=0 say-start-at=3 ping=1 -- "$app" --mark=npuprof --pause=30 "$closed" 12
expect_exit 0
expect_stdout_has 'PONG 11 22' 'ACCEPTED' 'WINDOW_OPEN' 'WINDOW_CLOSED'

behaviour 'a profiler that fails does not harm the application'
launch step_start=2 step_end=4 -- env NPUSIM_FAIL=aclprofStart:rank1:500005 RANK=1 "$app" --mark=npuprof 6
expect_exit 0
expect_stdout_has 'PROF_CODE -1 500005 aclprofStart' 'PROF_ERROR -1 500005 aclprofStart returned 500005' 'trained'
expect_stdout_lacks 'WINDOW'
expect_rank_file_has '"state": "failed"' '"call": "aclprofStart", "code": 500005'

behaviour 'nor does a directory that cannot be written'
launch dir=/proc/nowhere step_start=2 step_end=4 -- "$app" --mark=npuprof 6
expect_exit 0
expect_stdout_has 'PROF_ERROR -1 -1 cannot make the directory' 'trained'

behaviour 'nor does a configuration that cannot be read'
launch level=9 -- "$app" --mark=npuprof 6
expect_exit 0
expect_stdout_has "PROF_ERROR -1 -1 NPUPROF_CFG: '9' is no value for level" 'trained'
expect_no_directory

behaviour 'an installation that cannot profile is reported with the functions it lacks'
bench=$NPUPROF_BUILD/inject_bench
launch step_start=2 step_end=4 -- env LD_LIBRARY_PATH="$NPUPROF_BUILD/fake/broken" "$bench" 6 step
expect_exit 0
expect_stdout_has 'PROF_ERROR -1 -1 AscendCL lacks aclprofStart, aclprofDestroyConfig ('
expect_no_directory

behaviour 'an older one is used without what it lacks'
launch step_start=2 step_end=4 warmup=1 sys_io=1 -- \
	env LD_LIBRARY_PATH="$NPUPROF_BUILD/fake/old" "$bench" 6 step
expect_exit 0
expect_stdout_has 'WINDOW_OPEN 2 39' 'PROF_ERROR -1 -1 the profiler was started and stopped, but wrote nothing'
expect_rank_file_has '"call": "aclprofStart", "code": 0' '"call": "aclprofFinalize", "code": 0' \
	'no warm-up: this CANN has no aclprofWarmup' 'SYS_IO_FREQ=100: this CANN has no aclprofSetConfig'

behaviour 'libraries that were loaded privately, as python does, are found'
for mark in npuprof mstx none; do
	launch step_start=10 step_end=11 -- "$NPUPROF_BUILD/inject_host" "$NPUPROF_BUILD/libinject_plugin.so" \
		"--mark=$mark" 14
	expect_exit 0
	expect_stdout_has 'ATTACHED 4 1 Ascend910B' 'COMM 1 2' 'WINDOW_OPEN 10' 'WINDOW_CLOSED 10' 'trained'
done

behaviour 'of two processes of a rank one is profiled'
cat >"$work/both" <<SH
'$app' --mark=npuprof --pause=10 '--until=$out/ended' 6 &
for try in \$(seq 600); do
	! ls -d '$out'/*_ascend_pt >/dev/null 2>&1 || break
	sleep 0.05
done
'$app' --mark=npuprof 6
: >'$out/ended'
wait
SH
launch step_start=2 -- sh "$work/both"
expect_exit 0
expect_stdout_has 'PROF_ERROR -1 -1 another process of this rank is profiled'
expect_equal "$(find "$out" -name '*_ascend_pt' | wc -l)" 1
