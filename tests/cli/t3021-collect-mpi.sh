#!/usr/bin/env bash
# npuprof-collect from the start to the analysis, on the stand-in NPU: windows,
# ranks, levels, hosts with clocks of their own, a planted slow rank.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"

job=("$train" -q --steps 7 --layers 2)

# database <job> <rank>
database() {
	echo "$work/prof/$1"/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_"$2".db
}

# query <job> <rank> <SQL>
query() {
	sqlite3 "$(database "$1" "$2")" "$3"
}

# steps_of <job> <rank>: the steps its database has, first to last
steps_of() {
	query "$1" "$2" "SELECT group_concat(id, ' ') FROM (SELECT id FROM STEP_TIME ORDER BY id)"
}

# analysed <job> <JSON path>: a value of the cluster analysis
analysed() {
	[[ -e $work/$1.json ]] || "$npuprof" cluster -d "$work/prof/$1" -f json >"$work/$1.json"
	sqlite3 :memory: "SELECT readfile('$work/$1.json') ->> '$2'"
}

behaviour 'what all processes would say is said once'
for words in -V -h 'ctl -h' 'collect -h' ''; do
	# shellcheck disable=SC2086
	run timeout -k 5 60 mpirun -q -n 3 "$npuprof" $words
	expect_equal "$(cat "$work/stdout" "$work/stderr" | grep -cE '^(npuprof [0-9]|usage)')" 1
done

behaviour 'the plan says which ranks of how many, which steps and how much data'
launch 8 --job dry --dry-run --ranks node-leaders --step-start 5 --step-end 6 -- "${job[@]}"
expect_exit 0
expect_stdout_has 'ranks    0 (1 of 8, on 1 host)' 'steps    5 (1 step)' 'level    level1, PipeUtilization' \
	"output   $work/prof/dry" 'size     about 20.0 MB of raw data (a guess' 'NPU      simulated'
expect 'nothing is left of a dry run' test ! -e "$work/prof/dry"

behaviour 'a window on all ranks: every database has exactly the steps asked for'
NPUSIM_SLOW_RANK=5 NPUSIM_SLOW_FACTOR=2 launch 8 --job all --ranks all --step-start 2 --step-end 5 \
	--export after -- "$train" -q --steps 6 --hidden 2048
expect_exit 0
for rank in {0..7}; do
	expect_equal "$(steps_of all "$rank")" '2 3 4'
	expect_equal "$(query all "$rank" 'SELECT rankId FROM RANK_DEVICE_MAP')" "$rank"
done
expect_equal "$(manifest all '$.windows')" \
	'[{"first_step":2,"last_step":4,"step_source":"explicit","ranks":[0,1,2,3,4,5,6,7]}]'
expect_equal "$(each_rank all "r ->> 'state'")" 'exported exported exported exported exported exported exported exported'
expect_equal "$(each_rank all "r ->> 'device'")" '0 1 2 3 4 5 6 7'
expect_equal "$(manifest all '$.simulated')|$(manifest all '$.world_size')" '1|8'

behaviour 'the analysis finds the rank that was made slow'
expect_equal "$(analysed all '$.input.ranks_used')" 8
expect_equal "$(analysed all '$.stragglers[0].rank')|$(analysed all '$.stragglers[0].cause')" '5|compute'
expect_equal "$(analysed all '$.trust.clock.method')" manifest

behaviour 'ranks that are not chosen leave nothing'
launch 4 --job two --profile-ranks 0 2 --profile-step-start 3 --profile-step-end 5 --export after -- "${job[@]}"
expect_exit 0
expect_equal "$(find "$work/prof/two" -maxdepth 1 -name '*_ascend_pt' | wc -l)" 2
expect_equal "$(steps_of two 0)|$(steps_of two 2)" '3 4|3 4'
expect_equal "$(each_rank two "r ->> 'state'")" 'exported none exported none'
expect_equal "$(each_rank two "ifnull(r ->> 'dir', '-') = '-'")" '0 1 0 1'
expect_equal "$(each_rank two "r ->> 'exit'")" '0 0 0 0'

