#!/usr/bin/env bash
# What goes wrong with MPI programs and with ranks that somebody else starts: bounded,
# no orphan, data kept, the documented status.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"

# The job of most tests: a second and more, of which steps can be profiled.
steps=(-q --steps 30 --layers 2)
forever=(-q --steps 100000 --layers 2)

if [[ -x $train-mpi ]]; then
	mpi=("$train-mpi" --mpi)

	behaviour 'helper: an application that crashes ends the job with its status, and the data is kept'
	launch 4 --job crash --ranks all --step-start 1 --grace 15 -- "${mpi[@]}" "${steps[@]}" --crash-rank 2 --crash-step 4
	expect_equal "$status" "$(manifest crash '$.ranks[2].exit')"
	expect 'the status is not 0' test "$status" -ne 0
	expect_stderr_has "the application of rank 2 ended with status $status; ending the others"
	expect_equal "$(each_rank crash "r ->> 'state'")" 'raw raw raw raw'
	expect_equal "$(complete crash)" 3
	expect_nothing_left

	behaviour 'helper: SIGTERM to mpirun ends the job, and the data is kept'
	mpirun -q -n 4 "$collector" -o "$work/prof" --job term --ranks all --step-start 1 --grace 15 -- \
		"${mpi[@]}" "${forever[@]}" >"$work/stdout" 2>"$work/stderr" &
	pid=$!
	expect 'it never began' await 30 profiles term 4
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	expect 'the status is not 0' test "$status" -ne 0
	expect_stderr_has 'ending the job: Terminated'
	expect_nothing_left
	expect_equal "$(complete term)" 4

	behaviour 'launchers on several hosts find each other through MPI: before the application where PMIx can, else in it'
	mode=inapp
	case $(mpirun -q -n 1 printenv PMIX_VERSION) in
	4.[2-9]* | [5-9].*) mode=helper ;;
	esac
	run timeout -k 10 90 mpirun -q -n 4 env OMPI_COMM_WORLD_LOCAL_SIZE=2 "$collector" -o "$work/prof" --job stage --ranks all \
		--step-start 2 --step-end 4 -- "${mpi[@]}" "${steps[@]}"
	expect_exit 0
	expect_stderr_has "coordination: $mode (" 'profiles of 4 of 4 ranks'
	expect_nothing_left
	run timeout -k 10 60 mpirun -q -n 2 env OMPI_COMM_WORLD_LOCAL_SIZE=1 PMIX_VERSION=4.0.0 "$collector" --dry-run -o "$work/prof" -- "${mpi[@]}"
	expect_stderr_has 'coordination: inapp (the application is linked with MPI, and PMIx before 4.2 serves one program of a rank only)'

	behaviour 'helper: a launcher that is killed leaves no application behind'
	mpirun -q -n 2 "$collector" -o "$work/prof" --job killed --ranks all --step-start 1 --grace 2 -- \
		"${mpi[@]}" "${forever[@]}" >"$work/stdout" 2>"$work/stderr" &
	pid=$!
	expect 'it never began' await 30 profiles killed 2
	kill -KILL "$(pgrep -o -f "^$collector.*$work.*--job killed")"
	status=0
	wait "$pid" || status=$?
	expect 'the status is not 0' test "$status" -ne 0
	expect_nothing_left

	behaviour 'helper: a profiler that fails on one rank fails that rank only: status 3'
	NPUSIM_FAIL=aclprofStart:rank2:500005 launch 4 --job start --ranks all --step-start 1 --step-end 3 -- \
		"${mpi[@]}" "${steps[@]}"
	expect_exit 3
	expect_equal "$(each_rank start "r ->> 'state'")" 'raw raw failed raw'

	behaviour 'helper: a disk that is full, an application that profiles itself: the profile fails and not the job'
	NPUSIM_ENOSPC_AFTER=2000 launch 2 --job full --ranks all --step-start 1 --step-end 6 -- "${mpi[@]}" "${steps[@]}"
	expect_exit 3
	expect_stderr_has 'rank 0: ' 'rank 1: '
	expect_equal "$(each_rank full "r ->> 'exit'")" '0 0'
	launch 2 --job self --ranks all --step-start 1 --step-end 3 -- "${mpi[@]}" "${steps[@]}" --self-profile "$work/self"
	expect_exit 3
	expect_stderr_has 'the application profiles itself'
	expect_nothing_left

	behaviour 'helper: what is found before the start starts nothing anywhere'
	LD_LIBRARY_PATH=/nowhere launch 2 --job nothing --backend acl --ranks 0 --coord helper -- sh -c ": >'$work/started'"
	expect_exit 1
	expect_stderr_has 'rank 0 on' 'AscendCL cannot be used' 'nothing was started: the checks failed on 1 of 2 ranks'
	if make_denier; then
		LD_PRELOAD=$work/deny.so TEST_DENIED=$work/prof launch 2 --job nothing --coord helper -- sh -c ": >'$work/started'"
		expect_exit 1
		expect_stderr_has 'rank 1 on' 'Permission denied' 'nothing was started: the checks failed on 1 of 2 ranks'
	else
		echo 'no C compiler, or a path that LD_PRELOAD cannot hold: the directory that one rank cannot write to is not tried'
	fi
	expect 'the application was started' test ! -e "$work/started"
	expect 'the directory of the job was left' test ! -e "$work/prof/nothing"

	behaviour 'helper: two jobs at the same time do not disturb each other'
	pids=()
	for other in 1 2; do
		# Two that make one directory for mpirun's files together fail now and then (session_dir.c).
		mkdir -p "$mpi_files/$other"
		OMPI_MCA_orte_tmpdir_base=$mpi_files/$other timeout -k 10 90 mpirun -q -n 2 "$collector" -q -o "$work/two" --ranks all --step-start 1 --step-end 3 -- \
			"${mpi[@]}" "${steps[@]}" >"$work/stdout.$other" 2>"$work/stderr.$other" &
		pids[other]=$!
	done
	for other in 1 2; do
		status=0
		wait "${pids[other]}" || status=$?
		cp "$work/stderr.$other" "$work/stderr" # what a failure shows
		expect_exit 0
	done
	expect_equal "$(find "$work/two" -name npuprof_manifest.json | wc -l)" 2
	expect_equal "$(find "$work/two" -path '*/host/end_info' | wc -l)" 4
	expect_nothing_left

	behaviour 'inapp: an application that crashes ends the job, and the data is kept'
	launch 4 --job incrash --coord inapp --ranks all --step-start 1 --grace 15 -- \
		"${mpi[@]}" "${steps[@]}" --crash-rank 2 --crash-step 4
	expect 'the status is not 0' test "$status" -ne 0
	expect_nothing_left
	expect 'profiles are closed' test "$(complete incrash)" -ge 3

	behaviour 'a stage with MPI that never ends is given up, and the agreement is made in the application'
	cat >"$work/hang.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* MPI_Init of the helper process never returns. */
