# shellcheck shell=bash
# Raw data as the simulator writes them (sim/npusim/raw.h), for tests that want them without running it.

# write_raw <rank directory> <rank> <ranks> [mask]: a PROF_* with two steps, 10 and 11, of three kernels and an
# all-reduce each, what a collector leaves beside it. Rank r arrives r × 10 µs late.
# Times of step s: begin at 1 s + s ms; kernels of 100 µs at +50, +150 and +250 µs on stream 2; all-reduce from +400
# to +600 µs, its payload from +500 to +580 µs on plane 1.
write_raw() {
	local dir=$1 rank=$2 ranks=$3 mask=${4:-39}
	local prof=$dir/PROF_000001_20261116050000000_0000$((1000 + rank))ABCDEFGH

	mkdir -p "$prof/host/data" "$prof/device_$rank/data" || return
	printf '{"hostname":"node%s","rank_id":%s}' $((rank / 2)) "$rank" >"$prof/host/info.json"
	cp "$prof/host/info.json" "$prof/device_$rank/info.json.$rank"
	awk -v OFS='\t' -v rank="$rank" -v ranks="$ranks" -v mask="$mask" -v host="$prof/host/data/npusim.host.slice_0" \
		-v device="$prof/device_$rank/data/npusim.data.$rank.slice_0" '
		function us(time) {
			return sprintf("1763000000%09d", 1000 * time)
		}
		function begin(file, kind, id) {
			print "NPUSIM", 1, kind, id >file
			print "SESSION", us(1000), mask, 1, rank, id, 1000 + rank, "node" int(rank / 2), \
				70000 + int(rank / 2), "Ascend910B4" >file
		}
		function call(type, start, end, name) {
			print "API", us(start), us(end), type, 4242, ++connection, name >host
			return connection
		}
		function task(start, end, stream, type, from) {
			print "TASK", ++tasks, us(start), us(end), stream, tasks, from, type, "4294967295", "4294967295" >device
			return tasks
		}
		function kernel(at, name, type) {
			call(20000, at - 40, at - 10, "aclnn" type)
			from = call(10000, at - 30, at - 12, "launch")
			id = task(at, at + 100, 2, "KERNEL_AICORE", from)
			if (full)
				print "KERNEL", id, name, type, "AI_CORE", 20, 0, "4096,1024;1024,1024", "FLOAT;FLOAT", "ND;ND", \
					"4096,1024", "FLOAT", "ND", "static", "NO", "-" >device
			else
				print "KERNEL", id, name, "-", "-", 20, 0, "-", "-", "-", "-", "-", "-", "-", "-", "-" >device
			if (full)
				print "PMU", id, "aic_total_time", "97.000" >device
		}
		function small(start, end, plane, type, name, source, target, bytes, link) {
			id = task(start, end, 10 + plane, type, from)
			if (full)
				print "COMMTASK", id, ops, name, plane, 0, 65535, source, target, 0, bytes, 65535, link, \
					plane == 0 ? 1 : 0, 0 >device
			else
				print "COMMTASK", id, ops, "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-" >device
		}
		function all_reduce(at, late) {
			from = call(5500, at - 60, at - 20, "hcom_allReduce_")
			ops++
			print "COMM", ops, us(at + late), us(at + 200), from, "group_world", "hcom_allReduce__" digits "_" ops - 1 "_1", \
				full ? "hcom_allReduce_" : "-", full ? 1048576 : "-", full ? 4 : "-", full ? "MESH-RING" : "-", ranks, \
				0, 0 >device
			small(at + late, at + late + 5, 0, "SDMA", "Memcpy", rank, rank, 4194304, 0)
			small(at + late + 5, at + 100, 1, "Notify Wait", "Notify_Wait", rank, (rank + 1) % ranks, 0, 65535)
			small(at + 100, at + 180, 1, "SDMA", "Memcpy", rank, (rank + 1) % ranks, 4000000, 1)
			small(at + 190, at + 200, 0, "SDMA", "Memcpy", rank, rank, 4194304, 0)
		}
		BEGIN {
			full = mask % 64 >= 32
			digits = "662"
			begin(host, "host", -1)
			begin(device, "device", rank)
			print "GROUP", us(1000), "group_world", ranks, rank, "-" >host
			print "FREQ", us(1000), 1800, 0 >device
			for (step = 0; step < 2; step++) {
				t = 1000 * (step + 1)
				kernel(t + 50, "MatMul_1", "MatMulV2")
				kernel(t + 150, "MatMul_2", "MatMulV2")
				kernel(t + 250, "Add_1", "Add")
				all_reduce(t + 400, 10 * rank)
			}
			print "MSTX", us(1000), us(1000), 0, 0, 0, 4242, 4242, "default", "4000000000", "step 10" >host
			print "END", us(3100) >host
			print "END", us(3100) >device
		}'
	for slice in "$prof"/*/data/*.slice_0; do
		echo "filesize:$(stat -c %s "$slice")" >"$slice.done"
	done
	echo '{}' >"$prof/host/end_info"
	write_record "$dir" "$rank" "$ranks"
}

# write_record <rank directory> <rank> <ranks>: what the injection library writes
write_record() {
	local dir=$1 rank=$2 ranks=$3

	printf '{"config":{"experimental_config":{"_profiler_level":"Level1"}},"rank_id":"%s"}' "$rank" \
		>"$dir/profiler_info_$rank.json"
	echo '{"distributed_args":{"world_size":'"$ranks"'}}' >"$dir/profiler_metadata.json"
	cat >"$dir/npuprof_rank.json" <<-END
		{"schema": "npuprof.rank/1", "job": "j1", "rank": $rank, "world_size": $ranks, "host": "node$((rank / 2))",
		 "hostUid": "$((70000 + rank / 2))", "pid": $((1000 + rank)), "device": $rank, "state": "closed",
		 "steps": [{"step": 10, "begin_ns": 1763000000001000000, "end_ns": 1763000000001700000},
		           {"step": 11, "begin_ns": 1763000000001700000, "end_ns": 1763000000002700000},
		           {"step": 12, "begin_ns": 1763000000002700000, "end_ns": null}],
		 "communicators": [{"name": "group_world", "size": $ranks, "group_rank": $rank, "pg_name": "dp", "ranks": null}]}
	END
}

# write_job <directory> <ranks> [mask]: a job of a collector, with its manifest
write_job() {
	local dir=$1 ranks=$2 mask=${3:-39} rank list='' comma=''

	for ((rank = 0; rank < ranks; rank++)); do
		local name=node$((rank / 2))_$((1000 + rank))_20261116050000000_ascend_pt

		write_raw "$dir/$name" "$rank" "$ranks" "$mask" || return
		list+=$comma'{"rank": '$rank', "host": "node'$((rank / 2))'", "device": '$rank', "dir": "'$name'", "selected": true,
			"state": "raw", "exit": 0, "prof_codes": {}}'
		comma=,
	done
	cat >"$dir/npuprof_manifest.json" <<-END
		{"schema": "npuprof.manifest/1", "job": "j1", "world_size": $ranks, "app": ["demo"], "config": {"level": "Level1"},
		 "simulated": true,
		 "hosts": [{"host": "node0", "uid": "70000", "clock": [{"at_ns": 1763000000000000000, "offset_ns": 0,
		            "uncertainty_ns": 0}], "drift_ppm": 0.0},
		           {"host": "node1", "uid": "70001", "clock": [{"at_ns": 1763000000000000000, "offset_ns": 1500,
		            "uncertainty_ns": 200}], "drift_ppm": 0.5}],
		 "ranks": [$list],
		 "windows": [{"first_step": 10, "last_step": 11, "step_source": "explicit", "ranks": [0]}]}
	END
}
