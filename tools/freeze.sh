#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What changed in any output? The net under a refactoring: many commands over many
# inputs, everything that they print and write recorded, and two records compared.
#
#	tools/freeze.sh inputs [-b BUILD] DIR             make the inputs, once
#	tools/freeze.sh record [-b BUILD] [-i DIR] [-j N] [-s SHARED] [-c GLOB] OUT
#	                                                  run all cases and keep what came out
#	tools/freeze.sh diff [-m SED] [-w] [-n N] OUT1 OUT2
#	                                                  say what differs; status 1 if anything does
#	tools/freeze.sh since [-b BUILD] [-j N] [-s SHARED] [-c GLOB] [-m SED] [-w] [-n N] COMMIT
#	                                                  all of it: build COMMIT, record both, compare
#	tools/freeze.sh cases [-i DIR] [-s SHARED]        list names and commands
#
#	-b BUILD   the programs [default: build/dev]; they are copied first, so that it may be built again meanwhile
#	-i DIR     inputs of an earlier `inputs`; needed to compare builds [default: made for this record]
#	-j N       so many cases at a time [default: one per processor]
#	-s SHARED  a directory with recorded profiles in data/ [default: NPUPROF_SHARED, or ../shared if it is there;
#	           "" for none]
#	-c GLOB    only the cases whose name fits, such as 'cluster/*'; diff compares those that both records have
#	-m SED     a sed script of what was renamed, applied to text and names of OUT1; it must change all that OUT2 changed
#	-w         compare words: padding and line breaks do not count
#	-n N       show so many differing files [default: 40; 0 for all]
#
# OUT/<case>/ has the command, stdout, stderr, status and, in files/, what was written: databases as SQL,
# workbooks part by part, summaries by their checksum. Paths, times and host names that differ from run to run are
# replaced by words. OUT/HASHES has a checksum for each file. The inputs are in freeze/inputs.sh, the cases in
# freeze/cases.sh, and freeze/case.sh runs one.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
me=$here/$(basename "$0")

# stop <text>...: wrong usage, or something that is missing
stop() {
	echo "freeze.sh: $*" >&2
	exit 2
}

usage() {
	sed -n 's/^#\t//p' "$me" >&2
	exit 2
}

# absolute <directory that may not be there yet>
absolute() {
	case $1 in
	/*) printf '%s\n' "$1" ;;
	*) printf '%s/%s\n' "$PWD" "$1" ;;
	esac
}

# empty_directory <path>: make it, or take it if nothing is in it
empty_directory() {
	mkdir -p "$1"
	[ -z "$(ls -A "$1")" ] || stop "'$1' is not empty"
}

# temporary: $work is a directory that goes away at the end; the length of its name is always the same, as lines
# are broken where paths end
temporary() {
	work=$(mktemp -d "${TMPDIR:-/tmp}/npuprof-freeze.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM PIPE
}

# need_build: $build is absolute and has the programs
need_build() {
	build=$(cd "$build" 2>/dev/null && pwd) || stop "no directory '$build': tools/build.sh dev"
	for program in npuprof npuprof-synth; do
		[ -x "$build/$program" ] || stop "'$build/$program' is missing: tools/build.sh dev"
	done
	command -v sqlite3 >/dev/null || stop 'sqlite3 is not installed'
}

make_inputs() {
	need_build
	empty_directory "$1"
	bash "$here/freeze/inputs.sh" "$build" "$1" || stop "the inputs could not be made in '$1'"
}

# list_cases <inputs>: name, tab, command
list_cases() {
	sh "$here/freeze/cases.sh" "$1" "$shared" | awk -F '\t' -v glob="$glob" '
		BEGIN {
			gsub(/[.+()^$|{}\\]/, "\\\\&", glob)
			gsub(/\*/, ".*", glob)
			gsub(/\?/, ".", glob)
		}
		seen[$1]++ { print "freeze.sh: two cases are called " $1 >"/dev/stderr"; bad = 1 }
		glob == "" || $1 ~ "^" glob "$"
		END { exit bad }'
}

# hash_all <directory>: HASHES of all files in it
hash_all() {
	(cd "$1" && find . -type f ! -path ./HASHES ! -path ./PARTIAL -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum | sed 's|  \./|  |') \
		>"$work/hashes"
	mv "$work/hashes" "$1/HASHES"
}

# state <directory>: a line for each file that changes with its name, size, time and mode
state() {
	(cd "$1" && find . -printf '%p %y %m %s %T@\n' | LC_ALL=C sort)
}

record() {
	out=$(absolute "$1")
	need_build
	empty_directory "$out"
	[ -n "$work" ] || temporary
	if [ -z "$inputs" ]; then
		inputs=$work/made
		make_inputs "$inputs"
	fi
	[ -e "$inputs/modes" ] || stop "'$inputs' has no inputs: tools/freeze.sh inputs '$inputs'"

