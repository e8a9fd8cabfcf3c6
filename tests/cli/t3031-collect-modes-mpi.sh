#!/usr/bin/env bash
# npuprof-collect for jobs that are not plain processes under mpirun: MPI programs
# (helper, inapp), ranks that somebody else starts (tcp). End to end, each, with clocks that differ.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"

window=(--ranks all --step-start 2 --step-end 5 --export after)
# Clocks are compared when the window is opened and again when it is closed, if the launchers of a busy
# machine hear of both while the job runs.
steps=(-q --steps 10 --layers 2 --data-ms 30)
job=("$train" "${steps[@]}")

# steps_of <job> <rank>: the steps its database has, first to last
steps_of() {
	sqlite3 "$work/prof/$1"/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_"$2".db \
		"SELECT group_concat(id, ' ') FROM (SELECT id FROM STEP_TIME ORDER BY id)"
}

# good_job <job>: four ranks with steps 2 to 4, which can be analysed together
good_job() {
	local rank

	for rank in 0 1 2 3; do
		expect_equal "$(steps_of "$1" "$rank")" '2 3 4'
	done
	expect_equal "$(manifest "$1" '$.windows')" \
		'[{"first_step":2,"last_step":4,"step_source":"explicit","ranks":[0,1,2,3]}]'
	expect_equal "$(manifest "$1" '$.world_size')" 4
	run "$npuprof" cluster -d "$work/prof/$1" -f json
	expect_exit 0
	cp "$work/stdout" "$work/$1.json"
	expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/$1.json') ->> '\$.input.ranks_used'")" 4
}

# clocks_agree <job>: samples at the start, the window and the end, all right within what they claim
clocks_agree() {
	cat >"$work/samples.sql" <<SQL
SELECT count(*) >= 4, min(abs((value ->> 'offset_ns') - 5000000) <= (value ->> 'uncertainty_ns'))
FROM json_each(readfile('$work/prof/$1/npuprof_manifest.json'), '\$.hosts[1].clock');
SQL
	expect_equal "$(each_rank "$1" "r ->> 'host'")" 'hostA hostA hostB hostB'
	expect_equal "$(sqlite3 :memory: <"$work/samples.sql")" '1|1'
}

export NPUSIM_HOST_OF=0-1:hostA,2-3:hostB NPUSIM_CLOCK_SKEW=hostB:5000000
if [[ -x $train-mpi ]]; then
	for mode in helper inapp; do
		behaviour "an application that uses MPI_Allreduce itself, coordinated by $mode, on hosts with clocks of their own"
		# What is linked with MPI needs no option for it: helper is what is chosen.
		[[ $mode == helper ]] && coord=() || coord=(--coord "$mode")
		launch 4 --job "$mode" "${coord[@]}" "${window[@]}" -- "$train-mpi" --mpi "${steps[@]}"
		expect_exit 0
		expect_stderr_has "coordination: $mode (" 'profiles of 4 of 4 ranks'
		expect_equal "$(manifest "$mode" '$.coord')" "$mode"
		good_job "$mode"
		clocks_agree "$mode"
	done
	expect_equal "$(manifest inapp '$.windows')" "$(manifest helper '$.windows')"
else
	echo 'npu-train-demo-mpi was not built: applications with MPI are not tried'
fi

behaviour 'two nodes with two ranks each, without MPI'
nodes two "${window[@]}" -- "${job[@]}"
both_end
expect_exit 0
expect_equal "$status1" 0
expect_stderr_has 'coordination: tcp (--rdzv is given)' 'profiles of 4 of 4 ranks'
good_job two
clocks_agree two
unset NPUSIM_HOST_OF NPUSIM_CLOCK_SKEW

behaviour 'ranks that the application starts itself, on one node'
run timeout -k 10 90 "$collector" -o "$work/prof" --job one --nnodes 1 "${window[@]}" -- "${job[@]}" --ranks 4
expect_exit 0
expect_stderr_has 'coordination: tcp (--nnodes is given)' 'ranks    all (found when they start, on 1 node)'
good_job one
expect_equal "$(each_rank one "r ->> 'device'")" '0 1 2 3'

behaviour 'torchrun is recognised'
run timeout -k 10 90 "$collector" -o "$work/prof" --job torchrun --ranks 1,2 --step-start 2 --step-end 3 -- \
	"$work/torchrun" 0 4 4 "$(free_port)" "${job[@]}"
expect_exit 0
expect_stderr_has 'coordination: tcp (the application starts the ranks itself, on one node)'
expect_equal "$(each_rank torchrun "r ->> 'state'")" 'none raw raw none'

behaviour 'Slurm tells the number of nodes and of this node'
SLURM_NNODES=1 SLURM_NODEID=0 run timeout -k 10 60 "$collector" -o "$work/prof" --job slurm --rdzv "127.0.0.1:$(free_port)" \
	--dry-run -- true
expect_exit 0
expect_stdout_has 'on 1 node)'

behaviour 'steps by other means than marks'
launch 4 --job hccl --ranks all --step-start 3 --step-end 5 -- "${job[@]}" --mark none --steps 14
expect_exit 0
expect_equal "$(manifest hccl '$.windows[0].step_source')" hccl
expect 'its confidence is told' grep -q 'confidence high' "$work/prof/hccl/npuprof_manifest.json"
launch 2 --job sync --ranks all --step-source sync --step-start 5 --step-end 7 -- "${job[@]}" --mark none --steps 14
expect_exit 0
expect_equal "$(manifest sync '$.windows[0].step_source')|$(manifest sync '$.windows[0].first_step')" 'sync|5'
launch 2 --job time --ranks all --step-source time --delay 0 --duration 1 -- "${job[@]}" --mark none --steps 100 --data-ms 20
expect_exit 0
expect_equal "$(manifest time '$.windows[0].step_source')|$(each_rank time "r ->> 'state'")" 'time|raw raw'
launch 2 --job named --ranks all --step-mstx '^dataloader$' --step-start 3 --step-end 5 -- "${job[@]}" --mark mstx
expect_exit 0
expect_equal "$(manifest named '$.windows[0].step_source')|$(manifest named '$.windows[0].first_step')" 'mstx|3'

behaviour 'a window that grows too large ends before the same step on all ranks, and that is no failure'
launch 4 --job large --ranks all --step-start 1 --max-size 1 -- "${job[@]}" --steps 300 --data-ms 5
expect_exit 0
expect_stderr_has 'limit    1 MB of all ranks together' 'a step of rank' 'larger than --max-size 1 MB: the window ends before step'
expect_equal "$(each_rank large "r ->> 'state'")" 'raw raw raw raw'
expect_equal "$(sqlite3 :memory: "SELECT json_array_length(readfile('$work/prof/large/npuprof_manifest.json'), '\$.windows')")" 1
expect 'it ended before the job did' test "$(manifest large '$.windows[0].last_step')" -lt 290
expect 'AscendCL was told' grep -rqE '"aclprofSetConfig", "code": 0' "$work/prof/large" --include=npuprof_rank.json
expect_nothing_left
