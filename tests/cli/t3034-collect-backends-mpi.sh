#!/usr/bin/env bash
# Other profilers than our own library: torch_npu's dynamic_profile, asked through its
# file, and msprof, around the application or attached to it. Against stand-ins of both.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"

# torch_npu looks at its file every second or two, and has to be asked which step it is: how many steps that takes
# depends on the machine, so a job goes on until it has been profiled for a while.
long=("$train" -q --torch --steps 100000 --until "$work/end" --layers 2 --data-ms 25)
forever=(-q --steps 100000 --layers 2 --data-ms 20)

# analysed <job or window>: how many ranks the analysis could use
analysed() {
	"$npuprof" cluster -d "$work/prof/$1" -f json >"$work/analysed.json" 2>"$work/cluster"
	sqlite3 :memory: "SELECT readfile('$work/analysed.json') ->> '\$.input.ranks_used'"
}

# closed <job> <window> <ranks>: are all its collections complete?
closed() {
	(($(find "$work/prof/$1/window-$2" -path '*/host/end_info' | wc -l) == $3))
}

# announced <job> <ranks>: have so many ranks of torch_npu made their logs?
announced() {
	(($(find "$work/prof/$1/.torch" -name 'dp_*.log' | wc -l) == $2))
}

# The memory of a job that was killed would be taken for that of a running one.
shm=(/dev/shm/DynamicProfileNpuShm*)
[[ ! -e ${shm[0]} ]] || skip "${shm[0]} is in use: torch_npu or another test runs here"

behaviour 'a python program that can import torch_npu is profiled by it, no library is loaded, the last step is the end'
cat >"$work/python3" <<SH
#!/bin/sh
[ "\$1" != -c ] || exit 0
exec "$train" "\$@"
SH
chmod +x "$work/python3"
(
	await 80 profiles torch 3
	touch "$work/end"
) &
launch 4 --job torch --ranks 0-1,3 --with-cpu --with-stack --step-start 1 --export after -- "$work/python3" "${long[@]:1}"
expect_exit 0
expect_stderr_has 'backend: torch (python, which can import torch_npu)' 'profiles of 3 of 3 ranks' \
	'to the end, on 3 ranks' '(an earlier step had begun already)'
expect_equal "$(each_rank torch "r ->> 'state'")" 'exported exported none exported'
expect_equal "$(manifest torch '$.config.backend')|$(manifest torch '$.windows[0].step_source')" 'torch|torch'
expect_equal "$(manifest torch '$.windows[0].ranks')|$(manifest torch '$.windows[0].last_step')" "[0,1,3]|$(<"$work/end.last")"
expect_equal "$(find "$work/prof/torch" -name npuprof_rank.json | wc -l)" 0
expect_equal "$(grep -l 'start_step 1 is less than' "$work"/prof/torch/.torch/*/log/dp_* | wc -l)" 3
expect 'the file has what was asked for' grep -q '"with_stack": true' "$work"/prof/torch/.torch/*/profiler_config.json
expect_equal "$(analysed torch)" 3
expect_nothing_left
[[ -d $work/prof/torch/.torch ]] && expect 'what was only asked to learn the step is left' \
	test -z "$(find "$work/prof/torch/.torch" -name 'PROF_*')"

behaviour 'windows on request of torch_npu, without MPI; a step that is over is refused and tried again'
name=node
"$collector" -o "$work/prof" --job node --nnodes 1 --backend torch --dynamic --ranks 1-3 --grace 2 -- \
	"$work/torchrun" 0 4 4 "$(free_port)" "$train" --torch "${forever[@]}" >"$work/out" 2>"$work/err" &
pid=$!
expect 'the ranks never came' await 30 announced node 4
sleep 2 # those of the second in which they began are not followed
ctl start --steps 3
expect_exit 0
expect_stdout_has 'window 1: steps' 'on 3 ranks'
expect 'it was never complete' await 30 closed node 1 3
next_window --at 2 --steps 2 --ranks all --level level0
expect_exit 0
expect_stdout_has 'window 2: steps' 'on 4 ranks' '(an earlier step had begun already)'
ctl stop
expect 'it was never complete' await 30 closed node 2 4
kill -TERM "$pid"
wait "$pid"
expect_equal "$(manifest node '$.windows[0].ranks')|$(manifest node '$.windows[1].ranks')" '[1,2,3]|[0,1,2,3]'
expect_equal "$(($(manifest node '$.windows[0].last_step') - $(manifest node '$.windows[0].first_step')))" 2
expect_equal "$(($(manifest node '$.windows[1].last_step') - $(manifest node '$.windows[1].first_step')))" 1
expect 'the second was at level 0' grep -q '"profiler_level": "Level0"' "$work"/prof/node/.torch/*/profiler_config.json
run "$npuprof" export "$work/prof/node/window-2"
expect_exit 0
expect_equal "$(analysed node/window-2)" 4
expect_nothing_left

