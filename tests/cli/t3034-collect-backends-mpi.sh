#!/usr/bin/env bash
# Other profilers than our own library: torch_npu's dynamic_profile, asked through its
# file, and msprof around the application. Against stand-ins of both.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"

# Some ten seconds: torch_npu looks at its file every two.
long=("$train" -q --torch --steps 450 --layers 2 --data-ms 18)

# analysed <job>: how many ranks the analysis could use
analysed() {
	"$npuprof" cluster -d "$work/prof/$1" -f json >"$work/$1.json" 2>"$work/cluster"
	sqlite3 :memory: "SELECT readfile('$work/$1.json') ->> '\$.input.ranks_used'"
}

# The memory of a job that was killed would be taken for that of a running one.
shm=(/dev/shm/DynamicProfileNpuShm*)
[[ ! -e ${shm[0]} ]] || skip "${shm[0]} is in use: torch_npu or another test runs here"

behaviour 'torch_npu is asked by its own file, no library is loaded'
launch 4 --job torch --backend torch --ranks 0-1,3 --step-start 0 --step-end 2 --export after -- "${long[@]}"
expect_exit 0
expect_stderr_has 'backend  torch' 'torch_npu was asked for the next 2 steps' 'profiles of 3 of 3 ranks'
expect_equal "$(each_rank torch "r ->> 'state'")" 'exported exported none exported'
expect_equal "$(manifest torch '$.config.backend')" torch
expect_equal "$(find "$work/prof/torch" -name npuprof_rank.json | wc -l)" 0
expect_equal "$(grep -l 'active 2' "$work"/prof/torch/.torch/*/log/dp_* | wc -l)" 3
expect_equal "$(analysed torch)" 3
expect 'the shared memory is left' test -z "$(compgen -G '/dev/shm/DynamicProfileNpuShm*')"
expect_nothing_left_running

behaviour 'steps by their numbers, with operators of the framework: what is asked for chooses the backend'
printf '#!/bin/sh\nexec "%s" "$@"\n' "$train" >"$work/python3"
chmod +x "$work/python3"
launch 2 --job number --ranks all --with-cpu --with-stack --step-start 400 --step-end 402 -- "$work/python3" "${long[@]:1}"
expect_exit 0
expect_stderr_has 'backend: torch (operators or stacks' 'torch_npu was asked for 2 steps from step 400 on'
expect_equal "$(manifest number '$.windows[0].first_step')|$(manifest number '$.windows[0].last_step')" '400|401'
expect_equal "$(grep -l 'started at step 400' "$work"/prof/number/.torch/*/log/dp_* | wc -l)" 2
expect 'the file has what was asked for' grep -q '"with_stack": true' "$work"/prof/number/.torch/*/profiler_config.json

behaviour 'steps that are over are refused by torch_npu, and that is told'
launch 2 --job over --backend torch --ranks 1 --step-start 1 --step-end 2 -- "${long[@]}" --steps 400
expect_exit 3
expect_stderr_has 'rank 1: torch_npu announced itself and collected nothing'
launch 2 --job none --backend torch --ranks 1 --step-start 1 --step-end 2 -- "$train" -q --steps 4 --layers 2
expect_exit 3
expect_stderr_has 'rank 1: torch_npu did not announce itself'

behaviour 'without MPI, ranks are learnt from the logs'
run timeout -k 10 90 "$collector" -o "$work/prof" --job node --nnodes 1 --backend torch --ranks 1-3 --step-end 2 -- \
	"$work/torchrun" 0 4 4 "$(free_port)" "${long[@]}"
expect_exit 0
expect_equal "$(each_rank node "r ->> 'state'")" 'none raw raw raw'
run "$npuprof" export "$work/prof/node"
expect_exit 0
expect_equal "$(analysed node)" 3

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
	expect_stderr_has 'uses /dev/shm/DynamicProfileNpuShm*' 'nothing was started'
	kill "$other"
	rm -f /dev/shm/DynamicProfileNpuShm2000010100
else
	echo 'no python3: shared memory of another job is not tried'
fi

behaviour 'what torch_npu cannot serve is refused'
launch 2 --job refused --backend torch -- "${long[@]}"
expect_exit 2
expect_stderr_has '--backend torch needs --step-end'
launch 2 --job refused --backend torch --dynamic --step-end 2 -- "${long[@]}"
expect_exit 2
expect_stderr_has '--dynamic needs --backend acl'

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
expect_stderr_has '--backend msprof needs a launcher for every rank'
expect_nothing_left_running
