#!/usr/bin/env bash
# npuprof compare, iterations: idle time between steps is found, in every form and whoever put it there.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3 python3

# make <name> <synth options>...: a small run below $work
make() {
	local name=$1

	shift
	"$synth" -q -o "$work/$name" --ranks 4 --steps 7 --layers 2 --no-instances --no-analysis "$@" || exit 1
}

# value <path>: a value of the JSON in $work/stdout
value() {
	sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '$1')"
}

# leaves <glob> <field>: summed over the waterfall
leaves() {
	sqlite3 :memory: "SELECT coalesce(sum(value ->> '$2'), 0) FROM json_each(readfile('$work/stdout'), '\$.waterfall')
		WHERE value ->> 'leaf' GLOB '$1'"
}

# late_db <run>: every step of every rank begins 2 ms later than before against the step before it: what the host
# did after the mark of a step, and the tasks it launched then, move together.
late_db() {
	local db

	for db in "$work/$1"/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db; do
		sqlite3 "$db" "
			CREATE TEMP TABLE mark AS SELECT startNs AS at FROM STEP_TIME;
			CREATE TEMP TABLE launch AS SELECT connectionId AS id, min(startNs) AS at FROM CANN_API GROUP BY 1;
			CREATE INDEX temp.by_id ON launch(id);
			CREATE TEMP TABLE late AS SELECT id, 2000000 * (SELECT count(*) - 1 FROM mark m WHERE m.at <= l.at) AS ns FROM launch l;
			CREATE INDEX temp.late_id ON late(id);
			UPDATE TASK SET startNs = startNs + l.ns, endNs = endNs + l.ns FROM late l WHERE l.id = connectionId;
			UPDATE COMMUNICATION_OP SET startNs = startNs + l.ns, endNs = endNs + l.ns FROM late l WHERE l.id = connectionId;
			UPDATE CANN_API SET startNs = startNs + l.ns, endNs = endNs + l.ns FROM late l WHERE l.id = connectionId;
			UPDATE PYTORCH_API SET endNs = endNs + 2000000 * (SELECT count(*) - 1 FROM mark m WHERE m.at <= startNs),
				startNs = startNs + 2000000 * (SELECT count(*) - 1 FROM mark m WHERE m.at <= startNs);
			UPDATE STEP_TIME SET endNs = endNs + 2000000 * (SELECT count(*) - 1 FROM mark m WHERE m.at <= startNs),
				startNs = startNs + 2000000 * (SELECT count(*) - 1 FROM mark m WHERE m.at <= startNs);" || exit 1
	done
}

# late_text <run>: the same in traces and kernel tables. With "device" as the second argument the host does not move.
cat >"$work/late.py" <<'END'
import csv, glob, json, sys
from decimal import Decimal

host_too = len(sys.argv) < 3
for out in glob.glob(sys.argv[1] + '/*/ASCEND_PROFILER_OUTPUT'):
    with open(out + '/trace_view.json') as f:
        events = json.load(f, parse_float=Decimal)
    name = {e['pid']: e['args']['name'] for e in events if e.get('ph') == 'M' and e['name'] == 'process_name'}
    host = {p for p, n in name.items() if n in ('Python', 'CANN')}
    marks = sorted(Decimal(e['ts']) for e in events if e.get('name', '').startswith('ProfilerStep#') and e['ph'] == 'X')
    with open(out + '/kernel_details.csv', newline='') as f:
        table = list(csv.reader(f))
    step, start = table[0].index('Step Id'), table[0].index('Start Time(us)')
    first = {}
    for row in table[1:]:
        at = Decimal(row[start].strip())
        first[row[step]] = min(first.get(row[step], at), at)
    begins = sorted(first.values())
    late = lambda at, by: 2000 * max(0, sum(1 for b in by if b <= at) - 1)
    for e in events:
        if 'ts' not in e:
            continue
        at = Decimal(e['ts'])
        on_host = e['pid'] in host
        if on_host and not host_too:
            continue
        at += late(at, marks if on_host else begins)
        e['ts'] = str(at) if isinstance(e['ts'], str) else at
    with open(out + '/trace_view.json', 'w') as f:
        json.dump(events, f, default=float)
    for row in table[1:]:
        at = Decimal(row[start].strip())
        row[start] = str(at + late(at, begins)) + '\t'
    with open(out + '/kernel_details.csv', 'w', newline='') as f:
        csv.writer(f).writerows(table)
END
late_text() {
	python3 "$work/late.py" "$work/$1" "${@:2}" || exit 1
}

make base --seed 3
make db --seed 3
late_db db
make text0 --seed 3 --format text
make text --seed 3 --format text
late_text text
make alone --seed 3 --format text
late_text alone device
make pause --seed 3 --between 2000
make pause_text --seed 3 --between 2000 --format text

# found <base> <new> <leaf>: 2 ms more between steps, in this leaf, and the gate trips
found() {
	behaviour "idle time between steps is found: $2"
	run "$npuprof" compare -q -f json --fail-on 'step>2%,between>1ms,compute>1%,free>1%' "$work/$1" "$work/$2"
	expect_exit 4
	expect_equal "$(value '$.step_basis') $(value '$.step.verdict')" 'iteration regression'
	expect_equal "$(value '$.step.steps_base') $(value '$.step.steps_new')" '6 6'
	expect 'the step is 2 ms longer' test "$(value '$.step.delta_ns')" -gt 1900000 -a "$(value '$.step.delta_ns')" -lt 2600000
	expect 'of which all lies between steps' test "$((10 * $(leaves 'between/*' delta_ns)))" -gt "$((9 * $(value '$.step.delta_ns')))"
	expect_equal "$(leaves '*' delta_ns)" "$(value '$.step.delta_ns')"
	expect_equal "$(leaves '*' new_ns)" "$(value '$.step.new_ns')"
	expect_equal "$(value '$.causes[0].kind') $(value '$.causes[0].what')" "between $3"
	expect_equal "$(value '$.gate.conditions[0].result') $(value '$.gate.conditions[1].result')" 'fail fail'
	expect_equal "$(value '$.gate.conditions[2].result') $(value '$.gate.conditions[3].result')" 'pass pass'
	run "$npuprof" compare -q "$work/$1" "$work/$2"
	expect_stdout_says 'step: the iteration' 'regression: the step takes' "First: $3 +" 'idle longer between two steps'
}

