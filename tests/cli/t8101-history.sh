#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs over time: what is added once, what changed when, which machine is slow, whether a run is as usual.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
unset NPUPROF_HISTORY

# make <name> <synth options>...
make() {
	local name=$1

	shift
	"$synth" -q -o "$name" --no-instances --ranks 4 --layers 2 --kernels-per-layer 3 --steps 3 "$@" || exit 1
}

# store <SQL>
store() {
	sqlite3 runs.db "$1"
}

make one --seed 1 --slow-rank 2:1.3
make two --seed 2 --slow-rank 2:1.3

behaviour 'a run is added once, with its labels'
run "$npuprof" history add one --store runs.db --label commit=1f3a --label branch=main
expect_exit 0
expect_stdout_has 'run 1: 4 ranks, step' 'added to runs.db'
run "$npuprof" history add one --store runs.db
expect_exit 0
expect_stdout <<<'run 1: it is in runs.db already'
run "$npuprof" history add -d two --store runs.db --job other -f json
expect_exit 0
expect_stdout_has '"run": 2' '"known": false'
expect_equal "$(store 'SELECT group_concat(job) FROM RUN')" 'default,other'
expect_equal "$(store "SELECT group_concat(name || '=' || value) FROM LABEL")" 'commit=1f3a,branch=main'

