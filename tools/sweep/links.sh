#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How often slow links are found, and how exact pipeline, experts and memory are, over many simulated
# clusters: the table "Links, pipeline, experts, memory" of doc/accuracy.md.
#
#	tools/sweep/links.sh [-s SEEDS] [-r "RANKS..."] [-c "CASES..."]
#
# A release build is expected in build/release (or in $NPUPROF_BUILD). One line per case and size.
. "$(dirname "$0")/lib.sh"
ranks='8 64'
cases='link link-8x link-3d link-ring sender receiver healthy healthy-3d uneven slow-rank level0 level0-healthy pipeline pipeline-batch experts memory'
sweep_options "$@"

truth="readfile('$work/run/truth.json')"

# cluster <ranks> <seed> <synth options>...: small profiles of two steps
cluster() {
	size=$1 seed=$2
	shift 2
	simulate --ranks "$size" --hosts "$(((size + 7) / 8))" --steps 2 --seed "$seed" --layers 4 --kernels-per-layer 4 \
		--no-instances "$@"
}

# mesh <ranks> <seed> <plant>...: eight ranks on each host, all linked with each other
mesh() {
	if [ "$1" -gt 8 ]; then
		cluster "$1" "$2" --schedule 3d --tp 8 --pp 2 "$3" "$4"
	else
		cluster "$1" "$2" --schedule dp "$3" "$4"
	fi
}

# slow: the slow links as "src-dst kind", one after the other
slow() {
	query "SELECT group_concat(src || '-' || coalesce(dst, '?') || ' ' || coalesce(kind, '?'), ', ')
		FROM (SELECT DISTINCT src, dst, kind FROM np_link WHERE verdict = 'slow' ORDER BY src, dst)"
}

is() {
	[ "$1" = "$2" ] && echo 1
}

# link <ranks> <seed> <factor>: both directions of a link are slow, and nothing else is
link() {
	host=$(($2 * 3 % ($1 / 8) * 8)) a=$(($2 % 7)) b=$((($2 % 7) + 1 + $2 % (7 - $2 % 7)))
	a=$((host + a)) b=$((host + b))
	mesh "$1" "$2" --slow-link "$a-$b:$3"
	score 'both ends named, and nothing else' "$(is "$(slow)" "$a-$b link, $b-$a link")"
}

# Tensor parallel pairs, pipelines of two stages.
link_3d() {
	a=$(($2 * 2 % $1)) b=$(($2 * 2 % $1 + 1))
	cluster "$1" "$2" --schedule 3d --slow-link "$a-$b:2"
	score 'both ends named, and nothing else' "$(is "$(slow)" "$a-$b link, $b-$a link")"
}

# A ring over all ranks: the only transfers are those to the next one.
link_ring() {
	a=$(($2 * 5 % ($1 - 1))) b=$(($2 * 5 % ($1 - 1) + 1))
	simulate --schedule dp --ranks "$1" --hosts "$((($1 + 7) / 8 < 2 ? 2 : ($1 + 7) / 8))" --steps 2 --seed "$2" --layers 4 \
		--kernels-per-layer 4 --no-instances --slow-link "$a-$b:2"
	score 'both ends named, and nothing else' "$(is "$(slow)" "$a-$b link")"
}

# All links of one rank are slow, in one direction, and are laid at its door.
one_end() {
	bad=$(($3 * 3 % $2))
	mesh "$2" "$3" "--slow-$1" "$bad:2"
	ends=$([ "$1" = sender ] && echo src || echo dst)
	score "told to be a $1" "$(query "SELECT count(*) >= 7 AND min(kind = '$1') AND min($ends = $bad) FROM np_link
		WHERE verdict = 'slow'")"
}

healthy() {
	mesh "$1" "$2" --leak 0:0
	score 'none named' "$(is "$(slow)" '')"
}

healthy_3d() {
	cluster "$1" "$2" --schedule 3d
	score 'none named' "$(is "$(slow)" '')"
}

# Tokens go unevenly to experts, so that transfers have many sizes.
uneven() {
	cluster "$1" "$2" --schedule ep --expert-skew 0.8
	score 'none named' "$(is "$(slow)" '')"
}

# A rank that comes late makes others wait, not transfers longer.
slow_rank() {
	mesh "$1" "$2" --slow-rank "$(($2 * 3 % $1)):1.5"
	score 'none named' "$(is "$(slow)" '')"
}

