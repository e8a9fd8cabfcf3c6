#!/usr/bin/env bash
# npuprof-collect when something fails: no hang, no orphan, data kept, a clear
# message, and the right exit status.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"

# A job of one second and more, of which steps can be profiled.
job=("$train" --steps 12 --layers 2)

behaviour 'an application that crashes ends the job with its status, and the data is kept'
launch 4 --job crash --ranks all --step-start 1 --grace 15 -- "${job[@]}" --crash-rank 2 --crash-step 4
expect_equal "$status" "$(manifest crash '$.ranks[2].exit')"
expect "the status is not 0" test "$status" -ne 0
expect_stderr_has "the application of rank 2 ended with status $status; ending the others"
expect_equal "$(each_rank crash "r ->> 'state'")" 'raw raw raw raw'
expect_equal "$(each_rank crash "r ->> 'first_step'")" '1 1 1 1'
expect_equal "$(each_rank crash "ifnull(r ->> 'reason', '-')")" \
	'- - the application ended before the profile was closed; it may be incomplete -'
expect_equal "$(complete crash)" 3
expect_nothing_left

behaviour 'SIGTERM to mpirun ends the job, and the data is kept'
mpirun -q -n 4 "$collector" -o "$work/prof" --job term --ranks all --step-start 1 --grace 15 -- \
	"$train" --steps 100000 --layers 2 >"$work/stdout" 2>"$work/stderr" &
pid=$!
expect 'it never began' await 30 profiles term 4
kill -TERM "$pid"
status=0
wait "$pid" || status=$?
expect "the status is not 0" test "$status" -ne 0
expect_stderr_has 'ending the job: Terminated'
expect_nothing_left
expect_equal "$(complete term)" 4
expect_equal "$(each_rank term "r ->> 'state'")" 'raw raw raw raw'

behaviour 'a launcher that is killed leaves no application behind'
mpirun -q -n 2 "$collector" -o "$work/prof" --job killed --ranks all --step-start 1 --grace 8 -- \
	"$train" --steps 100000 --layers 2 >"$work/stdout" 2>"$work/stderr" &
pid=$!
expect 'it never began' await 30 profiles killed 2
# The oldest of the processes with this command line is a launcher; younger ones are guards.
kill -KILL "$(pgrep -o -f "^$collector.*$work.*--job killed")"
status=0
wait "$pid" || status=$?
expect "the status is not 0" test "$status" -ne 0
expect_nothing_left
expect_equal "$(complete killed)" 2

behaviour 'a profiler that fails on one rank fails that rank only: status 3'
NPUSIM_FAIL=aclprofStart:rank2:500005 launch 4 --job start --ranks all --step-start 1 --step-end 3 -- "${job[@]}"
expect_exit 3
expect_stderr_has 'rank 2: ' 'profiles of 3 of 4 ranks'
expect_equal "$(each_rank start "r ->> 'state'")" 'raw raw failed raw'
expect_equal "$(each_rank start "r ->> 'exit'")" '0 0 0 0'
expect_equal "$(manifest start '$.ranks[2].prof_codes.aclprofStart')" 500005
expect_nothing_left

behaviour 'a disk that is full during the collection costs the profile and not the job'
NPUSIM_ENOSPC_AFTER=2000 launch 2 --job full --ranks all --step-start 1 --step-end 6 -- "${job[@]}"
expect_exit 3
expect_stderr_has 'rank 0: ' 'rank 1: '
expect_equal "$(each_rank full "r ->> 'exit'")" '0 0'
expect_nothing_left

behaviour 'an application that profiles itself is left alone, and it is said'
launch 2 --job self --ranks all --step-start 1 --step-end 3 -- "${job[@]}" --self-profile "$work/self"
expect_exit 3
expect_stderr_has 'the application profiles itself'

behaviour 'a window that the application does not reach is a failure of the profile'
launch 2 --job beyond --ranks all --step-start 100 --step-end 102 -- "${job[@]}"
expect_exit 3
expect_stderr_has 'before step 100' 'profiles of 0 of 2 ranks'
launch 2 --job short --ranks 1 --step-start 10 --step-end 20 -- "${job[@]}"
expect_exit 3
expect_stderr_has 'rank 1: the profile ends with step 1' '; 19 was asked for'

behaviour 'an application that uses no NPU cannot be profiled'
launch 2 --job cpu -- true
expect_exit 3
expect_stderr_has 'rank 0: the application never used an NPU'