	# All that is needed, at paths of the same length for any build and any inputs.
	mkdir "$work/bin" "$work/cases"
	for file in npuprof npuprof-synth npuprof-collect rules npusim sim; do
		[ ! -e "$build/$file" ] || cp -rLp "$build/$file" "$work/bin/"
	done
	find "$work/bin/sim" -name '*.[ao]' -delete 2>/dev/null || :
	for file in "$build"/libnpuprof_*.so; do
		[ ! -e "$file" ] || cp -p "$file" "$work/bin/"
	done
	cp -a "$inputs" "$work/in"
	[ -z "$shared" ] || ln -s "$shared/data" "$work/shared"

	state "$work/in" >"$work/before"
	list_cases "$inputs" >"$work/list"
	[ -s "$work/list" ] || stop "no case is called '$glob'"
	began=$(date +%s)
	xargs -d '\n' -n 1 -P "$jobs" sh "$here/freeze/case.sh" "$work" "$out" "$shared" <"$work/list" || stop 'a case could not be recorded'
	state "$work/in" | diff "$work/before" - >"$out/inputs-changed" || echo 'freeze.sh: inputs were changed' >&2
	[ -z "$glob" ] || echo "$glob" >"$out/PARTIAL"
	hash_all "$out"
	echo "$(wc -l <"$work/list") runs, $(wc -l <"$out/HASHES") files, $(du -sh "$out" | cut -f1), $(($(date +%s) - began)) s: $out"
	rm -rf "${work:?}/bin" "$work/in" "$work/cases" "$work/shared" "$work/made"
}

# renamed <record> <sed script>: a copy in $work/renamed with the script applied to text and names
renamed() {
	cp -r "$1" "$work/renamed"
	rm -f "$work/renamed/HASHES"
	(
		cd "$work/renamed"
		find . -type f -print0 | xargs -0 -r sed -i -f "$2"
		find . -type f | sort >"$work/names"
		sed -f "$2" "$work/names" | paste "$work/names" - | while IFS="$(printf '\t')" read -r old new; do
			[ "$old" = "$new" ] || { mkdir -p "$(dirname "$new")" && mv "$old" "$new"; }
		done
	)
	hash_all "$work/renamed"
}

# words <file>: one in each line
words() {
	tr -s '[:space:]' '\n' <"$1" | sed '/^[-─│█]*$/d'
}

# excerpt <mark> <file> <line> <byte>: the line, or what is near the byte if it is long; of words, some of them
excerpt() {
	shown_line=$(sed -n "$3{p;q}" "$2")
	if [ "$by_words" = 1 ]; then
		shown_line="… $(sed -n "$(($3 > 6 ? $3 - 6 : 1)),$(($3 + 6))p" "$2" | tr '\n' ' ')…"
	elif [ "${#shown_line}" -gt 300 ]; then
		shown_line="… $(tail -c +$(($4 > 80 ? $4 - 80 : 1)) "$2" | head -c 240 | tr '\n' ' ') …"
	fi
	printf '    %s %s\n' "$1" "$shown_line"
}

# differs <file> <file>: prints where, or fails if they are the same
differs() {
	first=$1 second=$2
	if [ "$by_words" = 1 ]; then
		words "$1" >"$work/first"
		words "$2" >"$work/second"
		! cmp -s "$work/first" "$work/second" || return 1
		first=$work/first second=$work/second
	fi
	# "a b differ: byte 10, line 2" ("char" in some locales), or "cmp: EOF on b after byte 10, line 2" if one goes on where the other ends
	where=$(LC_ALL=C cmp "$first" "$second" 2>&1) && return 1
	case $where in
	*EOF*empty*) line=1 byte=1 ;;
	*EOF*)
		byte=$(echo "$where" | sed 's/.*after byte \([0-9]*\).*/\1/')
		line=$(($(LC_ALL=C head -c "$byte" "$first" | wc -l) + 1))
		;;
	*)
		byte=$(echo "$where" | sed 's/.* \([0-9]*\), line [0-9]*$/\1/')
		line=${where##* }
		;;
	esac
	if [ "$by_words" = 1 ]; then
		printf '%s: word %s\n' "$3" "$line"
	else
		printf '%s:%s\n' "$3" "$line"
	fi
	excerpt - "$first" "$line" "$byte"
	excerpt + "$second" "$line" "$byte"
}

