# shellcheck shell=bash disable=SC2154,SC2034
# For tests of npuprof-collect, after lib.sh: Open MPI, the stand-in NPU and the
# demo job. Every run is bounded: a collector that hangs fails the test.
need_program mpirun sqlite3 timeout
[[ -x $NPUPROF_BUILD/npuprof-collect ]] || skip 'built without Open MPI'

collector=$NPUPROF_BUILD/npuprof-collect
train=$NPUPROF_BUILD/npu-train-demo
export collector train
# Containers run tests as root, and machines have fewer processors than tests have ranks.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_orte_base_help_aggregate=0
export LD_LIBRARY_PATH=$NPUPROF_BUILD/npusim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$NPUPROF_BUILD/sim/bin:$PATH
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT RANK_ID PROFILING_MODE PROFILER_SAMPLECONFIG

# launch <ranks> <option or application>...: collect below $work/prof
launch() {
	local ranks=$1

	shift
	run timeout -k 10 90 mpirun -q -n "$ranks" "$collector" -o "$work/prof" "$@"
}

# manifest <job> <JSON path>: a value of its manifest
manifest() {
	sqlite3 :memory: "SELECT readfile('$work/prof/$1/npuprof_manifest.json') ->> '$2'"
}

# each_rank <job> <expression over "r">: its value for every rank, in one line
each_rank() {
	sqlite3 :memory: "SELECT group_concat($2, ' ') FROM (SELECT value AS r
		FROM json_each(readfile('$work/prof/$1/npuprof_manifest.json'), '\$.ranks'))"
}

# left_running: the processes that still have to do with this test when their time is over: the
# guard of a launcher that was killed lets a profile be saved for half the grace time, and no
# test gives more than 15 s
left_running() {
	local end=$((SECONDS + 30)) files left

	while :; do
		# Listed before grep starts, which has the name of the directory in its own.
		files=(/proc/[0-9]*/cmdline /proc/[0-9]*/environ)
		left=$(grep -lsF -e "$work" "${files[@]}")
		[[ -n $left && $SECONDS -lt $end ]] || break
		sleep 0.2
	done
	echo "$left"
}

expect_nothing_left_running() {
	expect_equal "$(left_running)" ''
}

