#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does another machine compute the same? Build npuprof for it, run every command in every format under qemu, and compare
# statuses and bytes with those of this machine. Where the kernel starts programs of the other machine by qemu (binfmt_misc), its
# collector profiles a job of two nodes, too. A wheel for the other machine is left in DIR/dist.
#
#	tools/portability.sh aarch64 [-o DIR] [-j N]
#
#	-o DIR  where to build [default: build/portability]; what is there is used again
#	-j N    compile so many at a time [default: 2]
#
# Needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user-static, and the network once: libraries of the other machine are fetched
# as Debian packages into DIR, and nothing is installed. Minutes: not a part of tools/test.sh.
set -eu

cd "$(dirname "$0")/.."
[ "${1:-}" = aarch64 ] || {
	sed -n 's/^#\t//p' "$0" >&2
	exit 2
}
shift
out=$PWD/build/portability jobs=2
while getopts o:j: option; do
	case $option in
	o) out=$(mkdir -p "$OPTARG" && cd "$OPTARG" && pwd) ;;
	j) jobs=$OPTARG ;;
	*) exit 2 ;;
	esac
done
for program in aarch64-linux-gnu-gcc qemu-aarch64-static dpkg-deb sqlite3; do
	command -v "$program" >/dev/null || {
		echo "portability.sh: there is no $program" >&2
		exit 77
	}
done
[ -e /usr/aarch64-linux-gnu/lib/crti.o ] || {
	echo "portability.sh: there is no C library to link with: install libc6-dev-arm64-cross" >&2
	exit 77
}
mkdir -p "$out"

