#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lost packets are found in communication.json, where there is no trace and where its planes are
# missing; an operator that was not measured has no bandwidth, not one of 0.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_program python3

"$synth" -q -o "$work/c" --ranks 2 --steps 2 --format text --seed 8
rm "$work"/c/*/ASCEND_PROFILER_OUTPUT/{trace_view.json,kernel_details.csv}

# send_again <elapse of the second rank in ms>: one operator of both ranks is long, rank 0 sends over RDMA
send_again() {
	python3 - "$1" "$work"/c/*/ASCEND_PROFILER_OUTPUT/communication.json <<-'SCRIPT'
		import json, sys
		for rank, path in enumerate(sys.argv[2:]):
		    with open(path, encoding="utf-8") as file:
		        run = json.load(file)
		    step = run[sorted(run)[0]]
		    names = sorted(name for name in step["collective"] if not name.startswith("Total"))
		    op = step["collective"][names[0]]
		    op["Communication Time Info"]["Elapse Time(ms)"] = 4500.0 if rank == 0 else float(sys.argv[1])
		    op["Communication Bandwidth Info"]["RDMA"] = {
		        "Transit Time(ms)": 4100.0 if rank == 0 else 1.0, "Transit Size(MB)": 20.97152,
		        "Bandwidth(GB/s)": 0.0051, "Large Packet Ratio": 0.0, "Size Distribution": {},
		    }
		    with open(path, "w", encoding="utf-8") as file:
		        json.dump(run, file)
	SCRIPT
}

# retransmission: "status rows"
retransmission() {
	python3 - "$work/stdout" <<-'SCRIPT'
		import json, sys
		with open(sys.argv[1], encoding="utf-8") as file:
		    run = json.load(file)
		found = [each for each in run["findings"] if each["rule"] == "comm.retransmission"]
		status = [each["status"] for each in run["rules"] if each["id"] == "comm.retransmission"]
		print(status[0], len(found[0]["evidence"]["rows"]) if found else 0)
	SCRIPT
}

behaviour 'an operator of over 4 s on all ranks with an RDMA transfer of over 4 s lost packets'
send_again 4400
run "$npuprof" advisor -d "$work/c" -f json
expect_equal 'fired 2' "$(retransmission)"

behaviour 'where a rank was done sooner, another came late and nothing was lost'
send_again 3999
run "$npuprof" advisor -d "$work/c" -f json
expect_equal 'clear 0' "$(retransmission)"

behaviour 'bandwidth of zeros was not measured'
python3 - "$work"/c/*/ASCEND_PROFILER_OUTPUT/communication.json <<-'SCRIPT'
	import json, sys
	for path in sys.argv[1:]:
	    with open(path, encoding="utf-8") as file:
	        run = json.load(file)
	    for step in run.values():
	        for kind in ("collective", "p2p"):
	            for op in step.get(kind, {}).values():
	                for band in op["Communication Bandwidth Info"].values():
	                    band.update({"Transit Time(ms)": 0, "Transit Size(MB)": 0, "Bandwidth(GB/s)": 0})
	    with open(path, "w", encoding="utf-8") as file:
	        json.dump(run, file)
SCRIPT
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect 'no communicator has a bandwidth' python3 - "$work/stdout" <<-'SCRIPT'
	import json, sys
	with open(sys.argv[1], encoding="utf-8") as file:
	    run = json.load(file)
	steps = [step for each in run["communicators"] for step in each["steps"]]
	assert steps and all(step["gb_per_s"] is None for step in steps), steps
SCRIPT
run "$npuprof" advisor -d "$work/c" -f json
expect_equal 'skipped 0' "$(retransmission)"
