#!/usr/bin/env bash
# Memory snapshots of the collector: what it puts into Python programs, against stand-ins of torch and torch_npu.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"
need_program python3
export PYTHONDONTWRITEBYTECODE=1

# The stand-ins: an optimizer with hooks, or without as PyTorch 1 had it (OLD_TORCH), and an allocator that remembers
# what was asked of it; its snapshot has one event for each step that was recorded.
mkdir -p "$work/lib/torch/optim" "$work/lib/torch_npu" "$work/site"
cat >"$work/lib/torch/__init__.py" <<'PY'
from . import optim
PY
cat >"$work/lib/torch/optim/__init__.py" <<'PY'
import os


class Optimizer:
    def __init__(self):
        self.hooks = []

    if not os.environ.get("OLD_TORCH"):
        def register_step_post_hook(self, hook):
            self.hooks.append(hook)

    def step(self, closure=None):
        import torch_npu

        torch_npu.npu.memory.events.append("step")
        for hook in self.hooks:
            hook(self, (), {})
        return "stepped"


class SGD(Optimizer):
    pass
PY
cat >"$work/lib/torch_npu/__init__.py" <<'PY'
import os

import torch

from . import npu

# As dynamic_profile announces itself.
log = os.path.join(os.environ.get("PROF_CONFIG_PATH", "/nonexistent"), "log")
if os.path.isdir(os.path.dirname(log)) and "RANK" in os.environ:
    os.makedirs(log, exist_ok=True)
    open("%s/dp_host_%d_rank_%s.log" % (log, os.getpid(), os.environ["RANK"]), "w").close()
PY
cat >"$work/lib/torch_npu/npu.py" <<'PY'
import os
import pickle
import types

queued, ready = [], []


def is_initialized():
    return bool(ready)


def _lazy_call(call):
    call() if ready else queued.append(call)


def init():
    ready.append(True)
    for call in queued:
        call()


class Memory(types.ModuleType):
    events, first, said = [], None, []

    def _record_memory_history(self, enabled="all", context="all", stacks="all", max_entries=0):
        if not ready:
            raise SystemExit("a device was initialised by somebody else than the program")
        if os.environ.get("FAIL") == "record":
            raise RuntimeError("no memory\nfor it")
        self.said.append((enabled, stacks, max_entries))
        self.first = len(self.events) if enabled else None

    def _dump_snapshot(self, filename):
        if os.environ.get("FAIL") == "dump":
            raise OSError("disk full")
        count = len(self.events) - self.first
        blocks = [{"address": 4096 + 512 * i, "size": 512, "requested_size": 300, "state": "active_allocated", "frames": []}
                  for i in range(count)]
        trace = [{"action": "segment_alloc", "addr": 4096, "size": 2097152, "stream": 0, "frames": []}]
        trace += [{"action": "alloc", "addr": b["address"], "size": 300, "stream": 0, "frames": []} for b in blocks]
        used = 512 * count
        rest = {"address": 4096 + used, "size": 2097152 - used, "requested_size": 0, "state": "inactive", "frames": []}
        segment = {"device": 0, "address": 4096, "total_size": 2097152, "allocated_size": used, "active_size": used,
                   "requested_size": 300 * count, "stream": 0, "segment_type": "small", "blocks": blocks + [rest]}
        with open(filename, "wb") as file:
            pickle.dump({"segments": [segment], "device_traces": [trace], "steps": count}, file)


memory = Memory("memory")
PY
cat >"$work/train.py" <<'PY'
import os
import sys

import torch.optim
import torch_npu

discriminator = torch.optim.SGD()
torch_npu.npu.init()
generator = torch.optim.SGD()
for step in range(int(sys.argv[1])):
    discriminator.step()
    assert generator.step() == "stepped"
# One write: the ranks share their terminal.
os.write(1, b"said %s\n" % str(torch_npu.npu.memory.said).encode())
PY
export PYTHONPATH=$work/lib

