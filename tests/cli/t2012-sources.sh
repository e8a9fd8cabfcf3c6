#!/usr/bin/env bash
# Quantities are taken from the file that has them: bandwidth from communication.json where a
# trace shows no planes, the frequency of AI cores from a counter whose lane nobody names.
. "$(dirname "$0")/lib.sh"

need_program python3

"$synth" -q -o "$work/c" --ranks 4 --steps 2 --format text --seed 8

# rewrite <Python expression of `each`>: keep the events of all traces for which it is true
rewrite() {
	python3 - "$1" "$work"/c/*/ASCEND_PROFILER_OUTPUT/trace_view.json <<-'SCRIPT'
		import json, sys
		for path in sys.argv[2:]:
		    with open(path, encoding="utf-8") as file:
		        events = json.load(file)
		    planes = {
		        (each["pid"], each["tid"]) for each in events
		        if each["name"] == "thread_name" and each["args"]["name"].startswith("Plane")
		    }
		    kept = [each for each in events if eval(sys.argv[1])]
		    assert len(kept) < len(events)
		    with open(path, "w", encoding="utf-8") as file:
		        json.dump(kept, file)
	SCRIPT
}

behaviour 'without planes, communication.json says what operators moved'
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f csv --table ClusterCommunicationBandwidth
cp "$work/stdout" "$work/bands"
rewrite '(each["pid"], each["tid"]) not in planes'
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f csv --table ClusterCommunicationBandwidth
expect_exit 0
expect 'as many rows of bandwidth, of the same sizes' diff \
	<(cut -d , -f 1-6 "$work/bands" | sort) <(cut -d , -f 1-6 "$work/stdout" | sort)
run "$npuprof" info "$work/c"
expect_stdout_says 'bandwidth and links'
expect_stdout_lacks 'no sizes and no links'
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect 'all communicators have a bandwidth' python3 - "$work/stdout" <<-'SCRIPT'
	import json, sys
	with open(sys.argv[1], encoding="utf-8") as file:
	    run = json.load(file)
	steps = [step for each in run["communicators"] for step in each["steps"]]
	assert steps and all(step["gb_per_s"] is not None and step["exposed_ns"] is not None for step in steps), steps
SCRIPT

behaviour 'a table of kernels beside communication.json is as good as a trace for the replay'
"$synth" -q -o "$work/bare" --ranks 4 --steps 3 --format text --seed 8 --slow-rank 2:1.3
rm "$work"/bare/*/ASCEND_PROFILER_OUTPUT/trace_view.json
run "$npuprof" whatif -d "$work/bare" -f json
expect 'the replay gives what was recorded, and the verdict names the rank' python3 - "$work/stdout" <<-'SCRIPT'
	import json, sys
	with open(sys.argv[1], encoding="utf-8") as file:
	    run = json.load(file)
	assert run["replay"]["fidelity"] < 0.005, run["replay"]["fidelity"]
	assert (run["verdict"]["kind"], run["verdict"]["what"]) == ("rank", "2"), run["verdict"]
SCRIPT

behaviour 'a counter named AI Core Freq needs no lane'
python3 - "$work"/c/*/ASCEND_PROFILER_OUTPUT/trace_view.json <<-'SCRIPT'
	import json, sys
	for path in sys.argv[1:]:
	    with open(path, encoding="utf-8") as file:
	        events = json.load(file)
	    events = [each for each in events if not (each["name"] == "process_name" and each["args"]["name"] == "AI Core Freq")]
	    times = sorted(each["ts"] for each in events if each["ph"] == "X")
	    for at in (times[0], times[-1]):
	        events.append({"name": "AI Core Freq", "ts": at, "pid": 77, "tid": 0, "args": {"MHz": 1800}, "ph": "C"})
	    with open(path, "w", encoding="utf-8") as file:
	        json.dump(events, file)
SCRIPT
run "$npuprof" info "$work/c"
expect_exit 0
expect_stdout_lacks 'no AI Core frequency'
run "$npuprof" advisor -d "$work/c"
expect_stdout_lacks 'no v_freq'