behaviour 'a program that never announces itself is told from one that does'
launch 2 --job none --backend torch --ranks 1 --step-start 1 --step-end 2 -- "$train" -q --steps 4 --layers 2
expect_exit 3
expect_stderr_has 'rank 1: torch_npu did not announce itself'

behaviour 'a job whose requests another one would follow is not started'
if command -v python3 >/dev/null; then
	python3 - "$work/ready" <<'PY' &
import mmap, os, sys, time
fd = os.open('/dev/shm/DynamicProfileNpuShm2000010100', os.O_RDWR | os.O_CREAT, 0o600)
os.ftruncate(fd, 1 << 20)
memory = mmap.mmap(fd, 1 << 20)
open(sys.argv[1], 'w').close()
time.sleep(60)
PY
	other=$!
	await 10 test -e "$work/ready"
	launch 2 --job shared --backend torch --step-end 2 -- "${long[@]}"
	expect_exit 1
	expect_stderr_has "process $other uses /dev/shm/DynamicProfileNpuShm*" 'nothing was started'
	kill "$other"
	wait "$other" 2>/dev/null
	rm -f /dev/shm/DynamicProfileNpuShm2000010100
else
	echo 'no python3: shared memory of another job is not tried'
fi

behaviour 'msprof around every application'
launch 4 --job msprof --backend msprof --ranks all --step-end 3 --export after -- "$train" -q --steps 5 --layers 2
expect_exit 0
expect_stderr_has 'steps are ignored: msprof records all' 'backend  msprof' 'profiles of 4 of 4 ranks'
expect_equal "$(each_rank msprof "r ->> 'state'")" 'exported exported exported exported'
expect_equal "$(analysed msprof)" 4
launch 2 --job part --backend msprof --ranks 1 -- "$train" -q --steps 3 --layers 2
expect_exit 0
expect_equal "$(each_rank part "r ->> 'state'")" 'none raw'
launch 2 --job fails --backend msprof --ranks all --grace 2 -- sh -c 'exit 7'
expect_exit 7
run timeout -k 5 30 "$collector" --backend msprof --nnodes 1 -- true
expect_exit 2
expect_stderr_has '--backend msprof needs a launcher for every rank' 'use --dynamic'

