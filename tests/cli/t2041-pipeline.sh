#!/usr/bin/env bash
# Where the time of pipeline stages goes, against what the generator knows.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# analyse <synth options>...: generate and analyse; table `truth` has the parts of each rank and step
analyse() {
	rm -rf "$work/c" "$work/out"
	run "$synth" -q -o "$work/c" --steps 2 --kernels-per-layer 4 --layers 4 --no-instances "$@"
	expect_exit 0
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
	expect_exit 0
	cp "$work/stdout" "$work/json"
	db=$work/out/cluster_analysis_output/cluster_analysis.db
	sqlite3 "$db" "CREATE TABLE truth AS SELECT r.value ->> 'rank' AS rank, s.value ->> 'step' AS step,
		s.value ->> 'span_ns' AS span, s.value -> 'pipeline' AS part
		FROM json_each(readfile('$work/c/truth.json'), '\$.ranks') r, json_each(r.value, '\$.steps') s"
}

# broken: rows whose parts do not sum to the span, and rows missing
broken() {
	sqlite3 "$db" "SELECT (SELECT count(*) FROM np_pipeline JOIN truth USING (rank, step)
		WHERE useful_ns + other_comm_ns + warmup_ns + imbalance_ns + transfer_ns + host_ns + tail_ns <> span),
		(SELECT count(*) FROM truth) - (SELECT count(*) FROM np_pipeline)"
}

# off_parts: parts of any rank and step that are off by more than 5 %, or 0.5 % of the span (what clocks leave) where they are small
off_parts() {
	local part sums=''

	for part in useful other_comm warmup imbalance transfer host tail; do
		sums="$sums + sum(abs(${part}_ns - (part ->> '${part}_ns')) > max(0.05 * (part ->> '${part}_ns'), 0.005 * span))"
	done
	sqlite3 "$db" "SELECT 0 $sums FROM np_pipeline JOIN truth USING (rank, step)"
}

for options in '--pp 4 --ranks 8' '--pp 4 --ranks 8 --p2p batch' '--pp 4 --ranks 4 --micro-batches 2 --p2p batch' \
	'--pp 2 --ranks 8 --hosts 2 --slow-stage 1:1.5' '--pp 4 --ranks 4 --slow-stage 2:1.5 --p2p batch' \
	'--pp 4 --ranks 8 --level 0 --slow-stage 1:1.3' '--pp 4 --ranks 8 --level 0 --p2p batch --format text'; do
	behaviour "parts are those of the generator and sum to the span: $options"
	# shellcheck disable=SC2086
	analyse --schedule pp --micro-batches 6 --seed 11 $options
	expect_equal "$(broken)" '0|0'
	expect_equal "$(off_parts)" 0
done

behaviour 'a slow stage makes imbalance, for the others and not for itself'
analyse --schedule pp --pp 4 --ranks 4 --micro-batches 8 --seed 12 --slow-stage 2:1.6
expect_equal "$(sqlite3 "$db" "SELECT stage FROM np_pipeline GROUP BY 1 ORDER BY sum(imbalance_ns) LIMIT 1")" 2
uneven=$(sqlite3 "$db" 'SELECT sum(excess_ns) FROM np_pipeline')
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_stdout_says 'pipeline of 4 stages: '
analyse --schedule pp --pp 4 --ranks 4 --micro-batches 8 --seed 12
expect 'even stages have less excess' test "$(sqlite3 "$db" 'SELECT sum(excess_ns) FROM np_pipeline')" -lt "$uneven"

behaviour 'messages to a stage that was not profiled are not taken for communication within the stage'
for options in '--omit-ranks 1' '--omit-ranks 3' '--omit-ranks 1 --p2p batch'; do
	# shellcheck disable=SC2086
	analyse --schedule pp --pp 4 --ranks 4 --micro-batches 8 --seed 12 $options
	expect_equal "$(broken)" '0|0'
	# How much of a message was waiting is known on both sides only.
	expect_equal "$(sqlite3 "$db" "SELECT count(*) FROM np_pipeline JOIN truth USING (rank, step)
		WHERE abs(other_comm_ns - (part ->> 'other_comm_ns')) > 0.005 * span OR abs(warmup_ns + imbalance_ns + transfer_ns
		- (part ->> 'warmup_ns') - (part ->> 'imbalance_ns') - (part ->> 'transfer_ns')) > 0.005 * span")" 0
