#!/usr/bin/env bash
# A rank whose files were all cut alike: they agree with each other, and only other ranks tell.
. "$(dirname "$0")/lib.sh"

need_program python3 sqlite3

# The rank that is cut.
rank=2
echo "rank $rank is cut"

# make <options>: four steps of a small model
make() {
	rm -rf "$work/run"
	"$synth" -q -o "$work/run" --steps 4 --layers 4 --kernels-per-layer 4 "$@" || exit 1
}

# expect_partial: by cluster, in machine form: the rank alone is listed, and no verdict is given
expect_partial() {
	run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json
	expect_exit 3
	checks=$((checks + 1))
	python3 - "$work/stdout" "$rank" <<-'SCRIPT' || wrong 'the JSON does not say so'
		import json, sys
		with open(sys.argv[1], encoding="utf-8") as file:
		    run = json.load(file)
		rank = int(sys.argv[2])
		assert [(each["rank"], each["against"]) for each in run["trust"]["coverage"]] == [(rank, "other ranks")], run["trust"]["coverage"]
		assert 0 <= run["trust"]["coverage"][0]["share"] < 0.98
		assert run["verdict"]["kind"] == "withheld", run["verdict"]
		assert run["verdict"]["text"].startswith(f"withheld for rank {rank}: ascend_pytorch_profiler_{rank}.db covers"), run["verdict"]
		assert any(each["rank"] == rank for each in run["input"]["skipped"])
	SCRIPT
}

for share in 0.15 0.4 0.62 0.9; do
	behaviour "a capture that ends after $share of its length, within a step"
	make --ranks 4 --seed 31 --truncate $rank:$share
	expect_partial

	behaviour "a capture of a pipeline that ends after $share of its length"
	make --ranks 4 --pp 2 --seed 32 --truncate $rank:$share
	expect_partial
done

behaviour 'all commands say so'
run "$npuprof" cluster -d "$work/run" -o "$work/out"
expect_exit 3
expect_stdout_says "withheld for rank $rank: ascend_pytorch_profiler_$rank.db covers" 'of other ranks'
run "$npuprof" whatif -d "$work/run"
expect_exit 3
expect_stdout_says "withheld for rank $rank: "
run "$npuprof" advisor -d "$work/run"
expect_exit 3
expect_stdout_says "withheld for rank $rank: "

behaviour 'the result does not depend on threads or summaries'
run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json -j 1
cp "$work/stdout" "$work/one.json"
run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json -j 4
expect_stdout <"$work/one.json"
run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json --cache="$work/cache"
run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json --cache="$work/cache"
expect_exit 3
expect_stdout <"$work/one.json"

# drop_steps <condition>: nothing is left of these steps on the rank, nor in the vendor's files
drop_steps() {
	local db

	db=$(find "$work/run" -name "ascend_pytorch_profiler_$rank.db")
	rm -f "$(dirname "$db")/analysis.db"
	sqlite3 "$db" "CREATE TEMP TABLE gone AS SELECT startNs, endNs FROM STEP_TIME WHERE $1;
		DELETE FROM TASK WHERE EXISTS (SELECT 1 FROM gone g WHERE TASK.startNs BETWEEN g.startNs AND g.endNs);
		DELETE FROM COMMUNICATION_OP WHERE EXISTS (SELECT 1 FROM gone g
			WHERE COMMUNICATION_OP.startNs BETWEEN g.startNs AND g.endNs);
		DELETE FROM CANN_API WHERE EXISTS (SELECT 1 FROM gone g WHERE CANN_API.startNs BETWEEN g.startNs AND g.endNs);
		DELETE FROM STEP_TIME WHERE $1"
}

behaviour 'a capture of fewer steps is no fault, but it is said'
make --ranks 4 --seed 33 --truncate $rank:0.5
run "$npuprof" cluster -d "$work/run" -o "$work/out"
expect_exit 0
expect_stdout_says 'which other ranks have: there it counts as one that was not profiled'
expect_stdout_lacks withheld 'makes the others wait'

behaviour 'a step that is missing between others is one'
make --ranks 4 --seed 34 --no-analysis
drop_steps 'id = 11'
run "$npuprof" cluster -d "$work/run" -o "$work/out"
expect_exit 3
expect_stdout_says "withheld for rank $rank: "

behaviour 'stages that do other things, lost records and whole runs are no short captures'
for options in '--ranks 4 --pp 4' '--ranks 8 --tp 2 --pp 2' '--ranks 4 --ep 2' "--ranks 4 --drop-ops $rank:0.2" \
	"--ranks 4 --slow-rank $rank:2" '--ranks 4 --no-steps'; do
	# shellcheck disable=SC2086 # several options
	make --seed 35 $options
	run "$npuprof" cluster -d "$work/run" -o "$work/out"
	expect_stdout_lacks 'of other ranks'
done

behaviour 'a database that was cut off, with nothing beside it, is a rank that was not profiled'
make --ranks 4 --seed 36 --no-analysis
db=$(find "$work/run" -name "ascend_pytorch_profiler_$rank.db")
truncate -s $(($(stat -c %s "$db") / 2)) "$db"
run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json
expect_exit 3
expect_equal "$(sqlite3 :memory: "SELECT group_concat(value ->> 'rank') FROM json_each(readfile('$work/stdout'), '\$.input.skipped')")" $rank
case $(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.verdict.kind'") in
none | not-profiled | withheld) ;;
*) wrong 'somebody is named' ;;
esac
