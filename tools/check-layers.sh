#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Enforce who may include whom (CONTRIBUTING.md, "Layers"). Run by ctest as
# lint.layers.
#
#	tools/check-layers.sh [source directory]
cd "${1:-$(dirname "$0")/..}" || exit 2
bad=0
features='collect cluster advisor compare'
# shellcheck disable=SC2086
everywhere=$(ls -d include core cli sim $features 2>/dev/null)

# refuse <why> <pattern> <files that may, as a pattern, or -> <path>...
refuse() {
	why=$1 pattern=$2 may=$3
	shift 3
	hits=$(grep -rnE --include='*.[ch]' -e "$pattern" "$@" 2>/dev/null | grep -vE "^($may):")
	[ -n "$hits" ] || return
	printf '%s:\n%s\n' "$why" "$hits" >&2
	bad=1
}

# only <header of another project> <files that may include it, as a pattern>
only() {
	# shellcheck disable=SC2086
	refuse "<$1> may be included by: $2" "#include <$1>" "$2" $everywhere
}

# home_of <header>: the folder that implements include/npuprof/<header>.h
home_of() {
	case $1 in
	base | banned) echo core/base && return ;;
	# Its source, in core/xlsx, is a library of its own.
	workbook) echo core/format && return ;;
	esac
	for folder in core/base core/format core/model cluster/measure cluster/modes; do
		[ ! -e "$folder/$1.c" ] || { echo "$folder" && return; }
	done
	# One header may stand for several readers or back-ends: load.h, load_db.c
	for folder in core/base core/format core/model cluster/measure cluster/modes; do
		for source in "$folder/$1"_*.c; do
			[ ! -e "$source" ] || { echo "$folder" && return; }
		done
	done
}

# headers_of <folder>: its headers in include/npuprof, as "a|b|c"
headers_of() {
	for header in include/npuprof/*.h; do
		name=$(basename "$header" .h)
		[ "$(home_of "$name")" != "$1" ] || echo "$name"
	done | paste -sd '|'
}

# include_of <names>: a pattern for including one of these headers
include_of() {
	echo "#include \"npuprof/(${1:-nothing})\.h\""
}

# paths_of <names>: the paths of these headers
paths_of() {
	echo "$1" | tr '|' '\n' | sed -n 's|..*|include/npuprof/&.h|p'
}

for header in include/npuprof/*.h; do
	[ -z "$(home_of "$(basename "$header" .h)")" ] || continue
	echo "$header: no folder has its source" >&2
	bad=1
done

base=$(headers_of core/base)
format=$(headers_of core/format)
model=$(headers_of core/model)
measure=$(headers_of cluster/measure)
modes=$(headers_of cluster/modes)

# A folder and its headers obey the same rule.
# shellcheck disable=SC2046
{
	refuse 'base knows nothing above it' "$(include_of "$format|$model|$measure")" - \
		core/base $(paths_of "$base")
	refuse 'formats do not know the model' "$(include_of "$model|$measure")" - \
		core/format $(paths_of "$format")
	refuse 'the model does not know the measures' "$(include_of "$measure")" - \
		core/model $(paths_of "$model")
	refuse 'measures are pure: they open and load nothing' "$(include_of 'db|scan|load|discover')" - \
		cluster/measure $(paths_of "$measure")
	refuse 'measures do not know the modes' "$(include_of "$modes")" - core cluster/measure
	refuse 'modes load details and nothing else' "$(include_of 'db|scan|load|discover')" - \
		cluster/modes $(paths_of "$modes")
}
refuse 'the front door knows only base' "$(include_of "$format|$model|$measure")" 'cli/prepare/.*' cli
refuse 'sim may use base and formats only' "$(include_of "$model|$measure")" - sim

refuse 'core does not know the features' \
	"#include \"(cli|collect|cluster|advisor|compare|cmd|opt|common|output)[/.]" - core include
# shellcheck disable=SC2086
refuse 'a file includes its own folder, npuprof/ and, for a command, cli/' '#include "\.\./' - \
	$everywhere
for feature in $features; do
	others=$(echo "$features" | tr ' ' '\n' | grep -vx "$feature" | paste -sd '|')
	refuse "$feature does not include another feature" "#include \"($others)/" - "$feature"
done

only 'sqlite3\.h' '(core/format/(db(_[a-z]+)?\.[ch]|scan\.c)|advisor/engine/sql_private\.h)'
only 'jansson\.h' 'core/format/json\.c'
only 'pcre2\.h' 'core/format/pattern\.c'
only 'zlib\.h' 'core/format/gz\.c'
only 'xlsxwriter\.h' 'core/xlsx/workbook_xlsx\.c'
only 'mpi\.h' 'core/mpi/comm_mpi\.c|collect/launch/coord_mpi\.c|collect/mpi/npuprof_inapp\.c|sim/train/mpi_yes\.c'
only 'dlfcn\.h' 'cli/module\.c|collect/acl/acl_bind\.c|collect/inject/real\.c|collect/launch/check_library\.c|sim/npusim/mstx\.c'

refuse 'core and measures return errors, they do not print or exit' \
	'\b(printf|puts|putchar|perror|_?exit|abort)\(|\b(stdout|stderr)\b' - core cluster/measure cluster/modes

exit $bad
