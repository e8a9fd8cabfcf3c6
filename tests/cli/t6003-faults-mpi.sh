#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What happens in the middle of a run: slow files, processes and directories that go away, Ctrl-C.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program mpirun sqlite3 timeout script
[[ -e $NPUPROF_BUILD/libnpuprof_mpi-openmpi.so ]] || skip 'built without Open MPI'
slow=$NPUPROF_BUILD/libslow_files.so
[[ -e $slow ]] || skip 'built without the slow file system'
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
# Who fails is not waited for, and no network is looked for.
export OMPI_MCA_odls_base_sigkill_timeout=0 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader

"$synth" -q -o "$work/c" --ranks 4 --steps 2 --layers 2 --kernels-per-layer 4 --noise 0 || exit 1
cd "$work" || exit 1

# slowly <milliseconds> <part of a path> <command>...: files there are opened so late,
# or with "rename:" before the path renamed.
# A script, not a function: a signal to it reaches the command.
cat >slowly <<-END
	#!/bin/sh
	NP_TEST_SLOW_MS=\$1 NP_TEST_SLOW_PATH=\$2 LD_PRELOAD=$slow
	export NP_TEST_SLOW_MS NP_TEST_SLOW_PATH LD_PRELOAD
	shift 2
	exec "\$@"
END
chmod +x slowly

# gated <part of a path> <command>...: the first file there is opened when gate.<process id>,
# which is made before, has been removed
cat >gated <<-END
	#!/bin/sh
	NP_TEST_SLOW_GATE=$work/gate
	export NP_TEST_SLOW_GATE
	exec ./slowly 0 "\$@"
END
chmod +x gated

# dump <output directory>: the merged database as text
dump() {
	sqlite3 "$1/cluster_analysis_output/cluster_analysis.db" .dump
}

# only_results <output directory>: nothing that is half done stands there
only_results() {
	expect 'nothing is half done' test -z "$(find "$1" -name '*.tmp*' -o -name '*-journal')"
}

# within <seconds> <command>...: wait until the command succeeds
within() {
	local tries=$(($1 * 20))

	shift
	until "$@"; do
		((tries-- > 0)) || return 1
		sleep 0.05
	done
}

run "$npuprof" cluster c -f json -o old
expect_exit 0
cp stdout direct.json
before=$(dump old | sha256sum)

# old_is_there: the result of the run before has not changed
old_is_there() {
	expect 'the earlier result is still there' test "$(dump old | sha256sum)" = "$before"
	only_results old
}

behaviour 'a slow file system takes time and nothing else'
run ./slowly 5 /c/ timeout 60 "$npuprof" cluster c -f json -o slow
expect_exit 0
expect 'JSON is the same' cmp stdout direct.json
run ./slowly 5 /c/ timeout 60 mpirun -q -n 2 "$npuprof" cluster c -f json -o slow
expect_exit 0
expect 'JSON is the same' cmp stdout direct.json

behaviour 'two runs that are compared do not mix, however late one is'
"$synth" -q -o d --ranks 3 --steps 2 --layers 1 --kernels-per-layer 4 --noise 0 --format text || exit 1
run "$npuprof" compare d c -f json
cp stdout compared.json
run ./slowly 10 /d/ timeout 60 mpirun -q -n 2 "$npuprof" compare d c -f json -j 2
expect_exit 0
expect 'JSON is the same' cmp stdout compared.json

behaviour 'a terminal shows how far it is, and is left clean'
# shown <file>: the line of progress was drawn, and is gone at the end
shown() {
	expect 'ranks, speed and time are shown' grep -qE \
		'reading ranks [0-4]/4 \[#*\.*\] +[0-9]+ %  [0-9]+ MB/s  0:0[0-9] left' "$1"
	expect 'the line is taken away' grep -q $'\r\033\[K' "$1"
}
script -qec "stty cols 100; ./slowly 25 ASCEND_PROFILER_OUTPUT $npuprof cluster c -j 1 -o slow >screen" typed >/dev/null </dev/null
tr '\r' '\n' <typed | sed 's/^/\r/' >lines
shown lines
behaviour 'mpirun shows it on its own terminal'
script -qec "./slowly 40 ASCEND_PROFILER_OUTPUT mpirun -q -n 2 $npuprof cluster c -j 1 -o slow >screen" typed >/dev/null </dev/null
tr '\r' '\n' <typed | sed 's/^/\r/' >lines
shown lines
behaviour 'it is not shown to files, nor where quiet was asked for'
run ./slowly 20 ASCEND_PROFILER_OUTPUT "$npuprof" cluster c -j 1 -o slow
expect_no_stderr
script -qec "./slowly 20 ASCEND_PROFILER_OUTPUT $npuprof cluster c -q -j 1 -o slow >screen" typed >/dev/null </dev/null
expect 'nothing is drawn' sh -c '! grep -q reading typed'