# Only the times of whole operators are known.
level0() {
	a=$(($2 * 2 % $1)) b=$(($2 * 2 % $1 + 1))
	cluster "$1" "$2" --schedule 3d --level 0 --slow-link "$a-$b:2"
	score 'both ends named, and nothing else' "$(is "$(slow)" "$a-$b link")"
}

level0_healthy() {
	cluster "$1" "$2" --schedule 3d --level 0
	score 'none named' "$(is "$(slow)" '')"
}

# Every part, summed over ranks and steps, is within 5 % of what is true (0.1 % of the span where it is small).
pipeline() {
	cluster "$1" "$2" --schedule pp --pp 4 --micro-batches 8 --slow-stage "$(($2 % 4)):1.4" --p2p "$3"
	for part in useful other_comm warmup imbalance transfer host tail; do
		score "$part" "$(query "SELECT abs(found - told) <= max(0.05 * told, 0.001 * span) FROM
			(SELECT sum(${part}_ns) AS found FROM np_pipeline),
			(SELECT sum(s.value ->> '\$.pipeline.${part}_ns') AS told, sum(s.value ->> 'span_ns') AS span
			FROM json_each($truth, '\$.ranks') r, json_each(r.value, '\$.steps') s)")"
	done
	score 'sum is the span' "$(query "SELECT min(useful_ns + other_comm_ns + warmup_ns + imbalance_ns + transfer_ns + host_ns
		+ tail_ns = (SELECT s.value ->> 'span_ns' FROM json_each($truth, '\$.ranks') r, json_each(r.value, '\$.steps') s
		WHERE r.value ->> 'rank' = rank AND s.value ->> 'step' = p.step)) FROM np_pipeline p")"
}

experts() {
	cluster "$1" "$2" --schedule ep --expert-skew 0.5
	score 'loss of all' "$(query "SELECT abs(found / told - 1) < 0.05 FROM (SELECT 1.0 * sum(lost_ns) AS found FROM np_expert),
		(SELECT sum(value ->> 'lost_ns') AS told FROM json_each($truth, '\$.experts'))")"
	score 'loss of every rank' "$(query "SELECT max(abs(1.0 * lost_ns / told - 1)) < 0.05 FROM np_expert e JOIN
		(SELECT value ->> 'rank' AS r, value ->> 'step' AS s, value ->> 'lost_ns' AS told FROM json_each($truth, '\$.experts'))
		ON r = e.rank AND s = e.step WHERE told > 100000")"
	score 'tokens' "$(query "SELECT min(tokens = told) FROM np_expert e JOIN
		(SELECT value ->> 'rank' AS r, value ->> 'step' AS s, value ->> 'tokens' AS told FROM json_each($truth, '\$.experts'))
		ON r = e.rank AND s = e.step")"
}

memory() {
	bad=$(($2 * 3 % $1))
	simulate --ranks "$1" --hosts "$((($1 + 7) / 8))" --steps 5 --seed "$2" --layers 4 --kernels-per-layer 4 --memory \
		--no-instances --leak "$bad:$((1000000 + $2 * 100000))"
	score growth "$(query "SELECT min(abs(growth_bytes_per_step - (rank = $bad) * $((1000000 + $2 * 100000)))
		<= 0.05 * (rank = $bad) * $((1000000 + $2 * 100000))) FROM np_memory WHERE component = 'PTA'")"
}

run_case() {
	case $1 in
	link) link "$2" "$3" 2 ;;
	link-8x) link "$2" "$3" 8 ;;
	link-3d) link_3d "$2" "$3" ;;
	link-ring) link_ring "$2" "$3" ;;
	sender | receiver) one_end "$1" "$2" "$3" ;;
	healthy) healthy "$2" "$3" ;;
	healthy-3d) healthy_3d "$2" "$3" ;;
	uneven) uneven "$2" "$3" ;;
	slow-rank) slow_rank "$2" "$3" ;;
	level0) level0 "$2" "$3" ;;
	level0-healthy) level0_healthy "$2" "$3" ;;
	pipeline) pipeline "$2" "$3" sendrecv ;;
	pipeline-batch) pipeline "$2" "$3" batch ;;
	experts) experts "$2" "$3" ;;
	memory) memory "$2" "$3" ;;
	*) echo "unknown case '$1'" >&2 && exit 2 ;;
	esac
}

sweep
