# shellcheck shell=bash disable=SC2154
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

# left_running: the processes that still have to do with this test, after a moment
left_running() {
	local wait pid words left

	for wait in 1 2 3 4 5 6 7 8 9 10; do
		left=
		for pid in /proc/[0-9]*; do
			words=$(tr '\0' ' ' 2>/dev/null <"$pid/cmdline")$(tr '\0' ' ' 2>/dev/null <"$pid/environ")
			[[ $words != *"$work"* ]] || left="$left ${pid#/proc/}"
		done
		[[ -n $left ]] || break
		sleep "0.$wait"
	done
	echo "$left"
}

expect_nothing_left_running() {
	expect_equal "$(left_running)" ''
}