behaviour 'Ctrl-C while ranks are read leaves the old result'
run ./slowly 100 ASCEND_PROFILER_OUTPUT timeout -s INT --preserve-status 0.7 "$npuprof" cluster c -j 1 -o old
expect_exit 130
old_is_there

behaviour 'Ctrl-C while the result is written leaves the old one, and no half of the new'
./slowly 20000 rename:cluster_analysis.db "$npuprof" cluster c -o old >/dev/null 2>&1 &
child=$!
expect 'it began to write' within 20 sh -c 'ls old/cluster_analysis_output/*.tmp* >/dev/null 2>&1'
# A shell lets what it starts in the background ignore the signal of Ctrl-C.
kill -TERM "$child"
wait "$child"
status=$?
expect_exit 143
old_is_there

behaviour 'a process that is killed in the middle ends all of them, and leaves the old result'
./gated ASCEND_PROFILER_OUTPUT timeout -k 5 60 mpirun -q -n 2 "$npuprof" cluster c -j 1 -o old \
	>stdout 2>stderr &
launcher=$!
# second: the id of the second process, which does not lead
second() {
	local id

	for id in $(pgrep -f "$npuprof cluster c -j 1 -o old"); do
		tr '\0' '\n' <"/proc/$id/environ" 2>/dev/null | grep -qx OMPI_COMM_WORLD_RANK=1 || continue
		[[ $(readlink "/proc/$id/exe") == "$(readlink -f "$npuprof")" ]] && echo "$id" && return
	done
	return 1
}
# reads: the second process has begun to read a rank
reads() {
	id=$(second) && [[ -d gate.$id ]]
}
expect 'the second process reads' within 30 reads
kill -KILL "$id"
wait "$launcher"
status=$? command='mpirun … npuprof cluster, killed '
expect 'the status is that of a failure' test "$status" -ne 0 -a "$status" -ne 124
old_is_there
rm -rf gate.*

behaviour 'a rank whose directory disappears while others are read is listed, and costs itself'
for processes in 1 2; do
	rank=$(dirname "$(dirname "$(ls c/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db)")")
	start=()
	((processes == 1)) || start=(mpirun -q -n "$processes")
	./gated ascend_pytorch_profiler_3.db timeout -k 5 60 "${start[@]}" "$npuprof" cluster c -j 1 -f json \
		-o gone$processes >stdout 2>stderr &
	child=$!
	# Its files were found, and are about to be opened.
	expect 'ranks are read' within 30 compgen -G 'gate.*' >/dev/null
	mv "$rank" hidden
	rm -rf gate.*
	wait "$child"
	status=$? command='npuprof cluster, with a rank taken away '
	mv hidden "$rank"
	expect_exit 3
	expect_equal "$(sqlite3 :memory: "SELECT readfile('stdout') ->> '\$.input.ranks_used',
		readfile('stdout') ->> '\$.input.skipped[0].rank'")" '3|3'
done

# scarce <process> <messages>: memory suffices for so many messages to this one of three processes
scarce() {
	run timeout -k 5 60 mpirun -q -n 3 -x LD_PRELOAD="$NPUPROF_BUILD/libscarce_memory.so" \
		-x NP_TEST_MOST_BYTES=1 -x NP_TEST_PROCESS="$1" -x NP_TEST_MESSAGES="$2" \
		"$npuprof" cluster c -m cann_api_sum -o slow
	# What mpirun's own library of events says when all processes end at once is not ours.
	sed -i '/^\[warn\] Epoll /d' stderr
}

behaviour 'a message that memory does not suffice for ends all processes, with one line'
# Of ranks, and of their details: those come behind the two ranks of the other processes.
for messages in 0 1 2 3; do
	scarce 0 $messages
	expect_exit 1
	expect_equal "$(cat stderr)" 'npuprof: out of memory for a message'
	only_results slow
done

behaviour 'so does an order that another has no memory for: the first process tells of it'
# To load ranks, and to read their details.
for messages in 0 1; do
	scarce 2 $messages
	expect_exit 1
	expect_equal "$(cat stderr)" 'npuprof: process 2: out of memory for a message'
	only_results slow
done

behaviour 'a damaged summary is made again, by whichever process finds it'
"$npuprof" cluster c -q -o old --cache cache >/dev/null
for summary in cache/rank*.npsum; do
	printf x | dd of="$summary" bs=1 seek=200 conv=notrunc status=none
done
run timeout -k 5 60 mpirun -q -n 2 "$npuprof" cluster c -o slow --cache cache
expect_exit 0
expect_equal "$(grep -o 'checksum' stdout | wc -l)" 4
run timeout -k 5 60 mpirun -q -n 2 "$npuprof" cluster c -f json -o slow --cache cache
expect 'JSON is the same' cmp stdout direct.json
