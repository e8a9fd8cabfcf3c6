#!/usr/bin/env bash
# What info lists as there, rules find; what it lists as missing, they are skipped for. And rows
# of a file that is not whole are read by no rule.
. "$(dirname "$0")/lib.sh"

need_program python3

# ask <directory>: keep what info and the rules say of it, for agree
ask() {
	"$npuprof" info -f json "$1" >"$work/asked/${1##*/}.info" 2>"$work/stderr" || true
	run "$npuprof" advisor -d "$1" -f json
	cp "$work/stdout" "$work/asked/${1##*/}.rules"
}
mkdir "$work/asked"

# agree <count>: of so many runs that were asked, the analyses of info and the states of rules do not deny each other
agree() {
	python3 - "$work"/asked/*.info >"$work/seen" 2>"$work/stderr" <<-'SCRIPT' || wrong 'info and rules do not agree'
		import json, re, sys
		# What a view or a table needs, under the names of both.
		views = {
		    "v_freq": "frequency", "v_cann_api": "calls of the host", "v_comm_op": "communicators",
		    "v_comm_band": "bandwidth and links", "v_step": "step times",
		    "np_memory": "memory", "np_link": "bandwidth and links", "np_wait": "communicators",
		    "np_comm_step": "communicators", "v_kernel": "partition of the step",
		}
		nothing = {
		    "memory": ["memory.fragmentation", "memory.growth", "memory.near-limit"],
		    "bandwidth and links": ["cluster.slow-link", "cluster.slow-end", "comm.retransmission",
		                            "comm.small-packets", "cluster.rank-bandwidth", "comm.retries"],
		    "frequency": ["compute.frequency"],
		    "calls of the host": ["host.compile", "host.sync-stream", "memory.calls"],
		}
		for path in sys.argv[1:]:
		    with open(path, encoding="utf-8") as file:
		        info = {each["name"]: each for each in json.load(file)["analyses"]}
		    with open(path[:-4] + "rules", encoding="utf-8") as file:
		        rules = {each["id"]: each for each in json.load(file)["rules"]}
		    seen = 0
		    for rule in rules.values():
		        if rule["status"] != "skipped":
		            continue
		        view = re.match(r"no (\w+)[;:]", rule["reason"])
		        if view and view[1] in views:
		            seen += 1
		            each = info[views[view[1]]]
		            assert not each["ready"], (path, rule["id"], rule["reason"])
		            assert each["switch"] in rule["reason"] or ":" in rule["reason"], (path, each, rule)
		    # The other way round, where nothing of it is on any rank.
		    for name, ids in nothing.items():
		        if info[name]["ready"] or "(rank" in info[name]["missing"]:
		            continue
		        for id in ids:
		            assert rules[id]["status"] in ("skipped", "not-applicable"), (path, name, rules[id])
		            seen += 1
		    print(path, seen)
	SCRIPT
	expect_equal "$(wc -l <"$work/seen")" "$1"
	expect 'there was something to compare' test "$(awk '{ sum += $2 } END { print sum }' "$work/seen")" -gt 20
	rm "$work"/asked/*
}

small=(--ranks 2 --steps 2 --layers 4 --kernels-per-layer 6)

behaviour 'info and the rules say the same of every form and level'
for form in db text msprof-db msprof-text mindspore-db mindspore-text msmonitor; do
	for level in 0 2; do
		"$synth" -q -o "$work/$form-$level" "${small[@]}" --format "$form" --level "$level" --seed 3 || exit 1
		ask "$work/$form-$level"
		rm -rf "${work:?}/$form-$level"
	done
	"$synth" -q -o "$work/$form-m" "${small[@]}" --format "$form" --memory --seed 4 || exit 1
	ask "$work/$form-m"
	rm -rf "${work:?}/$form-m"
done
agree 21

behaviour 'and of runs of the second generator'
generator=$(dirname "$0")/../../tools/sweep/field.py
for form in db text; do
	for each in healthy-tp-dp gc-unaligned; do
		python3 "$generator" --form "$form" --make "$each:3" "$work/$each-$form" >"$work/log" 2>&1
		ask "$work/$each-$form"
	done
done
agree 4

behaviour 'rules on kernels are skipped for a rank whose table of kernels is cut'
"$synth" -q -o "$work/cut" --ranks 2 --steps 3 --format text --seed 5
for file in "$work"/cut/*/ASCEND_PROFILER_OUTPUT; do
	table=$file/kernel_details.csv
	rm -f "$file/trace_view.json"
	lines=$(wc -l <"$table")
	head -n $((lines / 4)) "$table" >"$work/part"
	cp "$work/part" "$table"
done
run "$npuprof" advisor -d "$work/cut" -f json
expect 'each of them says how much is missing' python3 - "$work/stdout" <<-'SCRIPT'
	import json, re, sys
	with open(sys.argv[1], encoding="utf-8") as file:
	    rules = {each["id"]: each for each in json.load(file)["rules"]}
	for id in ("compute.aicpu", "compute.dynamic-shape", "compute.frequency"):
	    rule = rules[id]
	    assert rule["status"] == "skipped", rule
	    assert id == "compute.frequency" or re.match(
	        r"no v_kernel: kernel_details.csv covers \d+ % of step_trace_time.csv; export", rule["reason"]), rule
SCRIPT
