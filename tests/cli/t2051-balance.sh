#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The slowdown by the published rule, against the rule itself in another language on jobs of known causes.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
need_program sqlite3
export PYTHONDONTWRITEBYTECODE=1
cd "$NPUPROF_SOURCE/tools/sweep" || exit 1

behaviour 'slowdown and shares of jobs with a longer stage, a slow worker and none are those of the rule'
run python3 -m field.published --build "$(dirname "$npuprof")" --jobs even,stage,worker --seeds 1-1
expect_exit 0
expect_stdout_has 'slowdown'

behaviour 'likewise where micro-batches differ, and with many kernels to a micro-batch'
run python3 -m field.published --build "$(dirname "$npuprof")" --jobs lengths,stage --seeds 2-2 --pieces 7 --keep "$work"
expect_exit 0
cd "$work" || exit 1

behaviour 'the screen of whatif says it in one line, the JSON of both commands has it'
run "$npuprof" whatif -q -d "$work/stage-2"
expect_exit 0
expect_stdout_has 'by the published rule, without gaps: step '
expect_stdout_says 'of that stage 3 11'
for command in whatif cluster; do
	run "$npuprof" $command -q -f json -d "$work/stage-2" -o "$work/out"
	expect_exit 0
	cp "$work/stdout" "$work/json"
	expect_equal 'stage|3|1' "$(sqlite3 :memory: "SELECT s.value ->> 'kind', s.value ->> 'what', s.value ->> 'recovered' > 1
		FROM json_each(readfile('$work/json'), '\$.replay.balance.shares') s ORDER BY s.value ->> 'recovered' DESC LIMIT 1")"
	expect_equal '1' "$(sqlite3 :memory: "SELECT abs(b ->> 'slowdown' - 1.0 * (b ->> 'step_ns') / (b ->> 'ideal_ns')) < 1e-3
		FROM (SELECT readfile('$work/json') -> '\$.replay.balance' AS b)")"
done

behaviour 'the number of threads changes nothing'
run "$npuprof" cluster -q -f json -d "$work/lengths-2" -o "$work/out" -j 1
cp "$work/stdout" "$work/one"
run "$npuprof" cluster -q -f json -d "$work/lengths-2" -o "$work/out" -j 4
expect_equal "$(cat "$work/one")" "$(cat "$work/stdout")"