int MPI_Init(int *argc, char ***argv)
{
	int (*real)(int *, char ***) = (int (*)(int *, char ***))dlsym(RTLD_NEXT, "MPI_Init");
	char words[256] = "";
	FILE *file = fopen("/proc/self/cmdline", "r");
	size_t got = file ? fread(words, 1, sizeof(words) - 1, file) : 0;

	while (memmem(words, got, "--stage=pre", 11))
		pause();
	return real(argc, argv);
}
C
	if can_preload && ${CC:-cc} -shared -fPIC -o "$work/hang.so" "$work/hang.c" -ldl 2>"$work/stderr"; then
		# A launcher that is not alone with all others on its host has to learn through MPI where the first one is.
		run timeout -k 10 90 mpirun -q -n 2 -x LD_PRELOAD="$work/hang.so" env OMPI_COMM_WORLD_LOCAL_SIZE=1 "$collector" \
			-o "$work/prof" --job hang --coord helper --rdzv-timeout 2 --ranks all --step-start 2 --step-end 4 -- "${mpi[@]}" "${steps[@]}"
		expect_exit 0
		expect_stderr_has 'coordination: inapp (the stage before the application failed or took longer than 2 s)'
		expect_equal "$(manifest hang '$.windows[0].ranks')" '[0,1]'
		expect_nothing_left
	else
		echo 'no C compiler, or a path that LD_PRELOAD cannot hold: a stage that never ends is not tried'
	fi

	behaviour 'inapp: an application that never calls MPI_Init is a failure, and bounded'
	launch 2 --job noinit --coord inapp --ranks all --step-start 2 --step-end 4 -- "$train" "${steps[@]}"
	expect 'the status is not 0' test "$status" -ne 0
	expect_stderr_has 'the application ended without MPI_Init'
	expect_nothing_left