# fetch: the libraries of the other machine, extracted into $out/sysroot
fetch() {
	[ ! -e "$out/sysroot/done" ] || return 0
	apt=$out/apt
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$out/sysroot"
	set -- -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$apt/state" \
		-o Dir::Cache="$apt/cache" -o Dir::State::status="$apt/status"
	: >"$apt/status"
	# Other sources of this machine may have nothing for the other one.
	apt-get "$@" update >"$out/apt.log" 2>&1 || :
	(cd "$apt" && apt-get "$@" download libsqlite3-dev libsqlite3-0 libjansson-dev libjansson4 libpcre2-dev libpcre2-8-0 \
		zlib1g-dev zlib1g libsodium-dev libsodium23 >>"$out/apt.log" 2>&1) || {
		cat "$out/apt.log" >&2
		return 1
	}
	for package in "$apt"/*.deb; do
		dpkg-deb -x "$package" "$out/sysroot"
	done
	: >"$out/sysroot/done"
}

# build <name> <target>... -- [cmake argument]...
build() {
	name=$1 targets=''
	shift
	while [ "$1" != -- ]; do
		targets="$targets $1"
		shift
	done
	shift
	mkdir -p "$out/$name"
	# shellcheck disable=SC2086 # words
	{
		cmake -S . -B "$out/$name" -DCMAKE_BUILD_TYPE=Release -DNP_PORTABLE=ON -DBUILD_TESTING=OFF "$@" &&
			cmake --build "$out/$name" -j "$jobs" --target $targets
	} >"$out/$name.log" 2>&1 || {
		tail -n 40 "$out/$name.log" >&2
		echo "portability.sh: $name does not build; the log is $out/$name.log" >&2
		return 1
	}
}

libraries=$out/sysroot/usr/lib/aarch64-linux-gnu
build here npuprof npuprof-synth msprof --
fetch
PKG_CONFIG_LIBDIR=$libraries/pkgconfig:$out/sysroot/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$out/sysroot \
	build aarch64 npuprof npuprof-synth npuprof-collect npuprof_inject npusim ascendcl msprofiler hccl npu-train-demo msprof -- -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
	-DCMAKE_LIBRARY_PATH="$libraries" -DCMAKE_EXE_LINKER_FLAGS="-L$libraries" \
	"-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64-static;-L;/usr/aarch64-linux-gnu"

tools/wheel.py "$out/aarch64" -o "$out/dist"

# Programs of the other machine under their names, so that cases do not know where they run. The C library computes logarithms
# and the like in other ways where processors cannot multiply and add at once: a third machine that costs nothing.
mkdir -p "$out/bin/here" "$out/bin/aarch64" "$out/bin/plain"
for program in npuprof npuprof-synth; do
	printf '#!/bin/sh\nexec %s "$@"\n' "$out/here/$program" >"$out/bin/here/$program"
	printf '#!/bin/sh\nexec qemu-aarch64-static %s "$@"\n' "$out/aarch64/$program" >"$out/bin/aarch64/$program"
	printf '#!/bin/sh\nGLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4 exec %s "$@"\n' "$out/here/$program" >"$out/bin/plain/$program"
	chmod +x "$out/bin/here/$program" "$out/bin/aarch64/$program" "$out/bin/plain/$program"
done

in=$out/in
rm -rf "$in" "$out/got"
mkdir -p "$in"
small='--steps 3 --layers 2 --kernels-per-layer 4'
synth() {
	# shellcheck disable=SC2086 # words
	"$out/bin/here/npuprof-synth" -q -o "$in/$1" $small $2
}
synth db '--ranks 4 --slow-rank 2:1.4 --slow-link 0-1:3 --clock-skew 1:2us'
synth base '--ranks 4'
synth text '--ranks 2 --format text'
synth pipeline '--ranks 8 --tp 2 --pp 2 --slow-rank 5:1.3'
synth memory '--ranks 4 --pp 2 --memory --snapshot --leak 1:3000000 --fragment 2:60000000 --stage-memory 0:1600000000 --no-instances'
synth experts '--ranks 8 --ep 4 --hosts 2 --expert-skew 0.6 --slow-link 1-5:3 --slow-sender 2:2 --steps 5 --clock-skew host1:3ms:20'
synth kineto '--ranks 2 --format kineto --no-steps --steps 6'
synth steady '--ranks 2 --steps 12 --noise 3 --seed 7'
synth later '--ranks 2 --steps 25 --noise 3 --seed 8 --slow-type MatMul*:1.02'
# Summaries are read by whichever machine of a shared file system comes next.
"$out/bin/here/npuprof" cluster -q --no-db --cache "$in/sums" -d "$in/experts" >/dev/null
# Windows are taken in the order of their times, which copies for each machine keep.
for window in 1 2 3 4 5 6; do
	synth "windows/job/window-$window" "--ranks 2 --seed $window --slow-rank 1:1.$((window + 2)) --no-instances"
	find "$in/windows/job/window-$window" -exec touch -d "2026-01-0$window 12:00:00" {} +
done

# A history in which ranks were placed differently, and device 2 is slow wherever it is.
"$out/bin/here/npuprof" history add "$in/db" --store "$in/moved.db" -q >/dev/null
for i in 2 3 4 5 6 7 8 9 10 11 12; do
	sqlite3 "$in/moved.db" "INSERT INTO RUN SELECT $i, 'f$i', job, dir, captured + $i, added, program, device, world, ranks, steps,
			step_ns * (1 + ($i * $i % 5) / 500.0), basis, verdict, what, sentence FROM RUN WHERE id = 1;
		INSERT INTO RANK SELECT $i, (rank + $i) % 4, host, device, stage, tp, dp, ep, step_ns,
			computing_ns * (1 + (rank * $i % 7) / 2000.0), wait_ns, transfer_ns, idle_ns, charge_ns, mhz FROM RANK WHERE run = 1;
		INSERT INTO REPAIR SELECT $i, 'rank:' || ((2 + $i) % 4), saved_ns FROM REPAIR WHERE run = 1 AND repair = 'rank:2'"
done

# Recorded profiles, where there are any.
recorded=${NPUPROF_SHARED:-../shared}/data
[ ! -d "$recorded" ] || ln -s "$(cd "$recorded" && pwd)" "$in/recorded"

# Raw data, which the stand-in for the vendor's msprof exports: that of this machine in both cases.
bash -c '. tests/cli/raw.sh && for r in 0 1; do write_raw "$1/raw/node0_100${r}_20261116050000000_ascend_pt" "$r" 2; done' bash "$in"

# Every tool of the server for agents, asked about the two runs.
number=0
: >"$in/talk"
# say <method> <parameters>
say() {
	number=$((number + 1))
	printf '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' "$number" "$1" "$2" >>"$in/talk"
}
say initialize '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"portability","version":"1"}}'
say tools/list '{}'
for tool in list_runs info verdict cluster_section whatif findings timeline_slice; do
	say tools/call "{\"name\":\"$tool\",\"arguments\":{\"run\":\"db\"}}"
done
say tools/call '{"name":"explain_rule","arguments":{"rule":"comm.exposed"}}'
say tools/call '{"name":"compare","arguments":{"run":"db","base":"base"}}'
say tools/call '{"name":"query","arguments":{"run":"db","sql":"SELECT * FROM np_step_time"}}'
say tools/call '{"name":"history","arguments":{"action":"list"}}'

# cases: a name, a tab, a command; it runs in an empty directory beside "in"
cases() {
	for run in db text pipeline experts kineto; do
		for format in table json csv md; do
			printf 'cluster-%s-%s\tnpuprof cluster in/%s -f %s -o out\n' "$run" "$format" "$run" "$format"
			printf 'whatif-%s-%s\tnpuprof whatif in/%s -f %s\n' "$run" "$format" "$run" "$format"
			printf 'info-%s-%s\tnpuprof info in/%s -f %s\n' "$run" "$format" "$run" "$format"
		done
		for format in table json csv md sarif; do
			printf 'advisor-%s-%s\tnpuprof advisor in/%s -f %s -o out\n' "$run" "$format" "$run" "$format"
		done
		printf 'modes-%s\tnpuprof cluster in/%s -m all -f json -o out\n' "$run" "$run"
		printf 'html-%s\tnpuprof advisor in/%s -f html -o out\n' "$run" "$run"
		printf 'report-%s\tnpuprof report in/%s -o page.html; npuprof report in/%s --lang zh --anonymize --timeline -o zh.html\n' "$run" "$run" "$run"
		for form in json json.gz pftrace pftrace.gz; do
			printf 'timeline-%s-%s\tnpuprof timeline in/%s --host -o timeline.%s\n' "$run" "$form" "$run" "$form"
		done
		printf 'slice-%s\tnpuprof timeline in/%s --slice -o slice.json\n' "$run" "$run"
		printf 'zh-%s\tnpuprof cluster in/%s --lang zh -o out\n' "$run" "$run"
	done
	for format in table json csv md html; do
		printf 'compare-%s\tnpuprof compare in/base in/db -f %s -o out\n' "$format" "$format"
		printf 'compare-steady-%s\tnpuprof compare in/steady in/later --view kernel-type,operator,communication -f %s -o out\n' "$format" "$format"
	done
	printf 'gate\tnpuprof compare in/steady in/later --fail-on "step>0.1%%,kernel:MatMul*>0.1%%"; npuprof compare in/steady in/later --steps-from none -f json\n'
	# shellcheck disable=SC2016 # for the shell that runs it
	printf 'repairs\tfor r in rank:5 stage:1 link:1-5 host-gaps experts frequency hide-comm all; do npuprof whatif in/pipeline --fix $r -f json; npuprof whatif in/experts --fix $r -f json; done; npuprof whatif in/experts --top 3 -f json\n'
	printf 'merge\tnpuprof cluster in/pipeline --cache sums -o out; npuprof merge sums -o part; npuprof cluster part --from-summaries -f json -o again; npuprof whatif part --from-summaries -f json\n'
	printf 'summaries\tnpuprof cluster in/sums --from-summaries -f json -o out; npuprof merge in/sums -o part\n'
	printf 'vendor\tnpuprof cluster in/db -m all --vendor-files -o out; npuprof cluster in/db --agent -o out\n'
	printf 'differences\tnpuprof advisor in/later --base in/steady -f json -o out; npuprof cluster in/later -m cluster_time_compare_summary --base in/steady -f json -o out\n'
	if [ -d "$in/recorded" ]; then
		for run in resnet-2of8 llm-pp2dp2; do
			printf 'recorded-%s\tnpuprof cluster in/recorded/%s -m all -f json -o out; npuprof whatif in/recorded/%s -f json; npuprof advisor in/recorded/%s -f json -o out\n' "$run" "$run" "$run" "$run"
		done
		printf 'recorded-snapshots\tnpuprof memory in/recorded/snapshots --sweep -f json -o out\n'
	fi
	for format in table json csv md; do
		printf 'memory-%s\tnpuprof memory in/memory --sweep -f %s -o out; npuprof memory in/memory --base in/db -f %s -o out\n' "$format" "$format" "$format"
	done
	printf 'report-difference\tnpuprof report in/db --base in/base -o page.html\n'
	# Runs are kept with the time at which they were added, so a store is no result; what is said of it is.
	# shellcheck disable=SC2016 # for the shell that runs it
	printf 'history\tfor r in base db pipeline; do npuprof history add in/$r --frequency --store s.db; done; %s; %s\n' \
		'for f in table json csv; do for v in trend effects advise "judge in/db"; do npuprof history $v --store s.db -f $f; done; done' \
		'npuprof report in/db --history s.db -o page.html; rm s.db'
	# shellcheck disable=SC2016 # for the shell that runs it
	printf 'series\tfor w in in/windows/job/*; do npuprof history add $w --store s.db -q; done; %s; export NPUPROF_HISTORY=s.db; %s; rm s.db\n' \
		'for f in table json; do for v in trend effects advise "trend --figure rank:1/computing" "judge in/steady"; do npuprof history $v --store s.db -f $f; done; done' \
		'npuprof compare --baseline history in/windows/job/window-6 -f json'
	# shellcheck disable=SC2016 # for the shell that runs it
	printf 'moved\tcp in/moved.db s.db; %s; npuprof history export --store s.db; rm s.db\n' \
		'for f in table json csv; do for v in list trend effects "effects --figure idle" advise "judge in/base"; do npuprof history $v --store s.db -f $f; done; done'
	printf 'watch\tnpuprof watch in/windows --store s.db --settle 0 --once --lines lines --metrics metrics --on-verdict "cat >>told"; rm s.db\n'
	printf 'mcp\tnpuprof mcp in <in/talk\n'
	printf 'export\tnpuprof cluster in/db --export text -o out\n'
	for type in db text; do
		printf 'export-%s\tcp -r in/raw raw; npuprof export raw --export-type %s --msprof %s; rm -r raw/*/logs\n' "$type" "$type" "$out/here/sim/bin/msprof"
	done
	printf 'rules\tnpuprof rules list; npuprof rules test; npuprof rules views; npuprof rules check; npuprof rules show comm.exposed\n'
	# shellcheck disable=SC2016 # for the shell that runs it
	printf 'completion\tfor s in bash zsh fish; do npuprof completion $s; done\n'
	# shellcheck disable=SC2016 # for the shell that runs it
	printf 'help\tnpuprof -h; for c in cluster whatif advisor compare report timeline info memory export history watch mcp collect ctl rules completion; do npuprof $c -h; done\n'
	printf 'synth-db\tnpuprof-synth -q -o made --ranks 3 %s --slow-rank 1:1.2\n' "$small"
	printf 'synth-text\tnpuprof-synth -q -o made --ranks 2 %s --format text\n' "$small"
}

