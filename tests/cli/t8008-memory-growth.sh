#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is said to grow, and what is not: caches, activations on their way, models that are being made, warm-up.
. "$(dirname "$0")/lib.sh"
need_program python3
PYTHONPATH=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1

cat >"$work/program.py" <<'PYTHON'
import json, subprocess, sys
from allocator import *

frame = lambda name, file, line: {"name": name, "filename": file, "line": line}
torch = "/usr/lib/python3/site-packages/torch/nn/modules/module.py"
call = [frame("_call_impl", torch, 1527), frame("_wrapped_call_impl", torch, 1518)]
top = lambda line: [frame("main", "/home/u/train.py", line), frame("<module>", "/home/u/train.py", 99)]
inside = lambda name, line: [frame(name, "/home/u/model.py", line), *call, frame("forward", "/home/u/model.py", 90), *call, *top(20)]
making = lambda line: [frame("__init__", "/home/u/model.py", line), frame("__init__", "/home/u/model.py", 40), *top(5)]

class Job(Allocator):
    """A model of some layers; what a step makes besides is up to `extra`."""
    def __init__(self, layers=8, extra=lambda job: None, **settings):
        super().__init__(**settings)
        self.layers, self.extra, self.steps, self.kept, self.start = layers, extra, 0, [], 0
    def make(self):
        for _ in range(self.layers):
            brief = self.alloc(3 * MiB, 5, making(12))
            self.alloc(3 * MiB, 5, making(11))
            self.free(brief, making(12))
        return self
    def step(self, until=None):
        batch, made = self.alloc(2 * MiB, 5, top(18)), []
        for layer in range(self.layers):
            if layer == until: return
            for size in 2, 4: self.free(self.alloc(size * MiB, 5, inside("attention", 31)), inside("attention", 32))
            made.append(self.alloc(2 * MiB, 5, inside("attention", 33)))
            made.append(self.alloc(4 * MiB, 5, inside("mlp", 44)))
        self.extra(self)
        while made:
            brief = self.alloc(2 * MiB)
            self.free(made.pop())
            self.free(brief)
        self.free(batch, top(23))
        self.steps += 1
    def run(self, steps, until=None):
        for _ in range(steps): self.step()
        if until is not None: self.step(until)
        return self

def keep(job): job.kept.append(job.alloc(MiB + job.steps * 4096, 5, top(40)))
def keep_one_of_four(job):
    made = [job.alloc(20 * MiB, 5, top(40)) for _ in range(3)]
    job.alloc(2 * MiB, 5, top(40))
    for at in made: job.free(at, top(41))
def cache(job):
    job.kept.append(job.alloc(6 * MiB, 5, top(42)))
    if len(job.kept) > 4: job.free(job.kept.pop(0), top(42))
def warm_up(job):
    if job.steps < 3: job.alloc(6 * MiB, 5, top(43))
def larger(job):
    if job.kept: job.free(job.kept.pop(), top(44))
    job.kept.append(job.alloc((job.steps + 1) * MiB, 5, top(44)))
def nameless(job): job.alloc(MiB)

def says(path, *options):
    r = json.loads(subprocess.run([sys.argv[1], "memory", "-f", "json", *options, path], stdout=subprocess.PIPE).stdout)["ranks"][0]
    return [(g["what"], g["times"]) for g in r["grows"]]
PYTHON

# grows <python>: what is said of each job of a list
grows() {
	cat "$work/program.py" - >"$work/now.py" <<PYTHON
for job in $1:
    job.write("job.pickle", job.start)
    print(says("job.pickle"))
PYTHON
	(cd "$work" && python3 now.py "$npuprof" 2>&1)
}

behaviour 'who keeps some of what he makes each time is named, whatever else he makes'
expect_equal "$(grows '[Job(extra=keep).make().run(6), Job(extra=keep).make().run(5, 5), Job(extra=keep_one_of_four).make().run(6)]')" \
	"[('train.py:40:main', 6)]
[('train.py:40:main', 5)]
[('train.py:40:main', 6)]"

behaviour 'a dump on the way through the model, where it ran out of memory, accuses no layer'
expect_equal "$(grows '[Job(48).make().run(0, 46), Job(24).make().run(1, 22)]')" '[]
[]'

behaviour 'nor do batches that went forward one after the other, with none on its way back yet'
cat >>"$work/program.py" <<'PYTHON'

class Pipeline(Job):
    def run(self, batches):
        for _ in range(batches):
            self.alloc(2 * MiB, 5, top(18))
            for layer in range(self.layers):
                for line in 51, 52, 53, 54, 55:
                    self.free(self.alloc(2 * MiB, 5, inside("attention", 31)), inside("attention", 32))
                    self.alloc(2 * MiB, 5, inside("mlp", line))
        return self
PYTHON
expect_equal "$(grows '[Pipeline(4).make().run(8)]')" '[]'

behaviour 'a model that is being made is no leak'
expect_equal "$(grows '[Job(60).make()]')" '[]'

behaviour 'nor are a cache that is full, what only the first steps make and a buffer that is replaced'
expect_equal "$(grows '[Job(extra=cache).make().run(8), Job(extra=warm_up).make().run(6), Job(extra=larger).make().run(8)]')" '[]
[]
[]'

