#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What can happen to a host in the middle of a job, under our library and under msprof: mpirun is killed, the clock is set, files hang, the
# disk fills up, memory runs out. Bounded, said, and what was complete is kept.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"
can_preload || skip 'a path that LD_PRELOAD cannot hold'
odd=$NPUPROF_BUILD/libodd_host.so

# begin <job> <variable=value or option>... -- <application>: a job of two ranks that goes on until it is ended, and has begun to profile
begin() {
	local job=$1 words=()

	shift
	while [[ $1 == *=* && $1 != -* ]]; do
		words+=("$1")
		shift
	done
	# Of the job before also the step at which its ranks agreed to end.
	rm -f "$work/sign" "$work/end" "$work/end.last"
	env "${words[@]}" NP_TEST_ODD_SIGN="$work/sign" timeout -k 10 90 mpirun -q -n 2 "$collector" -o "$work/prof" --job "$job" \
		--ranks all --grace 8 "$@" >"$work/stdout" 2>"$work/stderr" &
	pid=$!
	expect "$job never began" await 80 profiles "$job" 2
}

# both_say <text>: has each launcher said it?
both_say() {
	[[ $(grep -c "$1" "$work/stderr") -ge 2 ]]
}

# end: it ends by itself
end() {
	: >"$work/end"
	status=0
	wait "$pid" || status=$?
}
until=(-q --steps 100000 --until "$work/end" --layers 2 --data-ms 5)

for backend in acl msprof; do
	options=(--backend "$backend" --step-start 1)
	application=("$train" "${until[@]}")
	case $backend in
	msprof) options=(--backend msprof) ;;
	esac

	behaviour "$backend: mpirun is killed: nobody is left behind, and what was recorded is kept"
	begin "kill-$backend" "${options[@]}" -- "${application[@]}"
	kill -KILL "$(pgrep -P "$pid" -x mpirun)"
	wait "$pid" 2>/dev/null
	expect_nothing_left_running
	expect_equal "$(find "$work/prof/kill-$backend" -name 'PROF_*' -type d | wc -l)" 2

	behaviour "$backend: an application that crashes inside the window ends the job with its status"
	begin "crash-$backend" "${options[@]}" -- sh -c "trap '' TERM; ${application[*]} & app=\$!; wait \$app; exit 9"
	: >"$work/end"
	status=0
	wait "$pid" || status=$?
	expect 'the status is that of the application' test "$status" -eq 9
	expect_nothing_left_running

	behaviour "$backend: the clock is set by an hour inside the window: it is said, and the job ends"
	begin "clock-$backend" LD_PRELOAD="$odd" NP_TEST_ODD_CLOCK=3600 NP_TEST_ODD_PROGRAM=npuprof-collect "${options[@]}" -- "${application[@]}"
	: >"$work/sign"
	# Each of the two says it: who has not looked yet would not know it when the job ends.
	expect 'it was not noticed' await 20 both_say 'was set by'
	end
	expect_exit 3
	expect_equal "$(each_rank "clock-$backend" "r ->> 'exit'")" '0 0'
	expect_equal "$(each_rank "clock-$backend" "(r ->> 'reason') LIKE '%was set by +3600 s inside the window%'")" '1 1'
	expect_nothing_left_running

	behaviour "$backend: files that hang delay the end and cost nothing"
	begin "hang-$backend" LD_PRELOAD="$odd" NP_TEST_ODD_HANG=1500 NP_TEST_ODD_PROGRAM=npuprof-collect "${options[@]}" -- "${application[@]}"
	: >"$work/sign"
	end
	expect_exit 0
	expect_equal "$(each_rank "hang-$backend" "r ->> 'state'")" 'raw raw'

	behaviour "$backend: a disk that is full for the launcher costs the manifest, which is said, and not the data"
	begin "full-$backend" LD_PRELOAD="$odd" NP_TEST_ODD_FULL=1 NP_TEST_ODD_PROGRAM=npuprof-collect "${options[@]}" -- "${application[@]}"
	: >"$work/sign"
	end
	expect 'the status is not 0' test "$status" -ne 0
	expect_stderr_has 'No space left on device'
	expect_equal "$(find "$work/prof/full-$backend" -name 'PROF_*' -type d | wc -l)" 2

	behaviour "$backend: a launcher without memory ends, with a message, and its application with it"
	begin "memory-$backend" LD_PRELOAD="$odd" NP_TEST_ODD_MEMORY=1 NP_TEST_ODD_PROGRAM=npuprof-collect "${options[@]}" -- "${application[@]}"
	: >"$work/sign"
	end
	expect_nothing_left_running
	expect_equal "$(find "$work/prof/memory-$backend" -name 'PROF_*' -type d | wc -l)" 2
done
