#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Does another machine compute the same? Build npuprof for it, run every command in every format under qemu, and compare
# statuses and bytes with those of this machine.
#
#	tools/portability.sh aarch64 [-o DIR] [-j N]
#
#	-o DIR  where to build [default: build/portability]; what is there is used again
#	-j N    compile so many at a time [default: 2]
#
# Needs gcc-aarch64-linux-gnu and qemu-user-static, and the network once: libraries of the other machine are fetched
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

# build <name> [cmake argument]...
build() {
	name=$1
	shift
	mkdir -p "$out/$name"
	{
		cmake -S . -B "$out/$name" -DCMAKE_BUILD_TYPE=Release -DNP_PORTABLE=ON -DBUILD_TESTING=OFF "$@" &&
			cmake --build "$out/$name" -j "$jobs" --target npuprof npuprof-synth
	} >"$out/$name.log" 2>&1 || {
		tail -n 40 "$out/$name.log" >&2
		echo "portability.sh: $name does not build; the log is $out/$name.log" >&2
		return 1
	}
}

libraries=$out/sysroot/usr/lib/aarch64-linux-gnu
build here
fetch
PKG_CONFIG_LIBDIR=$libraries/pkgconfig:$out/sysroot/usr/share/pkgconfig PKG_CONFIG_SYSROOT_DIR=$out/sysroot \
	build aarch64 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc \
	-DCMAKE_LIBRARY_PATH="$libraries" -DCMAKE_EXE_LINKER_FLAGS="-L$libraries" \
	"-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64-static;-L;/usr/aarch64-linux-gnu"

# Programs of the other machine under their names, so that cases do not know where they run.
mkdir -p "$out/bin/here" "$out/bin/aarch64"
for program in npuprof npuprof-synth; do
	printf '#!/bin/sh\nexec %s "$@"\n' "$out/here/$program" >"$out/bin/here/$program"
	printf '#!/bin/sh\nexec qemu-aarch64-static %s "$@"\n' "$out/aarch64/$program" >"$out/bin/aarch64/$program"
	chmod +x "$out/bin/here/$program" "$out/bin/aarch64/$program"
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

# cases: a name, a tab, a command; it runs in an empty directory beside "in"
cases() {
	for run in db text pipeline; do
		for format in table json csv md; do
			printf 'cluster-%s-%s\tnpuprof cluster in/%s -f %s -o out\n' "$run" "$format" "$run" "$format"
			printf 'whatif-%s-%s\tnpuprof whatif in/%s -f %s\n' "$run" "$format" "$run" "$format"
			printf 'info-%s-%s\tnpuprof info in/%s -f %s\n' "$run" "$format" "$run" "$format"
		done
		for format in table json csv md sarif; do
			printf 'advisor-%s-%s\tnpuprof advisor in/%s -f %s -o out\n' "$run" "$format" "$run" "$format"
		done
		printf 'modes-%s\tnpuprof cluster in/%s -m all -f json -o out\n' "$run" "$run"
		printf 'report-%s\tnpuprof report in/%s -o page.html\n' "$run" "$run"
		printf 'timeline-%s\tnpuprof timeline in/%s -o timeline.json\n' "$run" "$run"
		printf 'zh-%s\tnpuprof cluster in/%s --lang zh -o out\n' "$run" "$run"
	done
	for format in table json csv md; do
		printf 'compare-%s\tnpuprof compare in/base in/db -f %s -o out\n' "$format" "$format"
	done
	printf 'export\tnpuprof cluster in/db --export text -o out\n'
	printf 'rules\tnpuprof rules list; npuprof rules test; npuprof rules views\n'
	# shellcheck disable=SC2016 # for the shell that runs it
	printf 'help\tnpuprof -h; for c in cluster whatif advisor compare report timeline info memory export; do npuprof $c -h; done\n'
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
	# How long a rule took.
	find "$out/got/$1" -type f \( -name '*.json' -o -name stdout -o -name '*.sarif' \) -exec sed -i \
		's/"elapsed_ns": *[0-9][0-9]*/"elapsed_ns": 0/g' {} +
}
run_cases here
run_cases aarch64

# same <file>: the bytes of both, but for the version of the SQLite that wrote a database, at the end of its head
same() {
	cmp -s "$out/got/here/$1" "$out/got/aarch64/$1" && return
	case $1 in
	*.db) [ -e "$out/got/aarch64/$1" ] && [ -z "$(cmp -l "$out/got/here/$1" "$out/got/aarch64/$1" 2>&1 | awk '$1 < 97 || $1 > 100' || :)" ] ;;
	*) return 1 ;;
	esac
}

different=0 same=0
for file in $(cd "$out/got/here" && find . -type f | LC_ALL=C sort); do
	if same "$file"; then
		same=$((same + 1))
		continue
	fi
	different=$((different + 1))
	echo "differs: $file"
	case $file in
	*.db) ;;
	*) diff "$out/got/here/$file" "$out/got/aarch64/$file" | cut -c 1-160 | head -n 5 ;;
	esac
done
missing=$( (cd "$out/got/aarch64" && find . -type f) | while read -r file; do [ -e "$out/got/here/$file" ] || echo "$file"; done)
[ -z "$missing" ] || echo "only there: $missing"
echo "$(cases | wc -l) commands: $same files are the same, $different differ"
[ "$different" = 0 ] && [ -z "$missing" ]