home=$(getent passwd "$(id -u)" | cut -d: -f6)
if [[ -w $home ]]; then
	# sockets: where msprof meets applications, as far as these still run
	sockets() {
		local socket

		for socket in "$home"/dynamic_profiling_socket_*; do
			[[ ! -e $socket ]] || kill -0 "${socket##*_}" 2>/dev/null || echo "$socket"
		done
	}
	# no_sockets: another test that has killed its application removes what that left in a moment
	no_sockets() {
		[[ -z $(sockets) ]]
	}
	application=("$train") mode=mpi
	[[ ! -x $train-mpi ]] || application=("$train-mpi" --mpi) mode=helper

	behaviour "msprof is attached to running processes while a window is wanted ($mode)"
	name=attach
	PROFILING_MODE=dynamic mpirun -q -n 4 "$collector" -o "$work/prof" --job attach --backend msprof --dynamic --ranks all \
		--grace 15 -- "${application[@]}" "${forever[@]}" >"$work/out" 2>"$work/err" &
	pid=$!
	expect 'the job never began' await 30 runs
	ctl start --steps 3
	expect_exit 0
	expect_stdout_has 'window 1: steps' 'on 4 ranks'
	expect 'it was never complete' await 30 closed attach 1 4
	next_window --at 1 --steps 2 --level level0 --ranks 1,3
	expect_exit 0
	expect_stdout_has 'window 2: steps' 'on 2 ranks' '(an earlier step had begun already)'
	expect 'it was never complete' await 30 closed attach 2 2
	next_window --steps -1
	expect_exit 0
	expect_stdout_has 'window 3: from step' 'until it is stopped'
	expect 'it never began' await 30 is_open
	ctl start --steps 3
	expect_exit 1
	expect_stderr_has 'no window: rank'
	kill -TERM "$pid"
	wait "$pid"
	expect 'the last window was not closed' closed attach 3 4
	expect_nothing_left
	expect 'sockets are left' await 10 no_sockets
	expect_equal "$(manifest attach '$.windows[0].ranks')|$(manifest attach '$.windows[1].ranks')" '[0,1,2,3]|[1,3]'
	expect_equal "$(($(manifest attach '$.windows[0].last_step') - $(manifest attach '$.windows[0].first_step')))" 2
	run "$npuprof" export "$work/prof/attach/window-1"
	expect_exit 0
	expect_equal "$(analysed attach/window-1)" 4
	first=$(manifest attach '$.windows[0].first_step')
	expect_equal "$(sqlite3 "$work/prof/attach/window-1"/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db \
		"SELECT group_concat(id, ' ') FROM (SELECT id FROM STEP_TIME ORDER BY id)")" "$first $((first + 1)) $((first + 2))"

	behaviour 'msprof is attached to a job that somebody else has started, and leaves it alone'
	name=running
	PROFILING_MODE=dynamic "$train" --ranks 2 "${forever[@]}" &
	job=$!
	# listens: do both of its ranks?
	listens() {
		local pid count=0

		for pid in $(pgrep -P "$job"); do
			[[ ! -S $home/dynamic_profiling_socket_$pid ]] || count=$((count + 1))
		done
		((count == 2))
	}
	expect 'it never listens' await 20 listens
	"$collector" -o "$work/prof" --job running --pid "$(pgrep -P "$job" | paste -sd,)" --ranks all >"$work/out" 2>"$work/err" &
	pid=$!
	expect 'it never listens' await 20 test -e "$work/prof/running/npuprof_control.json"
	ctl start
	expect_exit 1
	expect_stderr_has "no step is known of it: use --steps -1"
	ctl start --steps -1
	expect_exit 0
	expect_stdout_has 'window 1: from now on until it is stopped, on 2 ranks'
	expect 'it never began' await 20 is_open
	ctl stop
	expect_exit 0
	expect_stdout_has 'the window ends now'
	expect 'it was never complete' await 30 closed running 1 2
	# is_free: has every msprof ended?
	is_free() {
		! pgrep -P "$pid" -x msprof >/dev/null
	}
	expect 'msprof does not end' await 30 is_free
	ctl start --steps -1 --ranks 0
	expect_exit 0
	expect_stdout_has 'window 2: from now on until it is stopped, on 1 rank,'
	expect 'it never began' await 20 is_open
	ctl start --steps -1
	expect_exit 1
	expect_stderr_has 'no window: rank 0: a window is open'
	# What the first rank refuses, the second has never heard of.
	ctl start --steps -1 --ranks 1
	expect_exit 0
	expect_stdout_has 'window 3: from now on until it is stopped, on 1 rank,'
	kill -TERM "$pid"
	wait "$pid"
	expect 'the second window was not closed' closed running 2 1
	expect 'the third window was not closed' closed running 3 1
	expect 'the job was ended with the collector' kill -0 "$job"
	expect_equal "$(manifest running '$.windows[0].ranks')" '[0,1]'
	pkill -TERM -P "$job"
	wait "$job"
	run "$collector" -o "$work/prof" --job nobody --pid "$job"
	expect_exit 1
	expect_stderr_has "process $job: No such process" 'nothing was started'
	run "$collector" --backend acl --pid 1
	expect_exit 2
	expect_stderr_has 'only msprof can be attached to processes that run already'
	run "$collector" --pid 1 -- true
	expect_exit 2
	expect_stderr_has 'give it or an application'
	rm -f "$home"/dynamic_profiling_socket_"$job" # of processes that were killed, as CANN does
	for socket in $(sockets); do
		rm -f "$socket"
	done

	behaviour 'an msprof that does not start, and ranks that are killed'
	name=broken
	mkdir "$work/bin"
	printf '#!/bin/sh\necho no licence for this\nexit 1\n' >"$work/bin/msprof"
	chmod +x "$work/bin/msprof"
	PATH=$work/bin:$PATH timeout -k 5 60 "$collector" -o "$work/prof" --job broken --nnodes 1 --backend msprof --dynamic \
		--grace 1 -- "$work/torchrun" 0 2 2 "$(free_port)" "$train" "${forever[@]}" >"$work/out" 2>"$work/err" &
	pid=$!
	expect 'the job never began' await 30 runs
	ctl start
	expect_exit 1
	expect_stderr_has 'no window: rank 0: msprof did not start; what it says is in' 'msprof.log'
	expect 'its words are kept' grep -rq 'no licence' "$work/prof/broken" --include=msprof.log
	pkill -KILL -f "^$train $(printf '%s ' "${forever[@]}" | sed 's/ $//')\$"
	wait "$pid"
	expect_nothing_left
	expect 'sockets are left' await 10 no_sockets
else
	echo "$home cannot be written to: attaching msprof is not tried"
fi