behaviour 'the status of an application that fails by itself is passed on'
launch 2 --job seven -- sh -c 'exit 7'
expect_exit 7
launch 2 --job signalled --grace 1 -- sh -c 'kill -9 $$'
expect_exit 137

# starts_nothing <status> <message>... -- <option>...: refused before anything starts
starts_nothing() {
	local expected=$1 messages=()

	shift
	while [[ $1 != -- ]]; do
		messages+=("$1")
		shift
	done
	shift
	behaviour "nothing is started: ${messages[*]}"
	launch 3 --job nothing "$@" -- sh -c ": >'$work/started'"
	expect_exit "$expected"
	expect_stderr_has "${messages[@]}"
	expect 'the application was started' test ! -e "$work/started"
	expect 'the directory of the job was left' test ! -e "$work/prof/nothing"
	rm -f "$work/started"
}

starts_nothing 2 "unknown option '--rnks'; did you mean '--ranks'?" -- --rnks 0
starts_nothing 2 'there is no rank 3: the job has 0-2' -- --ranks 0,3
starts_nothing 2 'did you mean --step-end 6?' -- --step-start 5 --step-end 5
starts_nothing 2 'cannot read' -- --config "$work/none.json"
starts_nothing 2 'is no configuration' -- --config "$work"
PROFILING_MODE=dynamic starts_nothing 1 'ranks 0-2 on' 'PROFILING_MODE is set' -- --ranks 0
WORLD_SIZE=8 starts_nothing 1 "WORLD_SIZE is '8' in the environment, and 3 here" --
LD_LIBRARY_PATH=/nowhere starts_nothing 1 'ranks 0-1 on' 'AscendCL cannot be used' \
	'nothing was started: the checks failed on 2 of 3 ranks' -- --ranks 0,1

mkdir "$work/a b"
cp "$NPUPROF_BUILD"/npuprof-collect "$NPUPROF_BUILD"/libnpuprof_*.so "$work/a b"
collector="$work/a b/npuprof-collect" starts_nothing 1 'cannot be loaded into the application' 'install npuprof elsewhere' -- --ranks 0
rm -r "$work/a b"

behaviour 'an application that does not exist is noticed before the start'
launch 2 --job nothing -- "$work/no-such-program"
expect_exit 1
expect_stderr_has 'ranks 0-1 on' "cannot execute '$work/no-such-program'" 'nothing was started'

if make_denier; then
	LD_PRELOAD=$work/deny.so TEST_DENIED=$work/prof starts_nothing 1 'rank 1 on' 'Permission denied' \
		'nothing was started: the checks failed on 1 of 3 ranks' -- --ranks 0
else
	echo 'no C compiler, or a path that LD_PRELOAD cannot hold: the directory that one rank cannot write to is not tried'
fi

behaviour 'a directory that nobody can make is refused'
: >"$work/file"
run timeout -k 10 60 mpirun -q -n 2 "$collector" -o "$work/file/prof" -- true
expect_exit 1
expect_stderr_has "cannot make the directory '$work/file" 'nothing was started'

behaviour 'two jobs at the same time do not disturb each other'
# Each mpirun has a place of its own for its files: two that make one together fail now and then (session_dir.c).
launch_quietly() {
	mkdir -p "$mpi_files/$1"
	OMPI_MCA_orte_tmpdir_base=$mpi_files/$1 timeout -k 10 90 mpirun -q -n 2 "$collector" -q -o "$work/two" --ranks all --step-start 1 --step-end 3 -- \
		"${job[@]}" >"$work/stdout.$1" 2>"$work/stderr.$1"
}
launch_quietly 1 &
first=$!
launch_quietly 2 &
second=$!
for other in 1 2; do
	status=0
	wait "$((other == 1 ? first : second))" || status=$?
	cp "$work/stderr.$other" "$work/stderr" # what a failure shows
	expect_exit 0
done
expect_equal "$(find "$work/two" -maxdepth 1 -name 'job-*' | wc -l)" 2
expect_equal "$(find "$work/two" -maxdepth 2 -name '*_ascend_pt' | wc -l)" 4
expect_equal "$(find "$work/two" -name npuprof_manifest.json | wc -l)" 2

behaviour 'a job does not write into the directory of another'
launch 2 --job start -- "${job[@]}"
expect_exit 1
expect_stderr_has "'$work/prof/start' is there already"
expect_equal "$(each_rank start "r ->> 'state'")" 'raw raw failed raw'
expect_nothing_left
