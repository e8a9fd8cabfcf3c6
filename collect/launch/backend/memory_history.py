# SPDX-License-Identifier: Apache-2.0
"""Records what torch_npu's caching allocator does over agreed steps, in a program that knows nothing of it.

npuprof-collect puts the directory of this file in front of PYTHONPATH, under the name sitecustomize.py, so that Python runs
it before the program. Nothing happens until the program imports torch_npu. From then on

  * a step is a step of the optimizer that was made last, as torch_npu's dynamic_profile counts them, from 0 on;
  * recording begins with the first step that is asked for; before the first one, when the device is initialised, so that
    the model that is built is in it. It is not this file that initialises a device;
  * the history is written down and recording ends with the last step, or with the program if that ends earlier.

A failure of any of it is written into the log, and the program goes on. An own sitecustomize of the program's environment
runs as if this one were not there.
"""


def _arm():
    import atexit
    import importlib.util
    import json
    import os
    import sys
    import threading
    import types
    import weakref

    try:
        plan = json.loads(os.environ["NPUPROF_MEMORY_HISTORY"])
        directory, log, ranks = plan["dir"], plan["log"], plan["ranks"]
        start, end, stacks, entries = plan["start"], plan["end"], plan["stacks"], plan["entries"]
    except (KeyError, TypeError, ValueError):
        return

    def is_chosen(rank):
        for word in ranks.replace(",", " ").split():
            first, _, last = word.partition("-")
            if word in ("all", "-1") or (word == "node-leaders" and os.environ.get("LOCAL_RANK") == "0"):
                return True
            if word.startswith("every:") and rank % int(word[6:]) == 0:
                return True
            if first.isdigit() and int(first) <= rank <= int(last or first):
                return True
        return False

    class History:
        """The history of this process."""

        def __init__(self, memory):
            self.memory = memory
            self.step = 0
            self.optimizer = None
            self.process = None  # that records
            self.first = None
            self.over = False

        def say(self, **words):
            try:
                rank = int(os.environ["RANK"])
                with open(os.path.join(log, "memory_rank%d.log" % rank), "a", encoding="utf-8") as file:
                    file.write(json.dumps(words) + "\n")
            except (KeyError, OSError, ValueError):
                pass

        def fail(self, what, error):
            self.over = True
            self.say(state="failed", reason="%s: %s: %s" % (what, type(error).__name__, str(error)[:200]))

        def begin(self):
            if self.over or self.process is not None:
                return
            try:
                # A launcher of ranks, such as torchrun, is none.
                if not is_chosen(int(os.environ["RANK"])):
                    self.over = True
                    return
                self.memory._record_memory_history(enabled="all", stacks=stacks, max_entries=entries or sys.maxsize)
                self.process, self.first = os.getpid(), self.step
                self.say(state="recording", first=self.step)
            except KeyError:
                self.over = True
            except Exception as error:  # the program must not notice
                self.fail("the history could not be recorded", error)

        def finish(self):
            if self.over or self.process != os.getpid():
                return
            self.over = True
            try:
                name = "snapshot_rank%d" % int(os.environ["RANK"])
                if os.path.exists(os.path.join(directory, name + ".pickle")):
                    name += "_pid%d" % os.getpid()
                path = os.path.join(directory, name)
                os.makedirs(directory, exist_ok=True)
                self.memory._dump_snapshot(path + ".part")
                os.replace(path + ".part", path + ".pickle")
                self.say(state="written", file=name + ".pickle", first=self.first, end=self.step)
            except Exception as error:
                self.fail("the history could not be written", error)
            try:
                self.memory._record_memory_history(enabled=None)
            except Exception:
                pass

        def take_step(self, optimizer):
            if self.optimizer is None or self.optimizer() is not optimizer or self.over:
                return
            self.step += 1
            if self.step == start:
                self.begin()
            if self.step == end:
                self.finish()

        def watch(self, optimizer):
            """Count the steps of an optimizer that was just made."""
            self.optimizer = weakref.ref(optimizer)
            if hasattr(optimizer, "register_step_post_hook"):
                optimizer.register_step_post_hook(lambda made, *_: self.take_step(made))
                return
            step = optimizer.step

            def counted(made, *args, **kwargs):
                result = step(*args, **kwargs)
                self.take_step(made)
                return result

            optimizer.step = types.MethodType(counted, optimizer)

    def attach(torch_npu):
        import torch.optim

        history = History(torch_npu.npu.memory)
        construct = torch.optim.Optimizer.__init__

        def constructed(optimizer, *args, **kwargs):
            construct(optimizer, *args, **kwargs)
            try:
                if start == 0 and torch_npu.npu.is_initialized():
                    history.begin()
                history.watch(optimizer)
            except Exception as error:
                history.fail("steps could not be counted", error)

        constructed.__doc__ = construct.__doc__
        constructed.__wrapped__ = construct
        torch.optim.Optimizer.__init__ = constructed
        # Registered after torch_npu's own, and so called before it shuts its device down.
        atexit.register(history.finish)
        history.say(state="loaded")
        if start == 0 and hasattr(torch_npu.npu, "_lazy_call"):
            torch_npu.npu._lazy_call(history.begin)

    class Finder:
        """Finds torch_npu as others do, and is called when it has been imported."""

        asking = threading.local()

        def find_spec(self, name, path=None, target=None):
            if name != "torch_npu" or getattr(self.asking, "others", False):
                return None
            self.asking.others = True
            try:
                spec = importlib.util.find_spec(name)
            finally:
                self.asking.others = False
            if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
                return spec
            execute = spec.loader.exec_module

            def executed(module):
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    try:
                        attach(module)
                    except Exception:
                        pass

            spec.loader.exec_module = executed
            return spec

    sys.meta_path.insert(0, Finder())


def _chain():
    """Run the sitecustomize that would have been run without this one."""
    import importlib.machinery
    import importlib.util
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path or ".") != here]
    sys.path[:] = others
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _arm()
except Exception:
    pass
_chain()