behaviour 'nor is a queue that was full when recording began, or is full then; one that is never full is, and state of parameters is not'
cat >>"$work/program.py" <<'PYTHON'

def queue(most, vary=0, begin=14):
    def extra(job):
        if len(job.kept) >= most: job.free(job.kept.pop(0), top(45))
        job.kept.append(job.alloc(5 * MiB + job.steps * 7 % 5 * vary, 5, top(45)))
        if job.steps == begin: job.start = len(job.events)
    return extra
def state(job):
    if job.steps % 2: job.alloc(5 * MiB, 5, [frame("_init_group", "/usr/lib/python3/site-packages/torch/optim/adam.py", 174), *top(46)])
PYTHON
expect_equal "$(grows '[Job(extra=queue(8)).make().run(20), Job(extra=queue(8, MiB)).make().run(20), Job(extra=queue(99)).make().run(20)]')" "[]
[]
[('train.py:45:main', 5)]"
expect_equal "$(grows '[Job(extra=queue(8, begin=6)).make().run(12), Job(extra=state).make().run(12)]')" '[]
[]'

behaviour 'a leak of a hundred steps is one, and what each of them leaves is told'
expect_equal "$(grows '[Job(extra=keep).make().run(100)]')" "[('train.py:40:main', 100)]"

behaviour 'of what has no stack it is said that this is not known, and with steps it is'
cat "$work/program.py" - >"$work/now.py" <<'PYTHON'
Job(extra=nameless).make().run(6).write("job.pickle")
print(says("job.pickle"), says("job.pickle", "--step-frame", "train.py:18"))
PYTHON
expect_equal "$(cd "$work" && python3 now.py "$npuprof" 2>&1)" "[] [('<no stack>', 6)]"
run "$npuprof" memory "$work/job.pickle"
expect_stdout_says 'whether 9.43 MB of it grow is not known' '--step-frame'

behaviour 'calls of a model of which none goes back are training on its way, or lack no_grad(): that is said'
cat "$work/program.py" - >"$work/now.py" <<'PYTHON'
Pipeline(4).make().run(8).write("job.pickle")
PYTHON
(cd "$work" && python3 now.py)
run "$npuprof" memory "$work/job.pickle"
expect_stdout_says '337 MB of it are kept by calls of the model of which none went back' 'do next: call the model within no_grad()'
run "$npuprof" memory -f json "$work/job.pickle"
expect_stdout_says '"kept_by_forward_bytes":'
cat "$work/program.py" - >"$work/now.py" <<'PYTHON'
job = Pipeline(4, cap=290 * MiB).make()
try: job.run(20)
except OutOfMemory: job.write("job.pickle")
PYTHON
(cd "$work" && rm job.pickle && python3 now.py)
run "$npuprof" memory "$work/job.pickle"
expect_stdout_says 'ran out of memory (1)' 'do next: call the model within no_grad()' 'until then PYTORCH_NPU_ALLOC_CONF='

behaviour 'what grows by next to nothing is said, and is not what to do next'
cat "$work/program.py" - >"$work/now.py" <<'PYTHON'
Job(extra=lambda job: job.alloc(4000, 5, top(40))).make().run(6).write("job.pickle")
PYTHON
(cd "$work" && python3 now.py)
run "$npuprof" memory "$work/job.pickle"
expect_stdout_says 'grows: train.py:40:main leaves 4.10 kB each time, 6 times'
expect_stdout_lacks 'do next: find out why'

behaviour 'who ran out because something was kept is told that first, and what would have served the request'
cat "$work/program.py" - >"$work/now.py" <<'PYTHON'
job = Job(extra=lambda job: job.alloc(60 * MiB, 5, top(40)), cap=1200 * MiB).make()
try: job.run(40)
except OutOfMemory: pass
job.write("job.pickle")
PYTHON
(cd "$work" && python3 now.py)
run "$npuprof" memory "$work/job.pickle"
expect_stdout_says 'train.py:40:main wanted 62.9 MB' 'do next: find out why train.py:40:main keeps what it allocates'

behaviour 'what has no stack, or was there before, cannot be looked at: how to know more of it can'
cat "$work/program.py" - >"$work/now.py" <<'PYTHON'
job = Job()
job.alloc(900 * MiB)
job.write("nameless.pickle")
job.free(job.alloc(MiB, 5, top(18)), top(18))
job.write("before.pickle", 2)
PYTHON
(cd "$work" && python3 now.py)
run "$npuprof" memory "$work/nameless.pickle"
expect_stdout_says 'do next: record the stacks of C++ too' '944 MB have no stack'
run "$npuprof" memory "$work/before.pickle"
expect_stdout_says 'do next: record a snapshot from the beginning of the program on' '944 MB were there before'

behaviour 'a snapshot of any name is one; where there is none, both kinds are missed'
cp "$work/before.pickle" "$work/dump"
run "$npuprof" memory "$work/dump"
expect_exit 0
expect_stdout_says 'dump: peak allocated'
mkdir "$work/nothing"
run "$npuprof" memory "$work/nothing"
expect_exit 2
expect_stderr_has 'no profiles below' 'nor is there a memory snapshot'