else
	echo 'npu-train-demo-mpi was not built: applications with MPI are not tried'
fi

job=("$train" "${steps[@]}")

behaviour 'tcp: a rank that crashes ends the job on both nodes, and the data is kept'
nodes tcrash --ranks all --step-start 1 --grace 15 -- "${job[@]}" --crash-rank 2 --crash-step 4
both_end
expect 'the status is not 0' test "$status" -ne 0
expect_equal "$status1" "$status"
expect_stderr_has 'the application of node 1 ended with status'
expect_equal "$(each_rank tcrash "r ->> 'first_step'")" '1 1 1 1'
expect_nothing_left

behaviour 'tcp: SIGTERM to one launcher ends the job on both nodes'
nodes tterm --ranks all --step-start 1 --grace 15 -- "$train" "${forever[@]}"
expect 'it never began' await 30 profiles tterm 4
kill -TERM "$(pgrep -o -f "^$collector.*$work.*--job tterm .*--node-rank 1")"
both_end
expect 'the status is not 0' test "$status" -ne 0
expect_stderr_has 'ending the job: Terminated'
expect_equal "$(complete tterm)" 4
expect_nothing_left

for victim in 0 1; do
	behaviour "tcp: the launcher of node $victim is killed, and the other notices and ends"
	nodes "tkill$victim" --ranks all --step-start 1 --grace 15 -- "$train" "${forever[@]}"
	expect 'it never began' await 30 profiles "tkill$victim" 4
	kill -KILL "$(pgrep -o -f "^$collector.*$work.*--job tkill$victim .*--node-rank $victim")"
	both_end
	expect 'the status is not 0' test "$status" -ne 0
	expect 'nor that of the other' test "$status1" -ne 0
	expect 'it is said' grep -qE 'connection to (the launcher of node 1|launcher 0) is lost' "$work/stderr.$((1 - victim))"
	expect_nothing_left
	expect 'profiles are closed' test "$(complete "tkill$victim")" -eq 4
done

behaviour 'tcp: a profiler that fails on one rank, a full disk, an application that profiles itself: status 3'
NPUSIM_FAIL=aclprofStart:rank2:500005 nodes tstart --ranks all --step-start 1 --step-end 3 -- "${job[@]}"
both_end
expect_exit 3
expect_equal "$(each_rank tstart "r ->> 'state'")" 'raw raw failed raw'
NPUSIM_ENOSPC_AFTER=2000 nodes tfull --ranks all --step-start 1 --step-end 6 -- "${job[@]}"
both_end
expect_exit 3
nodes tself --ranks all --step-start 1 --step-end 3 -- "${job[@]}" --self-profile "$work/self"
both_end
expect_exit 3
expect 'it is said' grep -q 'the application profiles itself' "$work/stderr.0" "$work/stderr.1"
expect_nothing_left

behaviour 'tcp: a rendezvous that never completes'
run timeout -k 5 30 "$collector" -o "$work/prof" --job alone --rdzv "127.0.0.1:$(free_port)" --nnodes 2 --node-rank 0 \
	--rdzv-timeout 2 -- sh -c ": >'$work/started'"