behaviour 'a range of ranks, to the end'
launch 4 --job range --ranks 1-3 --step-start 5 --export after -- "${job[@]}"
expect_exit 0
expect_equal "$(steps_of range 1)|$(steps_of range 2)|$(steps_of range 3)" '5 6|5 6|5 6'
expect_equal "$(each_rank range "r ->> 'selected'")" '0 1 1 1'

behaviour 'by default there is rank 0, every step, level1 and no export'
launch 2 --job default -- "${job[@]}"
expect_exit 0
expect_stderr_has 'ranks    0 (1 of 2, on 1 host)' 'steps    0 to the end' 'export   none'
expect_equal "$(each_rank default "r ->> 'state'")" 'raw none'
expect_equal "$(manifest default '$.windows[0].first_step')|$(manifest default '$.config.level')" '0|level1'
expect_equal "$(find "$work/prof/default" -name '*.db' | wc -l)" 0

behaviour 'levels differ in what they record'
for level in 0 1 2; do
	launch 2 --job "level$level" --level "level$level" --step-start 1 --step-end 2 --export after -- "${job[@]}"
	expect_exit 0
	expect_equal "$(query "level$level" 0 'SELECT count(*) > 0 FROM TASK')" 1
done
# has_table <level> <table>
has_table() {
	query "level$1" 0 "SELECT count(*) FROM sqlite_master WHERE name = '$2'"
}
expect_equal "$(has_table 0 TASK_PMU_INFO)$(has_table 1 TASK_PMU_INFO)$(has_table 2 TASK_PMU_INFO)" 011
sizes="SELECT count(*) > 0 FROM COMMUNICATION_TASK_INFO WHERE size > 0"
expect_equal "$(query level0 0 "$sizes")$(query level1 0 "$sizes")$(query level2 0 "$sizes")" 011
runtime="SELECT count(*) > 0 FROM CANN_API WHERE type = 5000"
expect_equal "$(query level0 0 "$runtime")$(query level1 0 "$runtime")$(query level2 0 "$runtime")" 001

behaviour 'the clock of a second host is measured, within the uncertainty that is stated'
export NPUSIM_HOST_OF=0-1:hostA,2-3:hostB
launch 4 --job plain --ranks all --step-start 2 --step-end 4 --export after -- "${job[@]}"
expect_exit 0
NPUSIM_CLOCK_SKEW=hostB:5000000 launch 4 --job skewed --ranks all --step-start 2 --step-end 4 --export after -- \
	"${job[@]}"
expect_exit 0
unset NPUSIM_HOST_OF
expect_equal "$(each_rank skewed "r ->> 'host'")" 'hostA hostA hostB hostB'
expect_equal "$(manifest skewed '$.hosts[1].host')" hostB
cat >"$work/samples.sql" <<SQL
SELECT count(*) >= 3, min(abs((value ->> 'offset_ns') - 5000000) <= (value ->> 'uncertainty_ns'))
FROM json_each(readfile('$work/prof/skewed/npuprof_manifest.json'), '\$.hosts[1].clock');
SQL
expect_equal "$(sqlite3 :memory: <"$work/samples.sql")" '1|1'
expect_equal "$(sqlite3 :memory: "SELECT max(value ->> 'offset_ns') FROM
	json_each(readfile('$work/prof/skewed/npuprof_manifest.json'), '\$.hosts[0].clock')")" 0

