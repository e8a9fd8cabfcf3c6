#!/usr/bin/env bash
# Layouts of frameworks and people, written by the generator: every one is read as it is, and has the figures of the usual one.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
small=(--ranks 4 --tp 2 --steps 2 --layers 1 --kernels-per-layer 2)

# figures <directory>: of each phase: name, ranks, steps, and what the step times of all ranks sum up to
figures() {
	"$npuprof" cluster -q -o out -f json "$1" >stdout.json 2>stderr.txt
	status=$?
	sqlite3 :memory: "WITH d AS (SELECT readfile('stdout.json') AS j),
		p AS (SELECT value AS part FROM d, json_each(j, '\$.phases') UNION ALL SELECT j FROM d WHERE j -> '\$.phases' IS NULL)
		SELECT part ->> '\$.phase', part ->> '\$.input.ranks_used',
			(SELECT sum(r.value ->> 'computing_ns') || '|' || sum(r.value ->> 'communication_ns') || '|' || sum(r.value ->> 'free_ns')
			FROM json_each(part, '\$.steps') AS s, json_each(s.value, '\$.ranks') AS r) FROM p"
}

# made <layout> <form> [option]...
made() {
	rm -rf made && "$synth" -q -o made --layout "$1" --format "$2" "${@:3}" "${small[@]}" && figures made
}

for form in db text msprof-text; do
	behaviour "$form: one capture of each rank, wherever it lies"
	made usual $form >usual.$form
	expect_equal "$status $(cut -d'|' -f1-2 usual.$form)" '0 |4'
	layouts='outputs files'
	[ $form = db ] && layouts="$layouts flat vllm"
	[ $form = text ] && layouts="$layouts vllm"
	for layout in $layouts; do
		made "$layout" $form >other
		expect_equal "$layout $status" "$layout 0"
		expect "$layout has the figures of the usual one" diff usual.$form other
	done
done

behaviour 'names of vLLM say ranks and coordinates'
made vllm db >other
expect_equal "$(sqlite3 :memory: "SELECT group_concat((value ->> 'rank') || (value ->> 'dp') || (value ->> 'tp') || (value ->> 'ep'), ' ')
	FROM json_each(readfile('stdout.json'), '\$.steps[0].ranks')")" '0000 1011 2102 3113'

for form in kineto kineto-gpu; do
	behaviour "$form: names of SGLang say ranks and coordinates, and its stages are phases"
	made usual $form >usual.$form
	made sglang $form >other
	expect_equal "$status $(cut -d'|' -f1-2 other)" '0 |4'
	expect 'sglang has the figures of the usual one' diff usual.$form other
	expect_equal "$(sqlite3 :memory: "SELECT group_concat((value ->> 'rank') || (value ->> 'dp') || (value ->> 'tp'), ' ')
		FROM json_each(readfile('stdout.json'), '\$.steps[0].ranks')")" '000 101 210 311'
	made sglang-stages $form --gzip >other
	expect_equal "$status $(cut -d'|' -f1-2 other | tr '\n' ' ')" '0 DECODE|4 EXTEND|4 '
	cut -d'|' -f2- usual.$form >usual
	expect 'the first is as the usual one' diff usual <(tail -1 other | cut -d'|' -f2-)
done

behaviour 'SGLang on NPUs: no file and no name says the rank, but host and device do'
made sglang db >other
expect_equal "$status" 0
expect 'sglang has the figures of the usual one' diff usual.db other

for form in db text; do
	behaviour "$form: roles, steps and windows are phases"
	cut -d'|' -f2- usual.$form >usual
	made verl $form >other
	expect_equal "$status $(cut -d'|' -f1-2 other | tr '\n' ' ')" '0 actor_update|4 ref_compute_log_prob|4 rollout|4 '
	expect 'the first is as the usual one' diff usual <(head -1 other | cut -d'|' -f2-)
	expect_equal "$(sqlite3 :memory: "SELECT count(*), sum(value ->> 'time_ns' > 0), sum(value ->> 'idle_ns' >= 0), sum(value ->> 'overlap_ns')
		FROM json_each(readfile('stdout.json'), '\$.phase_ranks')")" '12|12|12|0'
	[ $form = text ] && continue
	made verl-steps $form >other
	expect_equal "$status $(cut -d'|' -f1-2 other | tr '\n' ' ')" '0 1/actor_update|4 1/rollout|4 2/actor_update|4 2/rollout|4 '
done
for form in db msprof-text; do
	cut -d'|' -f2- usual.$form >usual
	made windows $form >other
	expect_equal "$form $status $(cut -d'|' -f1-2 other | tr '\n' ' ')" "$form 0 window-1|4 window-2|4 "
	expect 'the first is as the usual one' diff usual <(head -1 other | cut -d'|' -f2-)
done

behaviour 'what does not go together is refused'
run "$synth" -q -o none --layout flat --format text
expect_exit 2
expect_stderr_has '--layout flat goes with'
run "$synth" -q -o none --layout outputs --format msmonitor
expect_exit 2
run "$synth" -q -o none --layout sglang --dp 2 --pp 2 --format kineto
expect_exit 2
expect_stderr_has '--layout sglang goes with --dp or --pp, not with both'
run "$synth" -q -o none --layout sglang-stages --format db
expect_exit 2
expect_stderr_has '--layout sglang-stages goes with --format kineto'