expect_exit 1
expect_stderr_has '1 of 2 launchers did not come within 2 s, the first of them is launcher 1'
expect 'the secret of a job that did not begin is left' test ! -e "$work/prof/.npuprof-secret-alone"
run timeout -k 5 30 "$collector" -o "$work/prof" --job alone --rdzv "127.0.0.1:$(free_port)" --nnodes 2 --node-rank 1 \
	--rdzv-timeout 1 -- sh -c ": >'$work/started'"
expect_exit 1
expect_stderr_has "launcher 0 has left no secret in '$work/prof/.npuprof-secret-alone' within 1 s" 'give NPUPROF_TOKEN'
NPUPROF_TOKEN=0123456789abcdef run timeout -k 5 30 "$collector" -o "$work/prof" --job alone \
	--rdzv "127.0.0.1:$(free_port)" --nnodes 2 --node-rank 1 --rdzv-timeout 2 -- sh -c ": >'$work/started'"
expect_exit 1
expect_stderr_has 'launcher 1 does not reach launcher 0 at 127.0.0.1 port' 'within 2 s'
expect 'the application was started' test ! -e "$work/started"
expect 'a directory was left' test ! -e "$work/prof/alone"

behaviour 'tcp: nobody joins without the secret, or with another one'
run timeout -k 5 30 "$collector" -o "$work/prof" --rdzv "127.0.0.1:$(free_port)" --nnodes 2 --node-rank 0 -- true
expect_exit 2
expect_stderr_has 'launchers on several nodes need a secret' 'NPUPROF_TOKEN' '--save-path'
NPUPROF_TOKEN=short run timeout -k 5 30 "$collector" -o "$work/prof" --job other --rdzv "127.0.0.1:$(free_port)" \
	--nnodes 2 --node-rank 0 -- true
expect_exit 2
expect_stderr_has 'less than 16 characters'
port=$(free_port)
for node in 0 1; do
	env NPUPROF_TOKEN="0123456789abcdef$node" timeout -k 5 30 "$collector" -o "$work/prof" --job other \
		--rdzv "127.0.0.1:$port" --nnodes 2 --node-rank $node --rdzv-timeout 3 -- sh -c ": >'$work/started'" \
		>"$work/stdout.$node" 2>"$work/stderr.$node" &
	node_pids[node]=$!
done
both_end
expect_exit 1
expect_equal "$status1" 1
expect 'the application was started' test ! -e "$work/started"

behaviour 'tcp: launcher 0 listens on the address of --rdzv, and the secret is on no command line'
port=$(free_port)
timeout -k 5 30 "$collector" -o "$work/prof" --job address --rdzv "127.0.0.1:$port" --nnodes 2 --node-rank 0 \
	--rdzv-timeout 20 -- true >"$work/stdout.0" 2>"$work/stderr.0" &
listening=$!
hexport=$(printf '%04X' "$port")
for ((i = 0; i < 400; i++)); do
	grep -q ":$hexport .* 0A " /proc/net/tcp && break
	sleep 0.05
done
expect 'it listens on one address' grep -q "0100007F:$hexport 00000000:0000 0A" /proc/net/tcp
expect 'not on all' test "$(grep -c "00000000:$hexport 00000000:0000 0A" /proc/net/tcp)" = 0
expect_equal "$(stat -c %a "$work/prof/.npuprof-secret-address")" 600
expect 'the secret is not on the command line' \
	test "$(tr '\0' '\n' <"/proc/$listening/cmdline" | grep -cFf "$work/prof/.npuprof-secret-address")" = 0
kill "$listening"
wait "$listening" || true
expect 'one that is told to end says so' grep -q 'told to end while launchers were coming together' "$work/stderr.0"
expect 'and leaves no secret' test ! -e "$work/prof/.npuprof-secret-address"