behaviour 'times in databases are those of the host, and the analysis corrects them'
# The last operator of the world ends on all ranks at once; on hostB the clock shows 5 ms more.
last='SELECT max(endNs) FROM COMMUNICATION_OP'
plain=$(($(query plain 3 "$last") - $(query plain 0 "$last")))
skewed=$(($(query skewed 3 "$last") - $(query skewed 0 "$last")))
expect "$plain and $skewed differ by 5 ms" test $(((skewed - plain - 5000000) / 1000000)) = 0
stated=$(sqlite3 :memory: "SELECT max(value ->> 'uncertainty_ns') FROM
	json_each(readfile('$work/prof/skewed/npuprof_manifest.json'), '\$.hosts[1].clock')")
expect 'the hosts agree as well as without a skew' test \
	"$(analysed skewed '$.trust.clock.residual_p90_ns')" -le \
	$(($(analysed plain '$.trust.clock.residual_p90_ns') + stated))

behaviour 'a tools.json of MindSpeed-MM is followed, and what is not ours is named'
cat >"$work/tools.json" <<'JSON'
{
  "profile": { // only this is about profiling
    "enable": true, "profile_type": "static", "ranks": [1],
    "static_param": { "level": "level1", "start_step": 3, "end_step": 4, "analyse_flag": true, },
  },
  "memory_profile": { "enable": false },
  "auto_parallel": { "enable": false },
}
JSON
launch 2 --job tools --config "$work/tools.json" --step-end 5 -- "${job[@]}"
expect_exit 0
expect_stderr_has 'auto_parallel is ignored'
expect_equal "$(steps_of tools 1)" '3 4'
expect_equal "$(each_rank tools "r ->> 'state'")" 'none exported'

behaviour 'enable: false runs the application unprofiled, unless the command line says otherwise'
sed -i 's/"enable": true/"enable": false/' "$work/tools.json"
launch 2 --job off --config "$work/tools.json" -- "${job[@]}"
expect_exit 0
expect_stderr_has 'enable is false: the application runs unprofiled'
expect 'a job that is not profiled has no directory' test ! -e "$work/prof/off"
launch 2 --job on --config "$work/tools.json" --profile -- "${job[@]}"
expect_exit 0
expect_equal "$(each_rank on "r ->> 'state'")" 'none exported'

behaviour 'the application gets its place and nothing of MPI'
echo '{"enable": false}' >"$work/off.json"
# shellcheck disable=SC2016
launch 3 --config "$work/off.json" -- \
	sh -c 'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $RANK_ID $MASTER_ADDR ${MASTER_PORT:+port}"
		env | grep -E "^(OMPI|PMIX|ORTE)_" || true'
expect_exit 0
sort -o "$work/stdout" "$work/stdout"
expect_stdout <<'OUT'
0 0 3 3 0 127.0.0.1 port
1 1 3 3 1 127.0.0.1 port
2 2 3 3 2 127.0.0.1 port
OUT

behaviour 'npuprof collect is the same program'
run "$npuprof" collect -h
expect_exit 0
expect_stdout_has 'usage: npuprof collect' '--step-start N'
run "$collector" -h
cp "$work/stdout" "$work/help"
run "$npuprof" collect -h
expect_stdout <"$work/help"
run timeout -k 10 60 mpirun -q -n 2 "$npuprof" collect -o "$work/prof" --job front --step-start 1 --step-end 2 -- "${job[@]}"
expect_exit 0
expect_equal "$(each_rank front "r ->> 'state'")" 'raw none'

if [[ -x $train-mpi ]]; then
	behaviour 'an application that is an MPI program is warned of if it is to run as if it were none'
	launch 2 --job mpi --coord mpi --dry-run -- "$train-mpi"
	expect_exit 0
	expect_stderr_has 'is linked with MPI: every rank of it will believe to be alone'
fi

behaviour 'one process needs no mpirun'
run timeout -k 10 60 "$collector" -o "$work/prof" --job single --step-start 1 --step-end 2 -- "${job[@]}"
expect_exit 0
expect_equal "$(each_rank single "r ->> 'state'")" raw
expect_nothing_left_running

behaviour 'what is written about a job is as doc/schema says'
run python3 "$NPUPROF_SOURCE/tests/cli/json_schema.py" "$NPUPROF_SOURCE/doc/schema" "$work"/prof/*/npuprof_manifest.json
expect_exit 0
expect_no_stdout
