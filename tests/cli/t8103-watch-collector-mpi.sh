#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctl watch: the windows of a job that runs are opened, exported, analysed and told of, until it has ended.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"
need_program python3

cd "$work" || exit 1
unset NPUPROF_HISTORY

# lines <expression over d>: its values of all lines of the file, in order
lines() {
	python3 -c 'import json, sys
print(" ".join(str(eval(sys.argv[2])) for d in map(json.loads, open(sys.argv[1]))))' watch.jsonl "$1"
}

has_lines() {
	[[ -e watch.jsonl ]] && (($(wc -l <watch.jsonl) >= $1))
}

behaviour 'without a job there is nothing to watch, and its options belong to it'
mkdir prof
run "$npuprof" ctl watch -d prof --store runs.db
expect_exit 1
expect_stderr_has 'no job is running in'
run "$npuprof" ctl status -d prof --lines here
expect_exit 2
expect_stderr_has '--lines belongs to watch'
run "$npuprof" ctl start -d prof --every 5
expect_exit 2
expect_stderr_has '--every belongs to watch'
run "$npuprof" ctl watch -d prof --store runs.db --every 5 --steps -1
expect_exit 2
expect_stderr_has '--every needs windows that end'

behaviour 'windows of the job are asked for, exported and told of; it goes on after it was killed and ends with the job'
name=job
mpirun -q -n 2 "$collector" -o prof --job job --ranks all --step-start 1 --step-end 3 --grace 5 -- \
	"$train" -q --steps 100000 --layers 2 --data-ms 20 >out 2>err &
pid=$!
expect 'the job never began' await 30 runs
watch=("$npuprof" ctl watch -d prof --store runs.db --settle 0 --interval 1 --lines watch.jsonl)
"${watch[@]}" --every 1 --steps 2 >first 2>said &
watcher=$!
expect 'no window was told of' await 60 has_lines 2
kill -KILL "$watcher"
wait "$watcher" 2>/dev/null
"${watch[@]}" >>first 2>>said &
watcher=$!
# One that the other has asked for before it was killed comes first.
free_for_one() {
	ctl start --steps 2
	! grep -qE 'a window is|ending' "$work/stderr"
}
expect 'there was no window' await 30 free_for_one
expect_exit 0
last=$(sed -n 's/^window \([0-9]*\):.*/\1/p' stdout)
expect 'the window was not told of' await 60 grep -qs "\"window-$last\"" watch.jsonl
kill -TERM "$pid"
wait "$pid"
wait "$watcher"
expect_equal "$?" 0
# Nothing is said but what each window has cost.
expect_equal "$(grep -vcE '^npuprof: (job|window-[0-9]+): opening and closing its profile took a rank [0-9.]+ (us|ms|s) at most$' said)" 0
expect_equal "$(grep "opening and closing" said | cut -d: -f2 | sort -u | wc -l)" "$last" # again where it was killed in between
# Its own window lies in the directory of the job, all others in one of theirs; each is told of once.
expect_equal "$(lines 'd["window"]' | tr ' ' '\n' | grep -c '^[0-9]*-[0-9]*$')" 1
expect_equal "$(lines 'd["window"]' | tr ' ' '\n' | grep -c '^window-')" "$((last - 1))"
expect_equal "$(lines 'd["window"]' | tr ' ' '\n' | sort | uniq -d)" ''
expect_equal "$(lines 'd["ranks_used"]' | tr ' ' '\n' | sort -u)" 2
expect_equal "$(sqlite3 runs.db 'SELECT DISTINCT job FROM RUN')" job

behaviour 'a window that cannot be exported is said once, with the reason'
rm -rf prof watch.jsonl runs.db
mkdir prof
mpirun -q -n 1 "$collector" -o prof --job job --ranks all --step-start 1 --step-end 3 --grace 5 -- \
	"$train" -q --steps 100000 --layers 2 --data-ms 20 >out 2>err &
pid=$!
expect 'the job never began' await 30 runs
closed() {
	grep -qs '"state": "closed"' prof/job/*/npuprof_rank.json
}
expect 'its own window was never complete' await 30 closed
"${watch[@]}" --msprof "$work/nowhere" >first 2>said &
watcher=$!
expect 'nothing was said' await 30 test -s said
kill -TERM "$pid"
wait "$pid"
wait "$watcher"
expect_equal "$?" 3
expect_equal "$(grep -c "job: no program '$work/nowhere': it comes with the CANN toolkit" said)" 1
expect_nothing_left