behaviour 'a copy of a run is the same run, and one that was whole later takes its place'
sqlite3 runs.db '.clone copies.db' >/dev/null
cp -r one copied
run "$npuprof" history add copied --store copies.db
expect_exit 0
expect_stdout <<<'run 1: this capture is in copies.db already, from other files'
cp -r two later
rm -rf later/*_200051_*
"$npuprof" history add later -q --store copies.db --job late --label commit=9 >/dev/null
cp -r two/. later
run "$npuprof" history add later -q --store copies.db --job late --label who=me
expect_stdout_has 'run 4: 4 ranks' 'in place of run 3, which lacked ranks of this capture'
expect_equal "$(sqlite3 copies.db 'SELECT group_concat(id) FROM (SELECT id FROM RUN ORDER BY id); SELECT group_concat(name || value) FROM (SELECT * FROM LABEL WHERE run = 4 ORDER BY name)')" \
	$'1,2,4\ncommit9,whome'
run "$npuprof" history add later -q --store copies.db --job renamed --label 'commit=it'\''s'
expect_stdout_has 'run 4: it is in copies.db already' 'its job is renamed' 'its labels are changed'
expect_equal "$(sqlite3 copies.db "SELECT job, value FROM RUN JOIN LABEL ON run = id WHERE id = 4 AND name = 'commit'")" "renamed|it's"
run "$npuprof" history remove 2 4 --store copies.db
expect_stdout <<<'2 runs were removed from copies.db'
expect_equal "$(sqlite3 copies.db 'SELECT group_concat(id) FROM RUN; SELECT count(DISTINCT run) FROM RANK; SELECT count(DISTINCT run) FROM LABEL')" $'1\n1\n1'
run "$npuprof" history remove 2 --store copies.db
expect_exit 2
expect_stderr_has "'copies.db' has no run 2"
run "$npuprof" history remove --store copies.db
expect_exit 2
expect_stderr_has 'remove takes the numbers of runs, as list shows them'

behaviour 'what is kept are the figures of the analysis'
"$npuprof" cluster -q -d one -f json -o out >cluster.json
expect_equal "$(store 'SELECT step_ns, verdict, what FROM RUN WHERE id = 1')" \
	"$(sqlite3 :memory: "SELECT readfile('cluster.json') ->> '\$.breakdown.step_ns'")|rank|rank:2"
expect_equal "$(store "SELECT ns FROM FIGURE WHERE run = 1 AND name = 'computing'")" \
	"$(sqlite3 :memory: "SELECT value ->> 'ns' FROM json_each(readfile('cluster.json'), '\$.breakdown.parts')
		WHERE value ->> 'part' = 'computing'")"
expect_equal "$(store 'SELECT count(*), count(DISTINCT host), sum(device) FROM RANK WHERE run = 1')" '4|1|6'
# A rank that is waited for waits least.
expect_equal "$(store 'SELECT rank FROM RANK WHERE run = 1 ORDER BY wait_ns LIMIT 1')" 2
expect 'the leaves of a rank sum to its step' test "$(store 'SELECT count(*) FROM RANK WHERE
	abs(step_ns - computing_ns - wait_ns - transfer_ns - idle_ns) > step_ns / 100')" = 0

behaviour 'iterations of the newest runs, and how far to believe them'
expect_equal "$(store 'SELECT count(*), sum(abs(length_ns - computing_ns - wait_ns - transfer_ns - idle_ns) > length_ns / 100) FROM STEP WHERE run = 1')" '8|0'
# Who owes in an iteration is who came late in it.
sqlite3 -header -csv out/cluster_analysis_output/cluster_analysis.db \
	"SELECT rank, step, sum(cost_ns) FROM np_blame GROUP BY 1, 2 ORDER BY 1, 2" | tail -n +2 >blame.txt
expect_equal "$(sqlite3 -csv runs.db 'SELECT rank, step, blame_ns FROM STEP WHERE run = 1 AND blame_ns > 0 ORDER BY 1, 2')" \
	"$(sqlite3 :memory: "CREATE TABLE b(rank, step, ns)" ".mode csv" ".import blame.txt b" "ATTACH 'runs.db' AS h" \
		"SELECT b.rank, b.step, ns FROM b JOIN h.STEP s ON s.run = 1 AND s.rank = b.rank AND s.step = b.step WHERE ns + 0 > 0 ORDER BY b.rank + 0, b.step")"
expect 'the slow rank owes the most' test "$(store 'SELECT rank FROM STEP WHERE run = 1 GROUP BY rank ORDER BY sum(blame_ns) DESC LIMIT 1')" = 2
expect_equal "$(store 'SELECT ops_matched || "/" || ops, left_out, partial FROM TRUST WHERE run = 1')" \
	"$(sqlite3 :memory: "SELECT readfile('cluster.json') ->> '\$.trust.ops_matched' || '/' || (readfile('cluster.json') ->> '\$.trust.ops_total')")|0|0"
expect_equal "$(store 'SELECT clock_error_ns FROM TRUST WHERE run = 1')" \
	"$(sqlite3 :memory: "SELECT readfile('cluster.json') ->> '\$.trust.clock.residual_p90_ns'")"

behaviour 'a list, and all of it for programs'
run "$npuprof" history list --store runs.db
expect_exit 0
expect_stdout_has 'rank:2' 'commit=1f3a branch=main' 'other'
"$npuprof" history export --store runs.db -f json >export.json
run python3 "$NPUPROF_SOURCE/tests/cli/json_schema.py" "$NPUPROF_SOURCE/doc/schema" export.json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('export.json') ->> '$.runs[0].trust.ranks_left_out'")" 0
run "$npuprof" history export --store runs.db -f csv
expect_exit 0
expect_equal "$(wc -l <stdout)" 9
expect_equal "$(head -n 1 stdout)" 'run,captured_ns,job,rank,host,device,stage,step_ns,computing_ns,wait_ns,transfer_ns,idle_ns,charge_ns,mhz'

run "$npuprof" history list --store runs.db --job other
expect_stdout_lacks 'rank:2  commit'
expect_equal "$(grep -c ' other ' stdout)$(grep -c ' default ' stdout)" 10
run "$npuprof" history list --store runs.db --label commit=1f3a -f json
expect_equal "$(sqlite3 :memory: "SELECT group_concat(value ->> 'run') FROM json_each(readfile('stdout'), '$.runs')")" 1
run "$npuprof" history export --store runs.db --last 1 -f csv
expect_equal "$(wc -l <stdout)" 5
run "$npuprof" history list --store runs.db --last 1 -f csv
expect_equal "$(cut -d, -f1 stdout | sort -u | wc -l)" 2
run "$npuprof" history list --store runs.db --job nobody
expect_exit 1
expect_stderr_has 'no run of the history fits; its jobs are: default, other'

behaviour 'a change of the step is found at its run, with its label'
# Twenty runs of one that was analysed, the last eight 5 % longer; the store is plain SQLite.
for i in {3..22}; do
	sqlite3 runs.db "INSERT INTO RUN SELECT $i, 'f$i', 'llm', dir, captured + $i * 86400000000000, added, program, device, world,
		ranks, steps, step_ns * (1.0 + ($i % 5) / 1000.0 + ($i > 14) * 0.05), basis, verdict, what, sentence FROM RUN WHERE id = 1;
		INSERT INTO FIGURE SELECT $i, 'step', step_ns FROM RUN WHERE id = $i;
		INSERT INTO LABEL VALUES($i, 'commit', 'c$i');"
done
run "$npuprof" history trend --store runs.db
expect_exit 0
expect_stdout_has 'step rose by' 'at run 15 ' 'its labels: commit=c15' '20 runs of llm on 4 ranks' 'left out: 2 runs of other jobs'
sqlite3 runs.db ".clone since.db" >/dev/null
sqlite3 since.db "UPDATE RUN SET what = 'rank:0' WHERE id < 15; INSERT INTO RANK SELECT 22, rank, host, device, stage, tp, dp, ep, step_ns, computing_ns,
	wait_ns, transfer_ns, idle_ns, charge_ns, mhz FROM RANK WHERE run = 1"
run "$npuprof" history trend --store since.db
expect_stdout_has 'since then most runs name rank:2, in the newest device 2 of host0; before, rank:0'
# Placed differently in each run: the machine is named, not the rank that happened to be on it.
sqlite3 runs.db ".clone placed.db" >/dev/null
sqlite3 placed.db "UPDATE RUN SET what = 'rank:' || (id % 4) WHERE id >= 15;
	INSERT INTO RANK SELECT RUN.id, rank, host, (rank - RUN.id % 4 + 6) % 4, stage, tp, dp, ep, RANK.step_ns, computing_ns,
	wait_ns, transfer_ns, idle_ns, charge_ns, mhz FROM RANK JOIN RUN ON RUN.id BETWEEN 3 AND 22 WHERE run = 1"
run "$npuprof" history trend --store placed.db
expect_stdout_has 'since then most runs name device 2 of host0, whatever rank was on it; before, rank:2'
run "$npuprof" history trend --store placed.db --lang zh
expect_stdout_has '此后多数运行指向 host0 的设备 2，不论其上是哪个 rank；此前为 rank:2'
"$npuprof" history trend --store placed.db -f json >placed.json
expect_equal "$(sqlite3 :memory: "SELECT readfile('placed.json') ->> '\$.changes[0].named_device', readfile('placed.json') ->> '\$.changes[0].named_host'")" '2|host0'
run "$npuprof" history trend --store runs.db --last 16
expect_stdout_has 'step rose by' 'at run 15 '
run "$npuprof" history trend --store runs.db --last 8
expect_stdout_has 'too few runs to tell a change: 8, and 12 are needed'
sqlite3 runs.db ".clone drift.db" >/dev/null
sqlite3 drift.db "UPDATE FIGURE SET ns = 10000000 + run * 100000 + run % 3 * 20000 WHERE name = 'step'"
sqlite3 drift.db '.clone back.db' >/dev/null
sqlite3 back.db "UPDATE FIGURE SET ns = 10000000 + run % 3 * 20000 + (run BETWEEN 10 AND 15) * 600000 WHERE name = 'step'"
run "$npuprof" history trend --store back.db
expect_stdout_has 'step fell by' 'at run 16 ' 'that is as it was before run 10'
run "$npuprof" history trend --store drift.db --lang en
expect_stdout_has 'step rose gradually by' 'from run 3 to run 22' 'no single run' '3-22'
"$npuprof" history trend --store drift.db -f json >drift.json
run python3 "$NPUPROF_SOURCE/tests/cli/json_schema.py" "$NPUPROF_SOURCE/doc/schema" drift.json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('drift.json') ->> '\$.changes[0].kind', readfile('drift.json') ->> '\$.changes[0].until_run'")" 'gradual|22'
# Where the runs lie is known: those on both sides of the change are to be compared.
sqlite3 runs.db '.clone where.db' >/dev/null
sqlite3 where.db "UPDATE RUN SET dir = 'run ' || id"
run "$npuprof" history trend --store where.db
expect_stdout_has "do next: npuprof compare 'run 14' 'run 15' tells where the time went"
run "$npuprof" history trend --store runs.db --figure nonsense
expect_exit 2
expect_stderr_has "no run has the figure 'nonsense'; there are step"
run "$npuprof" history trend --store runs.db --job other
expect_stdout_has 'too few runs to tell a change: 1, and 12 are needed'
run "$npuprof" history trend --store runs.db --job nobody
expect_exit 1
expect_stderr_has 'no run of the history fits; its jobs are: default, other, llm'

behaviour 'machines that never moved are not told from roles'
run "$npuprof" history effects --store runs.db --job default
expect_exit 0
expect_stdout_has 'cannot tell roles from machines: every rank was on the same device in all 1 runs'
run "$npuprof" history advise --store runs.db --job default
expect_stdout_has 'test device 2 of host0 first' 'was always in the same role'

behaviour 'a device that is slow wherever it is placed is named and drained'
# The ranks of the first run in four orders: the device of rank 2 stays the slow one.
rm -f moved.db
"$npuprof" history add one --store moved.db >/dev/null
for i in {2..12}; do
	sqlite3 moved.db "INSERT INTO RUN SELECT $i, 'f$i', job, dir, captured + $i, added, program, device, world, ranks, steps, step_ns,
		basis, verdict, what, sentence FROM RUN WHERE id = 1;
		INSERT INTO RANK SELECT $i, (rank + $i) % 4, host, device, stage, tp, dp, ep, step_ns, computing_ns * (1 + (rank * $i % 7) / 2000.0),
		wait_ns, transfer_ns, idle_ns, charge_ns, mhz FROM RANK WHERE run = 1;
		INSERT INTO REPAIR SELECT $i, 'rank:' || ((2 + $i) % 4), saved_ns FROM REPAIR WHERE run = 1 AND repair = 'rank:2';"
done
run "$npuprof" history effects --store moved.db
expect_exit 0
expect_stdout_has 'device 2 of host0 takes' 'longer (computing), in whatever role'
run "$npuprof" history advise --store moved.db
expect_exit 0
expect_stdout_has 'drain device 2 of host0 first:' 'slow in whatever role'
run "$npuprof" history advise --store moved.db --lang zh
expect_stdout_has '应先下线 host0 的设备 2'

behaviour 'in simulated histories of a second generator just what was planted is named'
# The seeds are such in which others were named when few runs told roles from machines.
run python3 "$NPUPROF_SOURCE/tools/sweep/history.py" "$npuprof" --seeds 1 --first 511 --world 'a spare now and then' \
	--world 'hosts move' --world 'slow host' --world 'partly' --world 'fixed' --world 'additive' --world 'other sizes'
expect_exit 0
expect_equal "$(grep -c '1 of 1 right, 0 others named' stdout)" 7

behaviour 'a slow machine is said also where nobody knows what draining it gains'
sqlite3 moved.db '.clone unplayed.db' >/dev/null
sqlite3 unplayed.db 'DELETE FROM REPAIR'
run "$npuprof" history advise --store unplayed.db
expect_exit 0
expect_stdout_has 'what draining gains is not known: none of the runs could be replayed' 'device 2 of host0 takes' 'longer in whatever role: test it'
expect_stdout_lacks 'nothing to drain'
sqlite3 unplayed.db "INSERT INTO REPAIR SELECT id, 'rank:0', 0 FROM RUN"
run "$npuprof" history advise --store unplayed.db
expect_stdout_has 'nothing to drain: no repair' 'test it; others set the pace'

behaviour 'two devices that hide each other are drained together, with the gain of both'
make both --seed 4 --slow-rank 1:1.3 --slow-rank 2:1.3
"$npuprof" history add both --store both.db >/dev/null
joint=$(sqlite3 both.db "SELECT repair FROM REPAIR WHERE repair IN ('rank:1+rank:2', 'rank:2+rank:1')")
run "$npuprof" whatif -q -d both --fix rank:1 --fix rank:2 -f json
expect_equal "$(sqlite3 both.db "SELECT saved_ns FROM REPAIR WHERE repair = '$joint'")" \
	"$(sqlite3 :memory: "SELECT readfile('stdout') ->> '\$.together.saved_ns'")"
for i in {2..12}; do
	sqlite3 both.db "INSERT INTO RUN SELECT $i, 'f$i', job, dir, captured + $i, added, program, device, world, ranks, steps, step_ns,
		basis, verdict, what, sentence FROM RUN WHERE id = 1;
		INSERT INTO RANK SELECT $i, (rank * (1 + 2 * ($i % 2)) + $i / 2) % 4, host, device, stage, tp, dp, ep, step_ns,
		computing_ns * (1 + (rank * $i % 7) / 2000.0), wait_ns, transfer_ns, idle_ns, charge_ns, mhz FROM RANK WHERE run = 1;
		INSERT INTO REPAIR SELECT $i, 'rank:' || (SELECT rank FROM RANK WHERE run = $i AND device = 1) || '+rank:' ||
		(SELECT rank FROM RANK WHERE run = $i AND device = 2), saved_ns FROM REPAIR WHERE run = 1 AND repair = '$joint';"
done
run "$npuprof" history advise --store both.db -f json
expect_equal "$(sqlite3 :memory: "SELECT readfile('stdout') ->> '\$.together.machines', readfile('stdout') ->> '\$.together.runs_exact'")" '2|12'
cp stdout advice.json
run python3 "$NPUPROF_SOURCE/tests/cli/json_schema.py" "$NPUPROF_SOURCE/doc/schema" advice.json
expect_exit 0
run "$npuprof" history advise --store both.db
expect_stdout_has 'the 2 to drain together: ' 'of the step ('
run "$npuprof" history advise --store both.db --hosts 1
expect_stdout_lacks 'together'

behaviour 'a run is judged against earlier ones, also by compare'
run "$npuprof" history judge one --store moved.db
expect_exit 3
expect_stdout_has 'cannot be judged' # these runs have no figures
for i in {2..9}; do
	sqlite3 moved.db "INSERT INTO FIGURE SELECT $i, name, ns * (1 + $i / 1000.0) FROM FIGURE WHERE run = 1"
done
run "$npuprof" history judge two --store moved.db --fail-on 'step>20%'
expect_exit 0
make worse --seed 3 --slow-rank 2:2.5
# A run that the store knows is held against its own job, and not against that of the newest run.
sqlite3 moved.db '.clone jobs.db' >/dev/null
"$npuprof" history add worse -q --store jobs.db --job other >/dev/null
sqlite3 jobs.db "UPDATE RUN SET captured = 1 WHERE job = 'other'"
run "$npuprof" history judge worse --store jobs.db
expect_stdout_has '0 earlier runs of other are known'
run "$npuprof" history judge worse --store jobs.db --job default
expect_stdout_has 'it names rank:2'
# Runs that were captured after it are none of the earlier ones.
sqlite3 moved.db '.clone later.db' >/dev/null
sqlite3 later.db 'UPDATE RUN SET captured = captured + 86400000000000 WHERE id > 6'
run "$npuprof" history judge worse --store later.db
expect_stdout_has '6 runs of default on 4 ranks' 'left out: 6 runs that were captured later'
sqlite3 later.db 'UPDATE RUN SET captured = captured + 86400000000000'
run "$npuprof" history judge worse --store later.db
expect_stdout_has '0 earlier runs of default are known' 'left out: 12 runs that were captured later'
run "$npuprof" history judge worse --store later.db -f json
expect_equal "$(sqlite3 :memory: "SELECT readfile('stdout') ->> '\$.runs_later'")" 12
export NPUPROF_HISTORY=moved.db
# Without a gate every run passes, and the step is said to be longer all the same.
"$npuprof" history judge worse -q -f json >judged.json
run python3 "$NPUPROF_SOURCE/tests/cli/json_schema.py" "$NPUPROF_SOURCE/doc/schema" judged.json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('judged.json') ->> '\$.result', readfile('judged.json') ->> '\$.step_is', readfile('judged.json') ->> '\$.gated'")" 'pass|longer|0'
expect_equal "$(sqlite3 :memory: "SELECT min(value ->> 'usual_low_ns') >= 0 FROM json_each(readfile('judged.json'), '\$.figures')")" 1
run "$npuprof" compare --baseline history worse --fail-on 'step>5%'
expect_exit 4
expect_stdout_has 'fails: step is' '100 % of them had less' 'it names rank:2, device 2 of host0' 'do next: npuprof compare one worse tells'
expect_equal "$(sed -n 3p stdout | cut -c1-16)" '  fails: step is'
run "$npuprof" compare --baseline history:commit=none worse
expect_exit 1
run "$npuprof" compare --baseline yesterday worse
expect_exit 2
expect_stderr_has "--baseline takes history or history:NAME=VALUE, not 'yesterday'"
run "$npuprof" compare --baseline history one worse
expect_exit 2
expect_stderr_has 'give NEW alone'
run "$npuprof" history judge worse --fail-on 'speed>5%'
expect_exit 2
expect_stderr_has "condition 'speed>5%' of --fail-on names no figure of the run"

for words in '-f md' '-f csv' '--view kernel' '--no-stats' '-o out'; do
	# shellcheck disable=SC2086
	run "$npuprof" compare --baseline history worse $words
	expect_exit 2
	expect_stderr_has 'with --baseline the answer is a table or JSON'
done
run "$npuprof" history trend -f csv
expect_exit 2
expect_stderr_has 'only list and export have -f csv'

behaviour 'where waiting and transfer are not told apart, idle time is known all the same'
make plain --level 0 --ranks 4 --seed 8
find plain -name 'analysis.db' -delete
run "$npuprof" history add -q plain --store plain.db
expect_equal "$(sqlite3 plain.db 'SELECT count(*) FROM RANK WHERE idle_ns IS NULL OR computing_ns IS NULL')" 0

expect_equal "$(sqlite3 plain.db 'SELECT count(*) > 0, count(blame_ns) = count(*) FROM STEP')" '1|1'
run "$npuprof" history advise --store plain.db
expect_stdout_has 'one run of default on 4 ranks, '
# Without communication nobody knows who waited for whom: that is not nothing.
make alone --ranks 1 --seed 9
run "$npuprof" history add -q alone --store alone.db
expect_equal "$(sqlite3 alone.db 'SELECT count(blame_ns), count(*) > 0 FROM STEP; SELECT count(charge_ns) FROM RANK')" $'0|1\n0'
if [[ -n ${NPUPROF_SHARED:-} && -d $NPUPROF_SHARED/data/helix ]]; then
	run "$npuprof" history add -q "$NPUPROF_SHARED/data/helix" --store helix.db
	run "$npuprof" history list --store helix.db
	expect_stdout_has 'withheld: rank 1: op_summary'
fi

behaviour 'old runs are removed'
run "$npuprof" history prune --store runs.db --keep 2
expect_exit 0
expect_stdout <<<'18 runs were removed from runs.db'
expect_equal "$(store 'SELECT group_concat(id) FROM (SELECT id FROM RUN ORDER BY id)')" '1,2,21,22'
run "$npuprof" history prune --store runs.db
expect_exit 2
expect_stderr_has 'prune needs --keep N'

behaviour 'several who add at once lose nothing, also where the file system knows no locks'
for i in {11..18}; do
	make "many$i" --ranks 1 --seed "$i"
done
without_locks=()
grep -q '^NP_SANITIZE:STRING=.' "$NPUPROF_BUILD/CMakeCache.txt" || [[ ! -e $NPUPROF_BUILD/libfailing_calls.so ]] ||
	without_locks=(env LD_PRELOAD="$NPUPROF_BUILD/libfailing_calls.so" NP_TEST_FAIL=locks)
for kind in plain "${without_locks[0]:-}"; do
	[[ -n $kind ]] || continue
	rm -rf at_once
	mkdir at_once
	for i in {11..18}; do
		if [[ $kind == plain ]]; then
			"$npuprof" history add "many$i" -q --store at_once/runs.db >/dev/null &
		else
			"${without_locks[@]}" "$npuprof" history add "many$i" -q --store at_once/runs.db >/dev/null &
		fi
	done
	wait
	expect_equal "$kind $(sqlite3 at_once/runs.db 'SELECT count(*), count(DISTINCT fingerprint) FROM RUN')" "$kind 8|8"
	expect_equal "$(ls -A at_once)" runs.db
done
if ((${#without_locks[@]})); then
	# One that was killed while it held the file is found dead; one of another host is waited for.
	: >'at_once/.npuprof.held'
	run "${without_locks[@]}" "$npuprof" history add one -q --store at_once/runs.db
	expect_exit 0
	expect_equal "$(ls -A at_once)" runs.db
fi

behaviour 'what cannot be is said in a line'
unset NPUPROF_HISTORY
run "$npuprof" history list
expect_exit 2
expect_stderr_has 'which store? give --store FILE, or set NPUPROF_HISTORY'
run "$npuprof" history list --store nowhere.db
expect_exit 1
expect_stderr_has nowhere.db
run "$npuprof" history add --store runs.db
expect_exit 2
expect_stderr_has 'add needs the directory of a run'
run "$npuprof" history add one --store runs.db --label nothing
expect_exit 2
expect_stderr_has "--label 'nothing' is not NAME=VALUE"
run "$npuprof" history trend one --store runs.db
expect_exit 2
expect_stderr_has "only add and judge take a directory, not 'one'"
for words in 'prune --keep 1 --job other' 'remove 1 --label a=b' 'trend --fail-on step>2%' 'list --figure step' 'judge one --last 3' 'trend --keep 2'; do
	# shellcheck disable=SC2086
	run "$npuprof" history $words --store runs.db
	expect_exit 2
	expect_stderr_has 'does not take --'
done
run "$npuprof" history dance --store runs.db
expect_exit 2
expect_stderr_has "unknown action 'dance'"
sqlite3 foreign.db 'CREATE TABLE t(x)'
before=$(sha256sum foreign.db)
run "$npuprof" history add two --store foreign.db
expect_exit 1
expect_stderr_has "'foreign.db' is no history of npuprof"
expect_equal "$(sha256sum foreign.db)" "$before"
# A page in the middle is overwritten: nothing is read from it, and nothing is written to it that nobody would see.
sqlite3 runs.db '.clone hurt.db' >/dev/null
dd if=/dev/urandom of=hurt.db bs=1024 seek=6 count=60 conv=notrunc 2>/dev/null
before=$(sha256sum hurt.db)
for words in list "add two" "add one --label a=b" 'remove 1' 'prune --keep 1'; do
	# shellcheck disable=SC2086
	run "$npuprof" history $words -q --store hurt.db
	expect_exit 1
	expect_stderr_has "the history 'hurt.db' is damaged: put a copy of it in its place"
done
expect_equal "$(sha256sum hurt.db)" "$before"
printf 'not a database at all' >text.db
run "$npuprof" history list --store text.db
expect_exit 1
