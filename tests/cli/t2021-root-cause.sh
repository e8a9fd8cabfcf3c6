#!/usr/bin/env bash
# Where waiting began: the cause of a late rank, charges passed on through communicators, and nobody named on
# healthy clusters. A small sample of tools/sweep/charge.sh.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# analyse <synth options>...: generate and analyse; $db is the merged database, $json the result
analyse() {
	rm -rf "$work/c" "$work/out"
	run "$synth" -o "$work/c" --steps 4 --layers 4 --kernels-per-layer 4 "$@"
	expect_exit 0
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
	expect_exit 0
	db=$work/out/cluster_analysis_output/cluster_analysis.db
	json=$work/stdout
}

ask() {
	sqlite3 "$db" "$1"
}

first() {
	ask "SELECT readfile('$json') ->> '\$.stragglers[0].rank', readfile('$json') ->> '\$.stragglers[0].cause'"
}

# conserved: 0 if passing on neither added nor lost anything, and host, stage and role charges sum to the same
conserved() {
	ask "SELECT (SELECT sum(value ->> 'cost_ns') FROM json_each(readfile('$json'), '\$.stragglers'))
		- (SELECT sum(value ->> 'direct_ns') FROM json_each(readfile('$json'), '\$.stragglers')),
		(SELECT sum(cost_ns) FROM np_charge WHERE kind = 'host') - (SELECT sum(cost_ns) FROM np_blame),
		(SELECT sum(direct_ns) FROM np_charge WHERE kind = 'role') - (SELECT sum(cost_ns) FROM np_blame)"
}

for seed in 1 2 3; do
	bad=$((seed * 7 % 8))
	behaviour "seed $seed: a rank a tenth slower is first, and it is its computing"
	analyse --ranks 8 --seed $seed --slow-rank $bad:1.1
	expect_equal "$(first)" "$bad|compute"
	expect_equal "$(conserved)" '0|0|0'
	expect_equal "$(ask "SELECT readfile('$json') ->> '\$.verdict.kind', readfile('$json') ->> '\$.verdict.what'")" "rank|$bad"
	expect_equal "$(ask "SELECT cause FROM np_blame WHERE rank = $bad ORDER BY cost_ns DESC LIMIT 1")" compute

	behaviour "seed $seed: a rank whose host is behind is first, and it is its host"
	analyse --ranks 8 --seed $seed --host-gap $bad:200
	expect_equal "$(first)" "$bad|host"

	behaviour "seed $seed: the origin is found behind a tensor parallel group, not its victims"
	analyse --schedule 3d --tp 4 --pp 1 --ranks 8 --seed $seed --slow-rank $bad:1.3
	expect_equal "$(first)" "$bad|compute"
	expect_equal "$(conserved)" '0|0|0'
	expect_equal "$(ask "SELECT count(*) > 1 FROM json_each(readfile('$json'), '\$.stragglers[0].chain')")" 1
	expect_equal "$(ask "SELECT count(*) > 0 FROM np_blame WHERE via IS NOT NULL")" 1

	behaviour "seed $seed: on a healthy cluster nobody is named"
	analyse --ranks 8 --seed $seed
	expect_equal "$(ask "SELECT readfile('$json') ->> '\$.verdict.kind'")" none
done

behaviour 'what is slow in all steps is chronic, also where others are its victims in all of them'
analyse --schedule 3d --tp 2 --pp 4 --dp 2 --steps 5 --layers 8 --kernels-per-layer 12 --seed 71 --slow-rank 9:1.3
expect_equal "$(ask "SELECT readfile('$json') ->> '\$.stragglers[0].rank', readfile('$json') ->> '\$.stragglers[0].kind'")" '9|chronic'
analyse --ranks 16 --steps 6 --seed 5 --host-gap 3:120
expect_equal "$(ask "SELECT readfile('$json') ->> '\$.stragglers[0].rank', readfile('$json') ->> '\$.stragglers[0].kind'")" '3|chronic'

behaviour 'all ranks of a stage that is too long are chronic, and no other'
analyse --schedule 3d --tp 2 --pp 2 --ranks 8 --micro-batches 4 --steps 4 --seed 3 --slow-stage 1:1.4
expect_equal "$(ask "SELECT group_concat(rank) FROM (SELECT value ->> 'rank' AS rank
	FROM json_each(readfile('$json'), '\$.stragglers') WHERE value ->> 'kind' = 'chronic' ORDER BY rank)")" 4,5,6,7

behaviour 'coverage is told per communicator and rank'
analyse --ranks 4 --seed 4 --drop-ops 1:2
expect_equal "$(ask 'SELECT sum(missing) FROM np_coverage WHERE rank = 1')" 2
expect_equal "$(ask 'SELECT sum(missing) FROM np_coverage WHERE rank <> 1')" 0

behaviour 'roles sum their communicators'
analyse --schedule 3d --tp 2 --pp 2 --ranks 8 --seed 5 --micro-batches 4
expect_equal "$(ask "SELECT sum(d) FROM (SELECT abs(r.elapsed_ns - sum(c.elapsed_ns)) AS d
	FROM np_role_step r JOIN np_comm_step c ON c.pg_name = r.role AND c.step = r.step GROUP BY r.role, r.step)")" 0

behaviour 'at Level0, with all ranks profiled, nobody unseen is blamed'
analyse --ranks 4 --seed 6 --level 0 --format text
expect_equal "$(ask "SELECT count(*) FROM json_each(readfile('$json'), '\$.stragglers') WHERE value ->> 'rank' IS NULL")" 0