found base db between/host
found text0 text between/host
# The device began late and nobody knows why: its work had been launched.
found text0 alone between/other
found base pause between/host
found text0 pause_text between/host

behaviour 'one form against the other is the same'
for new in text pause_text; do
	run "$npuprof" compare -q -f json "$work/base" "$work/$new"
	expect_exit 0
	expect_equal "$(value '$.step.verdict') $(value '$.causes[0].kind')" 'regression between'
done
run "$npuprof" compare -q -f json --fail-on 'step>0%' "$work/pause" "$work/pause_text"
expect_exit 0
expect_equal "$(value '$.step.delta_ns') $(leaves 'between/*' delta_ns)" '0 0'

behaviour 'idle time that went away is an improvement, and no gate trips'
run "$npuprof" compare -q -f json --fail-on 'step>0%,between>0%' "$work/pause" "$work/base"
expect_exit 0
expect_equal "$(value '$.step.verdict') $(value '$.causes[0].kind')" 'improvement between'

behaviour 'a loader that stalls one rank is that rank, and stalls of all are not'
make loader --seed 3 --dataloader 2:6000
run "$npuprof" compare -q "$work/base" "$work/loader"
expect_stdout_says 'First: rank 2 alone got slower' 'most of it in between/dataloader'
make loaders --seed 3 --dataloader all:6000
run "$npuprof" compare -q "$work/base" "$work/loaders"
expect_stdout_says 'regression' 'First: between/dataloader +'

behaviour 'a run without iterations puts both sides on spans, and that is said'
make one --seed 3 --steps 1
for sides in "base one" "one base"; do
	read -r a b <<<"$sides"
	run "$npuprof" compare -q -f json "$work/$a" "$work/$b"
	expect_exit 0
	expect_equal "$(value '$.step_basis') $(leaves 'between/*' new_ns)" 'span 0'
	expect_equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$work/stdout'), '\$.warnings')
		WHERE value ->> 'what' = 'step basis'")" 1
	expect_equal "$(leaves '*' delta_ns)" "$(value '$.step.delta_ns')"
done
run "$npuprof" compare -q "$work/base" "$work/one"
expect_stdout_says 'step: its span' 'both runs are compared by the span of their steps'
run "$npuprof" compare -q -f json "$work/one" "$work/one"
expect_equal "$(value '$.step_basis') $(value '$.step.delta_ns')" 'span 0'

behaviour 'the last step alone has no iteration; one before it has, whatever else is chosen'
run "$npuprof" compare -q -f json --base-steps 16 --new-steps 16 "$work/base" "$work/pause"
expect_equal "$(value '$.step_basis')" span
run "$npuprof" compare -q -f json --base-steps 15 --new-steps 15 "$work/base" "$work/pause"
expect_equal "$(value '$.step_basis') $(value '$.step.steps_new')" 'iteration 1'
expect 'it is 2 ms longer' test "$(value '$.step.delta_ns')" -gt 1900000

behaviour 'a rank that was cut: its steps without an iteration enter no mean'
make cut --seed 3 --truncate 1:0.5
run "$npuprof" compare -q -f json "$work/cut" "$work/base"
expect_equal "$(value '$.step_basis')" iteration
expect_equal "$(leaves '*' delta_ns)" "$(value '$.step.delta_ns')"
expect_equal "$(leaves '*' base_ns)" "$(value '$.step.base_ns')"

behaviour 'kernel tables alone tell that it lies between steps, step files alone that it is idle time'
for run in text0 pause_text; do
	cp -r "$work/$run" "$work/$run.table"
	rm "$work/$run.table"/*/ASCEND_PROFILER_OUTPUT/trace_view.json
	cp -r "$work/$run.table" "$work/$run.files"
	rm "$work/$run.files"/*/ASCEND_PROFILER_OUTPUT/kernel_details.csv
done
run "$npuprof" compare -q -f json --fail-on 'step>2%' "$work/text0.table" "$work/pause_text.table"
expect_exit 4
expect_equal "$(value '$.step_basis') $(value '$.causes[0].what')" 'iteration between/unknown'
run "$npuprof" compare -q -f json --fail-on 'step>2%' "$work/text0.files" "$work/pause_text.files"
expect_exit 4
expect_equal "$(value '$.step_basis') $(value '$.causes[0].what')" 'span free/unknown'
expect_equal "$(leaves '*' delta_ns)" "$(value '$.step.delta_ns')"
expect 'computing stayed as it was' test "$(leaves 'compute/*' delta_ns)" -lt 1000

behaviour 'several threads print the same'
run "$npuprof" compare -j 1 -q -f json "$work/base" "$work/db"
cp "$work/stdout" "$work/j1"
run "$npuprof" compare -j 4 -q -f json "$work/base" "$work/db"
expect 'equal output' cmp "$work/j1" "$work/stdout"
