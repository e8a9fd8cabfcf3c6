#!/usr/bin/env bash
# npuprof advisor: shares are of the iteration, idle time between steps and garbage collections are findings in every form.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3 python3
export NPUPROF_RULES=$NPUPROF_SOURCE/rules

make() {
	local name=$1

	shift
	"$synth" -q -o "$work/$name" --ranks 4 --steps 6 --layers 2 --no-instances --seed 5 "$@" || exit 1
}

# ask <sql over j, the JSON in $work/stdout>
ask() {
	sqlite3 :memory: "SELECT $1 FROM (SELECT readfile('$work/stdout') AS j)"
}

# finding <rule> <field>
finding() {
	sqlite3 :memory: "SELECT value ->> '$2' FROM json_each(readfile('$work/stdout'), '\$.findings') WHERE value ->> 'rule' = '$1'"
}

for form in db text; do
	make "pause.$form" --format $form --between 2000
	make "loaders.$form" --format $form --dataloader all:6000
done
make plain
make loader --dataloader 1:6000
make one --steps 1

for form in db text; do
	behaviour "idle time between steps is a finding, and shares are of the iteration ($form)"
	run "$npuprof" advisor -q -f json "$work/pause.$form"
	expect_exit 0
	# The mean over ranks and the five steps that have an iteration.
	expect_equal "$(ask "j ->> '\$.step_basis'")" iteration
	expect_equal "$(ask "j ->> '\$.step_ns'")" "$(sqlite3 :memory: "SELECT CAST(round(avg(s.value ->> 'iteration_ns')) AS INTEGER)
		FROM json_each(readfile('$work/pause.$form/truth.json'), '\$.ranks') r, json_each(r.value, '\$.steps') s
		WHERE s.value ->> 'iteration_ns' IS NOT NULL")"
	expect 'it gains what lies between steps' test "$(finding host.between gain_ns)" -gt 1900000 -a "$(finding host.between gain_ns)" -lt 2600000
	expect_equal "$(finding host.between repair)" between
	expect_equal "$(finding host.between 'severity')" high
	expect_equal "$(sqlite3 :memory: "SELECT abs((value ->> 'gain_pct') - 100.0 * (value ->> 'gain_ns') / (readfile('$work/stdout') ->> '\$.step_ns')) < 0.01
		FROM json_each(readfile('$work/stdout'), '\$.findings') WHERE value ->> 'rule' = 'host.between'")" 1
	expect_equal "$(finding host.dataloader rule)" ''
	run "$npuprof" advisor -q "$work/pause.$form"
	expect_stdout_says 'an iteration takes' 'The devices idle for' 'between two steps' 'Look at what the loop does after the optimizer'

	behaviour "a data loader that stalls all ranks is told, with the idle time it costs ($form)"
	run "$npuprof" advisor -q -f json "$work/loaders.$form"
	expect_exit 0
	expect 'the device idles meanwhile' test "$(finding host.dataloader gain_ns)" -gt 3500000
	expect_equal "$(sqlite3 :memory: "SELECT value ->> 'message' LIKE '%while the data loader works%' AND value ->> '\$.advice[0]' LIKE '%num_workers%'
		FROM json_each(readfile('$work/stdout'), '\$.findings') WHERE value ->> 'rule' = 'host.between'")" 1
	expect 'the two count once' test "$(ask "j ->> '\$.total.gain_ns'")" -lt "$(($(finding host.between gain_ns) + $(finding host.dataloader gain_ns)))"
done

behaviour 'a plain run idles little between steps, and one rank that does is a matter of its own'
run "$npuprof" advisor -q -f json "$work/plain"
expect_equal "$(finding host.between rule)" ''
run "$npuprof" advisor -q -f json "$work/loader"
expect_equal "$(finding host.between rule)" ''
expect_equal "$(finding cluster.straggler ranks)" '[1]'

behaviour 'the gain of idle time between steps is that of the replay, and comes on top of what other repairs gain'
make both --between 2000 --slow-rank 2:1.2
run "$npuprof" advisor -q -f json "$work/both" --rule 'host.between,cluster.straggler'
expect_exit 0
expect_equal "$(finding host.between gain_bound) $(finding cluster.straggler gain_bound)" 'replay replay'
expect_equal "$(finding cluster.straggler repair)" rank:2
expect_equal "$(ask "j ->> '\$.total.gain_ns'")" "$(($(finding host.between gain_ns) + $(finding cluster.straggler gain_ns)))"

behaviour 'a single step has no iteration: shares are of its span, and the rule says what is missing'
run "$npuprof" advisor -q -f json "$work/one"
expect_equal "$(ask "j ->> '\$.step_basis'")" span
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'status', value ->> 'reason' LIKE '%at least two consecutive steps%'
	FROM json_each(readfile('$work/stdout'), '\$.rules') WHERE value ->> 'id' = 'host.between'")" 'skipped|1'
run "$npuprof" advisor -q "$work/one"
expect_stdout_says 'the span of a step is'

# Collections as torch_npu writes them: a process of their own, each with a cat, 1.8 ms long in every pause.
cat >"$work/gc.py" <<'END'
import glob, json, sys

for path in glob.glob(sys.argv[1] + '/*/ASCEND_PROFILER_OUTPUT/trace_view.json'):
    with open(path) as f:
        events = json.load(f)
    marks = sorted((float(e['ts']), float(e['dur'])) for e in events if e.get('name', '').startswith('ProfilerStep#') and e['ph'] == 'X')
    pid, tid = 204800032, 200000
    events += [{'ph': 'M', 'name': 'process_name', 'pid': pid, 'tid': 0, 'args': {'name': 'Python GC'}},
               {'ph': 'M', 'name': 'process_labels', 'pid': pid, 'tid': 0, 'args': {'labels': 'CPU'}},
               {'ph': 'M', 'name': 'process_sort_index', 'pid': pid, 'tid': 0, 'args': {'sort_index': 1}},
               {'ph': 'M', 'name': 'thread_name', 'pid': pid, 'tid': tid, 'args': {'name': 'Python GC'}}]
    for ts, dur in marks[:-1]:
        events.append({'ph': 'X', 'name': 'GC', 'pid': pid, 'tid': tid, 'ts': '%.3f' % (ts + dur - 1900), 'dur': 1800.0, 'cat': 'GC', 'args': {}})
    with open(path, 'w') as f:
        json.dump(events, f)
END

behaviour 'garbage collections of a text export are a finding'
make gc --format text --between 2000
python3 "$work/gc.py" "$work/gc" || exit 1
run "$npuprof" advisor -q -f json "$work/gc"
expect_exit 0
expect_equal "$(finding host.gc ranks)" '[0,1,2,3]'
expect 'the devices idle meanwhile' test "$(finding host.gc gain_ns)" -gt 1000000
run "$npuprof" advisor -q "$work/gc"
expect_stdout_says '5 garbage collections take' 'the longest 1.8'
