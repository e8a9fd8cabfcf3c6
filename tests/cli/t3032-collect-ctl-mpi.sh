#!/usr/bin/env bash
# Windows on request: npuprof ctl, SIGUSR2, several in one job, and who may ask.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"

# Enough steps for all that is asked for; the job is ended when that is done.
job=("$train" -q --steps 100000 --layers 2 --data-ms 20)

# steps_of <job> <rank> <window>: "first last" of it
steps_of() {
	sqlite3 :memory: "SELECT r ->> 'first_step', r ->> 'last_step' FROM (SELECT value AS r FROM
		json_each(readfile('$work/prof/$1/window-$3/npuprof_manifest.json'), '\$.ranks')) WHERE r ->> 'rank' = $2"
}

# closed <job> <directory of a window> <ranks>: are all its profiles complete?
closed() {
	(($(grep -l '"state": "closed"' "$work/prof/$1/$2"/*/npuprof_rank.json | wc -l) == $3))
}

# job_ends <pid>: stop it, and wait
job_ends() {
	kill -TERM "$1"
	status=0
	wait "$1" || status=$?
}

behaviour 'without a job there is nobody to ask'
mkdir "$work/prof"
run "$npuprof" ctl status -d "$work/prof"
expect_exit 1
expect_stderr_has 'no job is running in'
run "$npuprof" ctl begin -d "$work/prof"
expect_exit 2
expect_stderr_has "'begin' is none of start, stop, status and watch"
run "$npuprof" ctl start --ranks 1-x
expect_exit 2
expect_stderr_has "'1-x' names no ranks"

name=mpi
cat >"$work/tools.json" <<'JSON'
{ "profile": { "enable": true, "profile_type": "dynamic", "ranks": [-1],
  "static_param": { "level": "level1" }, "dynamic_param": { "config_path": "./" } } }
JSON
mpirun -q -n 4 "$collector" -o "$work/prof" --job mpi --config "$work/tools.json" --grace 5 --window-steps 2 -- \
	"${job[@]}" >"$work/out" 2>"$work/err" &
pid=$!

behaviour 'status tells how far the job is'
expect 'the job never began' await 30 runs
ctl status
expect_exit 0
expect_stdout_has 'job mpi: 4 launchers, step' 'windows so far: 0'
expect 'nothing is collected before it is asked for' test -z "$(find "$work/prof/mpi" -name '*_ascend_pt')"
expect_equal "$(stat -c %a "$work/prof/mpi/npuprof_control.json")" 600

behaviour 'a window begins at a step that no rank has begun, the same for all'
ctl start --steps 3
expect_exit 0
expect_stdout_has 'window 1: steps' "on 4 ranks, in '$work/prof/mpi/window-1'"
expect 'it was never complete' await 30 closed mpi window-1 4

behaviour 'another one, on other ranks and another level; a step that has begun already is not taken'
next_window --at 1 --steps 2 --level level0 --ranks 1,3
expect_exit 0
expect_stdout_has 'window 2: steps' 'on 2 ranks' '(an earlier step had begun already)'
expect 'it was never complete' await 30 closed mpi window-2 2

behaviour 'a window without an end is stopped; until then there is no other'
next_window --steps -1
expect_exit 0
expect_stdout_has 'window 3: from step' 'until it is stopped'
opened() {
	(($(find "$work/prof/mpi/window-3" -name npuprof_rank.json | wc -l) == 4))
}
expect 'it never began' await 30 opened
ctl start
expect_exit 1
expect_stderr_has 'no window: rank' ': a window is open'
ctl stop
expect_exit 0
expect_stdout_has 'the window ends before step'
expect 'it was never complete' await 30 closed mpi window-3 4
expect 'the launcher does not know' await 10 is_over
ctl stop
expect_stdout_has 'no window is open'

behaviour 'SIGUSR2 to mpirun asks for a window'
kill -USR2 "$pid"
expect 'it was never complete' await 30 closed mpi window-4 4

if ((EUID == 0)) && command -v setpriv >/dev/null; then
	behaviour 'nobody else may ask'
	chmod 755 "$work" "$work/prof" "$work/prof/mpi"
	run setpriv --reuid 65534 --regid 65534 --clear-groups timeout 20 "$npuprof" ctl status -d "$work/prof/mpi"
	if [[ -x $npuprof ]] && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$npuprof"; then
		expect_exit 1
		chmod 644 "$work/prof/mpi/npuprof_control.json"
		run setpriv --reuid 65534 --regid 65534 --clear-groups timeout 20 "$npuprof" ctl status -d "$work/prof/mpi"
		expect_exit 1
		expect_stdout </dev/null
		ctl status
		expect_exit 0
	else
		echo 'the build directory is closed to others: a client of another user is not tried'
	fi
else
	echo 'this is not root: a client of another user is not tried'
fi
job_ends "$pid"

behaviour 'every window is in the manifest, and has one of its own'
expect_equal "$(manifest mpi '$.windows[0].dir')|$(manifest mpi '$.windows[1].dir')|$(manifest mpi '$.windows[2].dir')|$(manifest mpi '$.windows[3].dir')" \
	'window-1|window-2|window-3|window-4'
expect_equal "$(manifest mpi '$.windows[1].ranks')" '[1,3]'
for window in 1 3 4; do
	expect_equal "$(steps_of mpi 1 $window)" "$(steps_of mpi 0 $window)"
	expect_equal "$(steps_of mpi 3 $window)" "$(steps_of mpi 0 $window)"
done
expect_equal "$(manifest mpi '$.windows[0].last_step')" "$(($(manifest mpi '$.windows[0].first_step') + 2))"
expect_equal "$(manifest mpi '$.windows[3].last_step')" "$(($(manifest mpi '$.windows[3].first_step') + 1))"
expect 'the second was at level 0' grep -q '"level": "Level0"' "$work/prof/mpi/window-2"/*/npuprof_rank.json
expect 'the file of the socket is left' test ! -e "$work/prof/mpi/npuprof_control.json"
run "$npuprof" export "$work/prof/mpi/window-1"
expect_exit 0
run "$npuprof" cluster -d "$work/prof/mpi/window-1" -f json
expect_exit 0
cp "$work/stdout" "$work/window.json"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/window.json') ->> '\$.input.ranks_used'")" 4

behaviour 'the same on two nodes without MPI, after a window of its own'
name=tcp
nodes tcp --ranks all --step-start 1 --step-end 3 -- "${job[@]}"
expect 'its own window was never complete' await 30 closed tcp . 4
next_window --steps 2 --ranks all
expect_exit 0
expect_stdout_has 'window 2: steps' 'on 4 ranks'
expect 'it was never complete' await 30 closed tcp window-2 4
kill -TERM "${node_pids[@]}"
both_end
expect_equal "$(manifest tcp '$.windows[0].first_step')|$(manifest tcp '$.windows[0].last_step')" '1|2'
expect_equal "$(manifest tcp '$.windows[1].dir')|$(manifest tcp '$.windows[1].ranks')" 'window-2|[0,1,2,3]'

if [[ -x $train-mpi ]]; then
	behaviour 'the same with an MPI program'
	name=helper
	mpirun -q -n 4 "$collector" -o "$work/prof" --job helper --dynamic --ranks all --grace 5 -- \
		"$train-mpi" --mpi -q --steps 100000 --layers 2 --data-ms 20 >"$work/out" 2>"$work/err" &
	pid=$!
	expect 'the job never began' await 30 runs
	ctl start --steps 2
	expect_exit 0
	expect 'it was never complete' await 30 closed helper window-1 4
	job_ends "$pid"
	expect_equal "$(manifest helper '$.windows[0].ranks')" '[0,1,2,3]'
fi
expect_nothing_left
