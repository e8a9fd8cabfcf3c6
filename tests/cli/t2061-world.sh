#!/usr/bin/env bash
# Links to ranks that were not profiled: named in the communicator of the world, NULL elsewhere.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
"$synth" -q -o whole --ranks 8 --tp 2 --steps 2 --layers 2 --kernels-per-layer 3 || exit 1
"$synth" -q -o some --ranks 8 --tp 2 --steps 2 --layers 2 --kernels-per-layer 3 --omit-ranks 0,2,4-7 || exit 1

# query <sql>: of the merged database
query() {
	sqlite3 out/cluster_analysis_output/cluster_analysis.db "$1"
}

# forget: take away what says members and sizes
forget() {
	find some -name profiler_metadata.json -delete
	find some -name 'ascend_pytorch_profiler_*.db' -exec sqlite3 {} \
		"DELETE FROM META_DATA WHERE name IN ('distributed_args', 'parallel_group_info')" \;
}

behaviour 'with metadata the ends of links are those of the whole run'
run "$npuprof" cluster -q -o out whole
query "SELECT src, dst, transport, sum(bytes) FROM np_link WHERE src IN (1, 3) GROUP BY 1, 2, 3 ORDER BY 1, 2" >whole.links
run "$npuprof" cluster -q -o out some
expect 'links are those' diff whole.links <(query "SELECT src, dst, transport, sum(bytes) FROM np_link GROUP BY 1, 2, 3 ORDER BY 1, 2")

behaviour 'the largest communicator is taken for that of all ranks, and it is said'
forget
run "$npuprof" cluster -o out some
expect_stdout_says 'nothing says how many ranks the job has' 'the largest with 8, is assumed to be of all of them'
world=$(query "SELECT group_name FROM ClusterCommunicationMatrix GROUP BY 1 ORDER BY count(DISTINCT dst_rank) DESC LIMIT 1")
expect_equal "$(query "SELECT group_concat(d, ' ') FROM (SELECT DISTINCT CAST(dst_rank AS INTEGER) d FROM ClusterCommunicationMatrix
	WHERE group_name = '$world' ORDER BY 1)")" '0 1 2 3 4 5 6 7'

behaviour 'an end that is not known is NULL in np_link, with its local rank, and not in the matrix'
expect_equal "$(query 'SELECT count(*) FROM ClusterCommunicationMatrix WHERE src_rank < 0 OR dst_rank < 0 OR src_rank IS NULL OR dst_rank IS NULL')" 0
expect_equal "$(query 'SELECT count(*) FROM np_link WHERE src < 0 OR dst < 0')" 0
expect_equal "$(query 'SELECT count(*) > 0, min(dst_local), max(src IN (1, 3)) FROM np_link WHERE dst IS NULL')" '1|0|1'
expect_equal "$(query 'SELECT count(*) FROM np_link WHERE (dst IS NULL) = (dst_local IS NULL)')" 0
run "$npuprof" cluster -q -o out -f json some
expect_equal "$(sqlite3 :memory: "SELECT count(*) > 0 FROM json_each(readfile('stdout'), '\$.links')
	WHERE value ->> 'dst' IS NULL AND value ->> 'dst_local' >= 0")" 1

behaviour 'a size that the manifest states is no assumption'
"$synth" -q -o known --ranks 8 --steps 2 --layers 2 --kernels-per-layer 3 --omit-ranks 0,2,4-7 --manifest || exit 1
rm -rf some && mv known some
forget
run "$npuprof" cluster -o out some
expect_equal "$(grep -c 'is assumed to be of all' stdout)" 0
expect_equal "$(query 'SELECT count(DISTINCT dst_rank), min(dst_rank) FROM ClusterCommunicationMatrix')" '8|0.0'