# run_cases <machine>
run_cases() {
	cases | while IFS="$(printf '\t')" read -r name command; do
		room=$out/got/$1/$name
		mkdir -p "$room"
		ln -s "$in" "$room/in"
		status=0
		(cd "$room" && PATH=$out/bin/$1:$PATH LC_ALL=C.UTF-8 TZ=UTC COLUMNS=100 sh -c "$command" >stdout 2>stderr </dev/null) || status=$?
		echo "$status" >"$room/status"
		rm "$room/in"
	done
	# How long a rule took, where its file is, and when watch last looked.
	find "$out/got/$1" -type f \( -name '*.json' -o -name stdout -o -name '*.sarif' -o -name metrics \) -exec sed -i \
		-e 's/"elapsed_ns": *[0-9][0-9]*/"elapsed_ns": 0/g' -e "s#$out/$1/#$out/#g" \
		-e 's/^\(npuprof_watch_last_look_timestamp_seconds.* \)[0-9.]*$/\10/' {} +
}
run_cases here
run_cases plain
run_cases aarch64

# What launchers of two nodes and their applications do is a matter of times and processes: no bytes to compare.
# node <number>: the launcher of a node, on which a shell starts two ranks as torchrun does
node() {
	# shellcheck disable=SC2016 # for the shell that runs it
	QEMU_LD_PREFIX=/usr/aarch64-linux-gnu LD_LIBRARY_PATH=$out/aarch64/npusim PATH=$out/aarch64/sim/bin:$PATH NPUPROF_TOKEN=portability-of-npuprof \
		timeout -k 10 300 "$out/aarch64/npuprof-collect" --coord tcp --nnodes 2 --node-rank "$1" --rdzv "127.0.0.1:$port" --job job \
		-o "$out/got/collected" --ranks all --step-start 3 --step-end 5 --export after -- sh -c '
			for local in 0 1; do
				RANK=$((2 * $1 + local)) LOCAL_RANK=$local WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1 \
					"$0" -q --steps 8 --hidden 256 &
			done
			wait' "$out/aarch64/npu-train-demo" "$1" >"$out/node$1.log" 2>&1
}