# in_use <file in memory>: does a process that runs have it, or has it made it?
in_use() {
	local maker=${1#/dev/shm/npusim.}

	if [[ $maker != "$1" ]] && kill -0 "${maker%%.*}" 2>/dev/null; then
		return
	fi
	grep -qsF "$1" /proc/[0-9]*/maps
}

# left_behind: shared memory of jobs that are gone, temporary files of MPI of this test; after a
# moment for what other tests are just opening
left_behind() {
	local try file left

	for try in {1..9}; do
		left=$(
			for file in /dev/shm/npusim.* /dev/shm/DynamicProfileNpuShm*; do
				[[ ! -e $file || $shm_before == *"$file "* ]] || in_use "$file" || echo "$file"
			done
			[[ -z ${mpi_files:-} ]] || find "$mpi_files" -mindepth 2 2>/dev/null
		)
		[[ -n $left ]] || break
		sleep "0.$try"
	done
	echo "$left"
}

# expect_nothing_left: neither processes nor what they made outside of their directory
expect_nothing_left() {
	expect_nothing_left_running
	expect_equal "$(left_behind)" ''
}

# What was there before is not of this test.
shm_before=$(printf '%s ' /dev/shm/*)
# Open MPI's own files, where what stays behind can be seen.
mpi_files=$work/mpi
mkdir "$mpi_files"
export OMPI_MCA_orte_tmpdir_base=$mpi_files

# A stand-in for torchrun: torchrun <node> <ranks per node> <world> <port> <command>...
# starts the workers of a node, and ends all when one fails.
cat >"$work/torchrun" <<'SH'
#!/usr/bin/env bash
node=$1 each=$2 world=$3 port=$4
shift 4
pids=()
for ((i = 0; i < each; i++)); do
	RANK=$((node * each + i)) LOCAL_RANK=$i WORLD_SIZE=$world LOCAL_WORLD_SIZE=$each \
		MASTER_ADDR=${MASTER_ADDR:-127.0.0.1} MASTER_PORT=$port "$@" &
	pids+=($!)
done
trap 'kill "${pids[@]}" 2>/dev/null' TERM
for ((i = 0; i < each; i++)); do
	wait -n || {
		status=$?
		kill "${pids[@]}" 2>/dev/null
		wait
		exit "$status"
	}
done
SH
chmod +x "$work/torchrun"

# free_port: a TCP port nobody listens on now, and below those that systems give to whoever asks for any
free_port() {
	local port

	for _ in {1..50}; do
		port=$((12000 + RANDOM % 20000))
		(: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}

# await <seconds> <command>...: until it succeeds
await() {
	local end=$((SECONDS + $1))

	shift
	while ((SECONDS < end)); do
		"$@" 2>/dev/null && return
		sleep 0.1
	done
	return 1
}

# profiles <job> <count>: do so many ranks have a profile with steps in it? Its directory alone would be too early:
# the launcher does not know of it yet. What torch_npu was asked for to learn the step is left out.
profiles() {
	(($(find "$work/prof/$1" -name .torch -prune -o -path '*_ascend_pt/*/device_*/data/*' -size +100k -print 2>/dev/null |
		grep -o '.*_ascend_pt/' | sort -u | wc -l) == $2))
}

# complete <job>: how many collections were ended as they should
complete() {
	find "$work/prof/$1" -path '*/host/end_info' | wc -l
}

# ctl <argument>...: npuprof ctl, of the job $name
ctl() {
	run timeout -k 5 90 "$npuprof" ctl "$@" -d "$work/prof/$name"
}

# runs: is the job training?
runs() {
	timeout 20 "$npuprof" ctl status -d "$work/prof/$name" | grep -qE 'steps? [0-9]'
}

# is_open: has a window of the job begun?
is_open() {
	timeout 20 "$npuprof" ctl status -d "$work/prof/$name" | grep -q 'one is open'
}

# is_over: does the launcher know that the window is closed? Its files are complete a moment earlier.
is_over() {
	! is_open
}

# next_window <option>...: ask for one when the launchers of all ranks know that the last one is closed
next_window() {
	await 30 taken "$@"
}

taken() {
	ctl start "$@"
	! grep -qE 'a window is open|planned already, or ending' "$work/stderr"
}

# nodes <job> <option>... -- <command>...: two launchers without mpirun, two ranks on each
nodes() {
	local job=$1 options=() port rdzv

	shift
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	port=$(free_port)
	rdzv=$(free_port)
	((rdzv != port)) || rdzv=$((port + 1))
	node_pids=()
	for node in 0 1; do
		# The simulated host of a launcher is that of its first rank.
		SLURM_PROCID=$((2 * node)) timeout -k 10 90 "$collector" -o "$work/prof" --job "$job" \
			--rdzv "127.0.0.1:$rdzv" --nnodes 2 --node-rank "$node" "${options[@]}" -- \
			"$work/torchrun" "$node" 2 4 "$port" "$@" >"$work/stdout.$node" 2>"$work/stderr.$node" </dev/null &
		node_pids+=($!)
	done
}

# both_end: wait for the launchers of nodes(); $status is that of the first, $status1 of the second
both_end() {
	status=0 status1=0
	wait "${node_pids[0]}" || status=$?
	wait "${node_pids[1]}" || status1=$?
	cp "$work/stdout.0" "$work/stdout"
	cp "$work/stderr.0" "$work/stderr"
}

# can_preload: the loader takes blanks and colons in LD_PRELOAD for the end of a name
can_preload() {
	[[ $work != *[[:blank:]:]* ]]
}

# make_denier: $work/deny.so, a C library in which launcher 1 cannot write below $TEST_DENIED, as
# root may write everywhere; false without a compiler. Without MPI, TEST_RANK says who it is.
make_denier() {
	can_preload || return
	cat >"$work/deny.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	const char *rank = getenv(getenv("TEST_RANK") ? "TEST_RANK" : "OMPI_COMM_WORLD_RANK");
	const char *denied = getenv("TEST_DENIED");
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if (rank && denied && strcmp(rank, "1") == 0 && (flags & O_CREAT) &&
	    strncmp(path, denied, strlen(denied)) == 0) {
		errno = EACCES;
		return -1;
	}
	return real(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	int (*real)(int, const char *, int, ...) = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
	const char *rank = getenv(getenv("TEST_RANK") ? "TEST_RANK" : "OMPI_COMM_WORLD_RANK");
	const char *denied = getenv("TEST_DENIED");
	char link[64], place[4096];
	ssize_t length;
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	length = readlink(link, place, sizeof(place) - 1);
	place[length > 0 ? length : 0] = 0;
	if (rank && denied && strcmp(rank, "1") == 0 && (flags & O_CREAT) && strncmp(place, denied, strlen(denied)) == 0) {
		errno = EACCES;
		return -1;
	}
	return real(dir, path, flags, mode);
}
C
	${CC:-cc} -shared -fPIC -o "$work/deny.so" "$work/deny.c" -ldl 2>"$work/stderr"
}