done

analyse --schedule pp --pp 4 --ranks 4 --micro-batches 8 --seed 12
behaviour 'more micro-batches leave less of an ideal bubble: (p - 1) / m of the work'
expect_equal "$(sqlite3 "$db" "SELECT count(*) FROM np_pipeline p WHERE abs(ideal_ns - 3.0 / 8 * (SELECT avg(useful_ns + other_comm_ns)
	FROM np_pipeline q WHERE q.step = p.step)) > 0.1 * ideal_ns")" 0

behaviour 'JSON has the same rows'
expect_equal "$(sqlite3 "$db" "SELECT count(*) FROM np_pipeline p JOIN json_each(readfile('$work/json'), '\$.pipeline') j
	ON j.value ->> 'rank' = p.rank AND j.value ->> 'step' = p.step AND j.value ->> 'excess_ns' = p.excess_ns
	AND j.value ->> 'warmup_ns' = p.warmup_ns AND j.value ->> 'stage' = p.stage")" 8

behaviour 'at Level0 a message whose other end was not profiled cannot be told: the ranks concerned are named, with the switch'
analyse --schedule pp --pp 4 --ranks 8 --level 0 --seed 14 --omit-ranks 6
expect_equal "$(sqlite3 "$db" 'SELECT group_concat(DISTINCT rank) FROM np_pipeline')" 1,3,5,7
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'reason', value ->> 'switch' FROM json_each(readfile('$work/json'), '\$.trust.withheld')
	WHERE value ->> 'what' = 'pipeline'")" \
	'messages do not say to which stage they went (ranks 0,2,4)|profiler_level=Level1, or all ranks so that the ends of messages tell'

behaviour 'without stages there is no pipeline'
analyse --schedule dp --ranks 4 --seed 13
expect_equal "$(sqlite3 "$db" 'SELECT count(*) FROM np_pipeline')" 0

behaviour 'without marked steps it is said what the figures take for granted'
"$synth" -q -o "$work/unmarked" --schedule pp --ranks 4 --pp 4 --steps 3 --layers 4 --no-steps --noise 0 || exit 1
run "$npuprof" cluster -d "$work/unmarked" -o "$work/out" --steps-from none
expect_exit 0
expect_stdout_says 'if all of it is one step: none is marked'

[[ -e ${NPUPROF_SHARED:-/nowhere}/data/llm-pp2dp2 ]] || exit 0
behaviour 'the recorded pipeline of batches: parts sum to the span, and its first stage waits for the longer second one'
run "$npuprof" cluster -d "$NPUPROF_SHARED/data/llm-pp2dp2" -o "$work/recorded" -f json
expect_exit 0
db=$work/recorded/cluster_analysis_output/cluster_analysis.db
expect_equal "$(sqlite3 "$db" "SELECT p.rank, stage, useful_ns + other_comm_ns + warmup_ns + imbalance_ns + transfer_ns + host_ns + tail_ns
	- (SELECT sum(value ->> 'span_ns') FROM json_each(readfile('$work/stdout'), '\$.steps[0].ranks') WHERE value ->> 'rank' = p.rank),
	warmup_ns > 50000000 FROM np_pipeline p")" '0|0|0|1
2|1|0|1'
expect_equal "$(sqlite3 "$db" "SELECT count(*) > 0, sum(verdict = 'slow') FROM np_link")" '1|0'

behaviour 'stages are found from who sends first where no communicator has a name'
rm -rf "$work/c" "$work/out"
run "$synth" -q -o "$work/c" --ranks 4 --pp 2 --steps 2 --layers 2 --format msprof-db
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_exit 0
expect_stdout_says 'pipeline of 2 stages'
expect_stdout_says 'stage 1 (ranks 2-3) has more kernels'
run "$synth" -q -o "$work/c" --force --ranks 4 --steps 2 --layers 2 --format msprof-db
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_stdout_lacks 'pipeline: '