# alone <start> <end> [ranks]: run what is put into programs without the collector
mkdir -p "$work/alone/python" "$work/snapshots"
cp "$NPUPROF_SOURCE/collect/launch/backend/memory_history.py" "$work/alone/python/sitecustomize.py"
alone() {
	rm -rf "$work/snapshots" "$work/alone"/*.log
	export NPUPROF_MEMORY_HISTORY="{\"dir\": \"$work/snapshots\", \"log\": \"$work/alone\", \"start\": $1, \"end\": $2,
		\"ranks\": \"${3-all}\", \"stacks\": \"python\", \"entries\": 7}"
	export PYTHONPATH=$work/alone/python:$work/lib:$work/site
}
# steps: how many are in the snapshot of rank 3, and where the program is in it
steps() {
	python3 -S -c "import pickle, sys; print(pickle.load(open('$work/snapshots/snapshot_rank3.pickle', 'rb'))['steps'])"
}

behaviour 'steps are those of the optimizer that was made last; recording begins and ends with them'
alone 2 4
RANK=3 run python3 "$work/train.py" 6
expect_exit 0
expect_stdout <<<"said [('all', 'python', 7), (None, 'all', 0)]"
expect_equal "$(steps)" 4 # two steps of two optimizers
expect_equal "$(tail -n 1 "$work/alone/memory_rank3.log")" '{"state": "written", "file": "snapshot_rank3.pickle", "first": 2, "end": 4}'
OLD_TORCH=1 RANK=3 run python3 "$work/train.py" 6
expect_exit 0
expect_equal "$(find "$work/snapshots" -type f -printf '%f\n' | sort | sed 's/pid.*/pid/')" $'snapshot_rank3.pickle\nsnapshot_rank3_pid'

behaviour 'from step 0 on the model that is built is recorded, once the program has initialised its device; its end is the end'
alone 0 100
OLD_TORCH=1 RANK=3 run python3 "$work/train.py" 3
expect_exit 0
expect_equal "$(steps)" 6
alone 0 -1 '0-2 every:3'
RANK=3 run python3 -c 'import torch_npu; torch_npu.npu.init(); raise SystemExit(5)'
expect_exit 5
expect_equal "$(steps)" 0
alone 0 -1 '0-2,5'
RANK=3 run python3 "$work/train.py" 3
expect_exit 0
expect_stdout <<<'said []'
unset RANK
run python3 "$work/train.py" 3
expect_exit 0
expect_stdout <<<'said []'
expect 'a rank that is not chosen, or none, leaves no file' test ! -e "$work/snapshots"

behaviour 'a program without torch_npu, or with one that fails, does not notice'
alone 0 2
RANK=3 run python3 -c 'import sys; print([name for name in sys.modules if "torch" in name])'
expect_exit 0
expect_stdout <<<'[]'
expect_no_stderr
RANK=3 run python3 -c 'import importlib.util; print(importlib.util.find_spec("torch_npu").name); import torch_npu; torch_npu.npu.init()'
expect_exit 0
expect 'looking for it is not importing it' test -e "$work/snapshots/snapshot_rank3.pickle"
for what in record dump; do
	alone 0 2
	FAIL=$what RANK=3 run python3 "$work/train.py" 3
	expect_exit 0
	expect_no_stderr
	expect 'the failure is written down' grep -q '"state": "failed", "reason": "the history could not be' "$work/alone/memory_rank3.log"
	expect 'no snapshot is left' test -z "$(find "$work" -path '*/snapshots/*' -type f)"
done
NPUPROF_MEMORY_HISTORY='{"dir": 1' RANK=3 run python3 "$work/train.py" 1
expect_exit 0
mv "$work/lib/torch_npu/npu.py" "$work/npu.py"
RANK=3 run python3 -c 'try:
    import torch_npu
except ImportError as error:
    print("no", error.name)'
expect_exit 0
expect_stdout <<<'no torch_npu'
mv "$work/npu.py" "$work/lib/torch_npu/npu.py"

behaviour 'the sitecustomize of the environment runs as if there were no other'
alone 0 2
cat >"$work/site/sitecustomize.py" <<'PY'
import sys

known = sys.modules["sitecustomize"].__file__
PY
RANK=3 run python3 -c 'import sys, sitecustomize; print(sitecustomize.known == sitecustomize.__file__, sitecustomize.__file__)
print([path for path in sys.path if path.endswith("/python")])'
expect_exit 0
expect_stdout <<<"True $work/site/sitecustomize.py
[]"
echo 'raise RuntimeError("of the user")' >"$work/site/sitecustomize.py"
RANK=3 run python3 -c 'print("on")'
expect_exit 0
expect_stdout <<<'on'
expect_stderr_has 'of the user'
rm "$work/site/sitecustomize.py"
unset NPUPROF_MEMORY_HISTORY

behaviour 'the collector takes snapshots of the ranks it is asked for, into the tree and the manifest, and memory reads them'
export PYTHONPATH=$work/lib
shm=(/dev/shm/DynamicProfileNpuShm*)
[[ ! -e ${shm[0]} ]] || skip "${shm[0]} is in use: torch_npu or another test runs here"
launch 3 --job snap --backend torch --dynamic --memory-snapshot 1:3 --memory-ranks 0,2 --memory-stacks all --memory-entries 50 -- \
	python3 "$work/train.py" 5
expect_exit 0
expect_stderr_has 'memory   steps 1-2 of ranks 0,2, stacks all' 'memory snapshots of 2 of 2 ranks'
expect_stdout_has "said [('all', 'all', 50), (None, 'all', 0)]" 'said []'
expect_equal "$(each_rank snap "coalesce(r ->> 'memory.file', '-')")" 'memory/snapshot_rank0.pickle - memory/snapshot_rank2.pickle'
expect_equal "$(each_rank snap "coalesce(r ->> 'memory.first_step', '-') || coalesce(r ->> 'memory.last_step', '-')")" '12 -- 12'
expect_equal "$(manifest snap '$.config.memory_entries')" 50
run "$npuprof" memory "$work/prof/snap" -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT group_concat(value ->> 'rank' || ':' || (value ->> 'events'), ' ') FROM json_each(readfile('$work/stdout'), '\$.ranks')")" '0:5 2:5'

behaviour 'ranks that torchrun starts; a memory_profile of MindSpeed-MM; a rank that does not come so far is named'
cat >"$work/tools.json" <<'JSON'
{ "profile": { "enable": false }, "memory_profile": { "enable": true, "start_step": 3, "end_step": 4, "save_path": "./m", "dump_ranks": null,
  "stacks": "python", "max_entries": null, "mem_info": false } }
JSON
cat >"$work/two.sh" <<'SH'
RANK=0 LOCAL_RANK=0 python3 "$1" 1
RANK=1 LOCAL_RANK=1 python3 "$1" 4
SH
run timeout -k 5 60 "$collector" -o "$work/prof" --job found --nnodes 1 --backend torch --config "$work/tools.json" -- sh "$work/two.sh" "$work/train.py"
expect_exit 3
expect_stderr_has 'rank 0: no memory snapshot: the step at which it begins was not reached' 'memory snapshots of 1 of 2 ranks'
expect_equal "$(each_rank found "coalesce(r ->> 'memory.file', '-') || coalesce(r ->> 'memory.first_step', '')")" '- memory/snapshot_rank1.pickle2'

behaviour 'elsewhere it is refused, with what would serve it'
launch 1 --job no --backend acl --memory-snapshot 1:3 -- true
expect_exit 2
expect_stderr_has 'memory snapshots are written by torch_npu' 'needs --backend torch, not acl'
launch 1 --job no --backend msprof --config "$work/tools.json" -- true
expect_exit 2
expect_stderr_has 'needs --backend torch, not msprof'
for wrong in '3:3' '3:2' 'x' '1:y' '-1:3' ':4'; do
	launch 1 --job no --backend torch "--memory-snapshot=$wrong" -- true
	expect_exit 2
done
launch 1 --job no --backend torch --memory-ranks 0 -- true
expect_exit 2
expect_stderr_has 'are for --memory-snapshot START:END'
expect 'nothing was made' test ! -e "$work/prof/no"