collected='not tried: the kernel does not start its programs (binfmt_misc)'
if QEMU_LD_PREFIX=/usr/aarch64-linux-gnu "$out/aarch64/npuprof-collect" -V >/dev/null 2>&1; then
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	node 1 &
	collected=failed
	node 0 && wait $! && grep -q 'profiles of 4 of 4 ranks' "$out/node0.log" &&
		"$out/bin/aarch64/npuprof" cluster "$out/got/collected" -f json -o "$out/got/collected.result" | grep -q '"ranks_used": 4' && collected='4 of 4 ranks'
fi

# same <machine> <file>: the bytes of both, but for the version of the SQLite that wrote a database, at the end of its head
same() {
	cmp -s "$out/got/here/$2" "$out/got/$1/$2" && return
	case $2 in
	*.db) [ -e "$out/got/$1/$2" ] && [ -z "$(cmp -l "$out/got/here/$2" "$out/got/$1/$2" 2>&1 | awk '$1 < 97 || $1 > 100' || :)" ] ;;
	*) return 1 ;;
	esac
}

# compare <machine>: how many files differ, after showing them
compare() {
	different=0 same=0
	for file in $(cd "$out/got/here" && find . -type f | LC_ALL=C sort); do
		if same "$1" "$file"; then
			same=$((same + 1))
			continue
		fi
		different=$((different + 1))
		echo "differs: $1 $file"
		case $file in
		*.db) ;;
		*) diff "$out/got/here/$file" "$out/got/$1/$file" | cut -c 1-160 | head -n 5 ;;
		esac
	done
	missing=$( (cd "$out/got/$1" && find . -type f) | while read -r file; do [ -e "$out/got/here/$file" ] || echo "$file"; done)
	[ -z "$missing" ] || echo "only on $1: $missing"
	[ "$different" = 0 ] && [ -z "$missing" ] || bad=1
	echo "$1: $(cases | wc -l) commands: $same files are the same, $different differ"
}
bad=''
compare plain
compare aarch64
echo "the collector there: $collected"
[ -z "$bad" ] && [ "$collected" != failed ]
