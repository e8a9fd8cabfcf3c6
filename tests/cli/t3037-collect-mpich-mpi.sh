#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npuprof-collect under Hydra, the launcher of MPICH and Intel MPI: an application keeps its world, and what has no MPI
# gets one launcher for every rank.
# shellcheck source-path=SCRIPTDIR disable=SC2154
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"
need_program mpiexec.hydra
[[ -x $train-mpich ]] || skip 'built without MPICH'

window=(--ranks all --step-start 2 --step-end 5 --export after)
steps=(-q --steps 8 --layers 2 --data-ms 30)

# hydra <ranks> <option or application>...: collect below $work/prof
hydra() {
	local ranks=$1

	shift
	run_hydra timeout -k 10 90 mpiexec.hydra -n "$ranks" "$collector" -o "$work/prof" "$@"
}

# good_job <job>: three ranks with steps 2 to 4, which can be analysed together
good_job() {
	expect_equal "$(manifest "$1" '$.windows')" \
		'[{"first_step":2,"last_step":4,"step_source":"explicit","ranks":[0,1,2]}]'
	expect_equal "$(manifest "$1" '$.world_size')" 3
	run "$npuprof" cluster -d "$work/prof/$1" -f json
	expect_exit 0
	cp "$work/stdout" "$work/$1.json"
	expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/$1.json') ->> '\$.input.ranks_used'")" 3
}

behaviour 'an application linked with MPICH keeps its world: launchers meet inside of it'
hydra 3 --job app "${window[@]}" -- "$train-mpich" --mpi "${steps[@]}"
expect_exit 0
expect_stderr_has 'coordination: inapp (the application is linked with MPICH)' 'profiles of 3 of 3 ranks'
expect_equal "$(manifest app '$.coord')" inapp
good_job app
expect_nothing_left

behaviour 'launchers that cannot talk yet agree on a name for the job'
hydra 2 --ranks all --step-start 2 --step-end 4 -- "$train-mpich" --mpi "${steps[@]}"
expect_exit 0
expect_stderr_has 'profiles of 2 of 2 ranks'
expect_equal "$(find "$work/prof" -maxdepth 1 -name 'job-*' | wc -l)" 1

behaviour 'an application without MPI: the launchers are processes of MPICH'
hydra 3 --job plain "${window[@]}" -- "$train" "${steps[@]}"
expect_exit 0
expect_stderr_has 'coordination: mpi (started by mpiexec, and the application is not linked with MPI)' 'profiles of 3 of 3 ranks'
good_job plain
expect_nothing_left

behaviour 'nothing of the launcher reaches an application without MPI'
hydra 2 --job none --profile false -- sh -c 'env | grep -E "^(PMI|HYDI)" || echo clean'
expect_exit 0
expect_equal "$(sort -u "$work/stdout")" clean

behaviour 'what cannot work under Hydra is refused before anything starts'
hydra 2 --job helper --coord helper "${window[@]}" -- "$train-mpich" --mpi "${steps[@]}"
expect_exit 2
expect_stderr_has '--coord helper is for mpirun of Open MPI: under mpiexec (Hydra, PMI)' 'use --coord inapp'
expect 'no directory' test ! -e "$work/prof/helper"

behaviour 'MPI processes that are no world are refused before anything starts'
NPUPROF_MPI=openmpi hydra 2 --job other "${window[@]}" -- "$train" "${steps[@]}"
if [[ -e $NPUPROF_BUILD/libnpuprof_mpi-openmpi.so ]]; then
	expect_exit 1
	expect_stderr_has 'mpiexec (Hydra, PMI) started 2 processes, but in the world of MPI (Open MPI'
	expect 'no directory' test ! -e "$work/prof/other"
fi

behaviour 'an application of MPICH under the mpirun of Open MPI: its ranks are alone, and that is said'
launch 2 --job mixed --ranks all --step-start 2 --step-end 4 -- "$train-mpich" --mpi "${steps[@]}"
expect_stderr_has 'is linked with MPICH, but mpirun (Open MPI) started it' \
	"2 ranks were started, but in the world of the application's MPI there is 1"
expect 'the status is not 0' test "$status" -ne 0
expect_nothing_left
