#!/usr/bin/env bash
# Tokens of experts and the time lost to uneven ones, against what the generator knows.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

analyse() {
	rm -rf "$work/c" "$work/out"
	run "$synth" -q -o "$work/c" --schedule ep --steps 2 --kernels-per-layer 6 --layers 4 --no-instances "$@"
	expect_exit 0
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
	expect_exit 0
	cp "$work/stdout" "$work/json"
	db=$work/out/cluster_analysis_output/cluster_analysis.db
	sqlite3 "$db" "CREATE TABLE truth AS SELECT value ->> 'group' AS group_name, value ->> 'step' AS step,
		value ->> 'rank' AS rank, value ->> 'tokens' AS told, value ->> 'lost_ns' AS lost
		FROM json_each(readfile('$work/c/truth.json'), '\$.experts')"
}

for options in '--ranks 8' '--ranks 8 --ep 4' '--ranks 8 --format text' '--ranks 16 --hosts 2'; do
	behaviour "tokens are exact and the loss within 5 %: $options"
	# shellcheck disable=SC2086
	analyse --expert-skew 0.5 --seed 21 $options
	expect_equal "$(sqlite3 "$db" 'SELECT count(*) - (SELECT count(*) FROM truth), sum(tokens <> told),
		abs(sum(lost_ns) * 1.0 / sum(lost) - 1) < 0.05, sum(abs(lost_ns - lost) > 0.05 * lost + 20000)
		FROM np_expert JOIN truth USING (group_name, step, rank)')" '0|0|1|0'
done

behaviour 'the screen says what it costs'
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_stdout_says 'uneven experts cost'

behaviour 'JSON has the same rows'
expect_equal "$(sqlite3 "$db" "SELECT count(*) FROM np_expert e JOIN json_each(readfile('$work/json'), '\$.experts') j
	ON j.value ->> 'rank' = e.rank AND j.value ->> 'step' = e.step AND j.value ->> 'group' = e.group_name
	AND j.value ->> 'tokens' = e.tokens AND j.value ->> 'lost_ns' = e.lost_ns")" 32

behaviour 'even experts lose nothing'
analyse --ranks 8 --expert-skew 0 --seed 22
expect_equal "$(sqlite3 "$db" 'SELECT count(*), sum(lost_ns) FROM np_expert')" '16|0'

behaviour 'chosen steps only'
run "$npuprof" cluster -d "$work/c" -f csv --table np_expert --steps 11
expect_exit 0
expect_equal "$(cut -d, -f2 "$work/stdout" | sort -u | tr '\n' ' ')" '11 step '

behaviour 'shapes that make no sense cost their kernels alone'
sqlite3 "$(find "$work/c" -name 'ascend_pytorch_profiler_3.db')" "UPDATE STRING_IDS SET value = '\"x,1024;8;8\"'
	WHERE value LIKE '%,1024;8,1024,2816;8%'"
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_exit 0
expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" 'SELECT count(*), min(tokens) > 0 FROM np_expert')" '16|1'

behaviour 'a rank without tokens has a row, and waits for the busiest'
analyse --ranks 8 --expert-skew 0.5 --seed 24
sqlite3 "$(find "$work/c" -name 'ascend_pytorch_profiler_3.db')" "
	CREATE TEMP TABLE gone AS SELECT globalTaskId FROM COMPUTE_TASK_INFO JOIN STRING_IDS ON id = opType WHERE value = 'GroupedMatmul';
	DELETE FROM CANN_API WHERE connectionId IN (SELECT connectionId FROM TASK JOIN gone USING (globalTaskId));
	DELETE FROM TASK WHERE globalTaskId IN (SELECT globalTaskId FROM gone);
	DELETE FROM COMPUTE_TASK_INFO WHERE globalTaskId IN (SELECT globalTaskId FROM gone)"
rm "$(find "$work/c" -path "*$(basename "$(dirname "$(dirname "$(find "$work/c" -name ascend_pytorch_profiler_3.db)")")")/*/analysis.db")"
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_exit 0
expect_equal "$(sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" 'SELECT count(*), sum(tokens = 0), sum(rank = 3 AND tokens = 0),
	(SELECT rank FROM np_expert GROUP BY rank ORDER BY sum(lost_ns) DESC LIMIT 1) FROM np_expert')" '16|2|2|3'

for options in '--ranks 8' '--ranks 8 --format text' '--ranks 16 --hosts 2 --ep 8' '--ranks 8 --omit-ranks 3'; do
	behaviour "at Level0 no kernel tells its tokens: what is sent back does, and the loss is within 5 %: $options"
	# shellcheck disable=SC2086
	analyse --expert-skew 0.5 --seed 23 --level 0 $options
	# There are three kernels to an exchange (two forwards, four backwards), for each of which the generator counts.
	expect_equal "$(sqlite3 "$db" 'SELECT count(*) - (SELECT count(*) FROM truth), sum(tokens * 3 <> told),
		abs(sum(lost_ns) * 1.0 / sum(lost) - 1) < 0.05, sum(abs(lost_ns - lost) > 0.05 * lost + 20000), min(source)
		FROM np_expert JOIN truth USING (group_name, step, rank)')" '0|0|1|0|exchanges'
done

behaviour 'at Level0 even experts lose nothing, and exchanges that are even and not named after experts are none of theirs'
analyse --ranks 8 --expert-skew 0 --seed 22 --level 0
expect_equal "$(sqlite3 "$db" 'SELECT count(*), sum(lost_ns), count(DISTINCT tokens) FROM np_expert')" '16|0|1'
find "$work/c" -name 'profiler_metadata.json' -exec sed -i 's/"group_name": "exp"/"group_name": "cp"/' {} +
for rank in 0 1 2 3 4 5 6 7; do
	sqlite3 "$(find "$work/c" -name "ascend_pytorch_profiler_$rank.db")" \
		"UPDATE META_DATA SET value = replace(value, '\"group_name\": \"exp\"', '\"group_name\": \"cp\"')"
done
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_equal "$(sqlite3 "$db" 'SELECT count(*) FROM np_expert')" 0