# For awk: the case that a file belongs to
case_of='
	function case_of(name) {
		if (name !~ /\/(command|stdout|stderr|status)$/ && match(name, /.*\/files\//))
			return substr(name, 1, RLENGTH - 7)
		sub(/\/[^\/]*$/, "", name)
		return name
	}'

# compare <record> <record>: in $work/changed a line for each file, and a summary
compare() {
	[ -e "$1/HASHES" ] || stop "'$1' is no record"
	[ -e "$2/HASHES" ] || stop "'$2' is no record"
	[ -n "$work" ] || temporary
	one=$1 two=$2
	if [ -n "$renames" ]; then
		renamed "$one" "$renames"
		one=$work/renamed
	fi
	# Of records with some of the cases (-c), those that both have are compared.
	partial=0
	[ ! -e "$1/PARTIAL" ] && [ ! -e "$2/PARTIAL" ] || partial=1
	# 64 digits, two blanks, a name
	awk -v partial="$partial" "$case_of"'
		{ name = substr($0, 67) }
		name ~ /\/command$/ { cases[FNR == NR, case_of(name)] }
		FNR == NR { hash[name] = $1; next }
		!(name in hash) { added[name]; next }
		{ if (hash[name] != $1) print "changed " name; else same++; delete hash[name] }
		END {
			for (name in added)
				if (!partial || (1, case_of(name)) in cases)
					print "added " name
			for (name in hash)
				if (!partial || (0, case_of(name)) in cases)
					print "removed " name
			print same + 0 >same_file
		}' same_file="$work/same" "$one/HASHES" "$two/HASHES" | LC_ALL=C sort -k2 >"$work/candidates"
	: >"$work/changed"
	shown=0
	while read -r how name; do
		case $how in
		changed) text=$(differs "$one/$name" "$two/$name" "$name") || continue ;;
		*) text="$name: $how" ;;
		esac
		echo "$how $name" >>"$work/changed"
		shown=$((shown + 1))
		[ "$show" != 0 ] && [ "$shown" -gt "$show" ] || printf '%s\n' "$text"
	done <"$work/candidates"

	if [ ! -s "$work/changed" ]; then
		echo "no difference in $(cat "$work/same") files"
		return 0
	fi
	[ "$show" = 0 ] || [ "$shown" -le "$show" ] || echo "… and $((shown - show)) more: -n 0 shows all"
	echo
	awk "$case_of"'
		{
			count[$1]++
			name = substr($0, length($1) + 2)
			split(name, part, "/")
			groups[part[1]]++
			kind = part[split(name, part, "/")]
			kinds[kind ~ /^(command|stdout|stderr|status|inputs-changed)$/ ? kind : "files written"]++
			if (!(case_of(name) in cases)) { cases[case_of(name)]; runs++ }
		}
		function list(title, of, name, text) {
			text = ""
			for (name in of)
				text = text (text == "" ? "" : ", ") of[name] " " name
			print title ": " text
		}
		END {
			list("files", count); list("by command", groups); list("by kind", kinds)
			print "runs: " runs " differ"
		}' "$work/changed"
	echo "compared: $(cat "$work/same") files are the same; diff -r $1 $2 shows all"
	return 1
}

since() {
	cd "$here/.."
	commit=$(git rev-parse --verify --quiet "$1^{commit}") || stop "no commit '$1'"
	need_build
	temporary
	# Kept for the next time: the commit does not change, and what else matters is part of the name.
	version=$(echo "$glob $shared" | cat "$me" "$here"/freeze/*.sh - | sha256sum | head -c 8)
	kept=${TMPDIR:-/tmp}/npuprof-freeze-$(echo "$commit" | head -c 12)-$version
	current=$build
	if [ ! -e "$kept/base/HASHES" ]; then
		rm -rf "$kept"
		mkdir -p "$kept"
		echo "== building $(git log -1 --format='%h %s' "$commit")"
		git worktree add --quiet --detach "$work/tree" "$commit"
		trap 'git worktree remove --force "$work/tree" 2>/dev/null; rm -rf "$work"' EXIT
		(cd "$work/tree" && cmake --preset dev -DBUILD_TESTING=OFF && cmake --build --preset dev -j "${NPUPROF_JOBS:-2}") \
			>"$kept/build.log" 2>&1 || stop "it does not build; see $kept/build.log"
		build=$work/tree/build/dev
		echo '== making inputs and recording'
		make_inputs "$kept/inputs"
		inputs=$kept/inputs
		record "$kept/base"
	fi
	echo '== recording the current build'
	build=$current inputs=$kept/inputs
	rm -rf "$kept/now"
	record "$kept/now"
	compare "$kept/base" "$kept/now"
}

[ $# -gt 0 ] || usage
verb=$1
shift
build=$here/../build/dev inputs='' jobs=$(nproc) glob='' renames='' by_words=0 show=40 work=''
if [ -n "${NPUPROF_SHARED+set}" ]; then
	shared=$NPUPROF_SHARED
elif [ -d "$here/../../shared/data" ]; then
	shared=$here/../../shared
else
	shared=''
fi
while getopts b:i:j:s:c:m:n:wh option; do
	case $option in
	b) build=$OPTARG ;;
	i) inputs=$(absolute "$OPTARG") ;;
	j) jobs=$OPTARG ;;
	s) shared=$OPTARG ;;
	c) glob=$OPTARG ;;
	m) renames=$(absolute "$OPTARG") ;;
	n) show=$OPTARG ;;
	w) by_words=1 ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
if [ -n "$shared" ] && [ -d "$shared/data" ]; then
	shared=$(cd "$shared" && pwd -P)
else
	shared=''
fi

case $verb:$# in
inputs:1) make_inputs "$(absolute "$1")" ;;
record:1) record "$1" ;;
diff:2) compare "$1" "$2" ;;
since:1) since "$1" ;;
cases:0) list_cases "$inputs" ;;
*) usage ;;
esac