behaviour 'tcp: wrong options'
run "$collector" --rdzv nowhere --nnodes 2 --node-rank 0 -- true
expect_exit 2
expect_stderr_has "'nowhere' is no HOST:PORT"
run "$collector" --rdzv h:1 --node-rank 0 -- true
expect_exit 2
expect_stderr_has '--rdzv needs --nnodes'
run "$collector" --nnodes 2 -- true
expect_exit 2
expect_stderr_has 'several nodes need --rdzv'
run "$collector" --coord helper -- true
expect_exit 2
expect_stderr_has 'is for launchers under mpirun'
run "$collector" --delay 3 -- true
expect_exit 2
expect_stderr_has 'use --step-source time'

behaviour 'tcp: a worker that dies before it registers is told from those that did'
# The others have registered when they wait for rank 3 in a communicator.
cat >"$work/early" <<SH
#!/bin/bash
[[ \$RANK == 3 ]] || exec "$train" -q --steps 40 --layers 2
for _ in {1..300}; do
	waiting=0
	for pid in \$(grep -ls /dev/shm/npusim. /proc/[0-9]*/maps | cut -d / -f 3); do
		! grep -qsF "$work" "/proc/\$pid/environ" || waiting=\$((waiting + 1))
	done
	((waiting < 3)) || break
	sleep 0.1
done
exit 5
SH
chmod +x "$work/early"
nodes tearly --ranks all --step-start 1 --grace 3 -- "$work/early"
both_end
expect 'the status is not 0' test "$status" -ne 0
expect_stderr_has 'rank 3: the application never used an NPU' 'rank 2: the application marks no steps'
# The communicator that rank 3 never joined: its memory is named after the process that made it.
for segment in /dev/shm/npusim.*; do
	in_use "$segment" || rm -f "$segment"
done
expect_nothing_left

behaviour 'tcp: no rank at all uses an NPU'
run timeout -k 10 60 "$collector" -o "$work/prof" --job cpu --nnodes 1 -- true
expect_exit 3
expect_stderr_has 'no rank of the application used an NPU'

# refused <message>: a launcher of two nodes each, of which $denied is refused what it needs
refused() {
	local port node

	behaviour "tcp: what fails on one node starts nothing anywhere: $1"
	port=$(free_port)
	for node in 0 1; do
		((node == denied)) && own=("${variables[@]}") || own=()
		env TEST_RANK=$node "${own[@]}" timeout -k 5 30 "$collector" -o "$work/prof" --job refused --backend acl \
			--rdzv "127.0.0.1:$port" --nnodes 2 --node-rank $node -- sh -c ": >'$work/started'" \
			>"$work/stdout.$node" 2>"$work/stderr.$node" &
		node_pids[node]=$!
	done
	both_end
	expect_exit 1
	expect_equal "$status1" 1
	expect_stderr_has "$1" 'nothing was started'
	expect 'the application was started' test ! -e "$work/started"
	expect 'the directory of the job was left' test ! -e "$work/prof/refused"
}
denied=1 variables=(PROFILING_MODE=dynamic)
refused 'PROFILING_MODE is set'
denied=0 variables=(LD_LIBRARY_PATH=/nowhere)
refused 'AscendCL cannot be used'
if make_denier; then
	denied=1 variables=(LD_PRELOAD="$work/deny.so" TEST_DENIED="$work/prof")
	refused 'Permission denied'
else
	echo 'no C compiler, or a path that LD_PRELOAD cannot hold: the directory that one node cannot write to is not tried'
fi

behaviour 'tcp: two jobs at the same time do not disturb each other'
nodes first --ranks all --step-start 1 --step-end 3 -- "${job[@]}"
first=("${node_pids[@]}")
nodes second --ranks all --step-start 1 --step-end 3 -- "${job[@]}"
both_end
expect_exit 0
for pid in "${first[@]}"; do
	status=0
	wait "$pid" || status=$?
	expect_exit 0
done
expect_equal "$(each_rank first "r ->> 'state'")|$(each_rank second "r ->> 'state'")" 'raw raw raw raw|raw raw raw raw'
expect_nothing_left
