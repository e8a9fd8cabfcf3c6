#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Are all C files formatted by .clang-format and marked with the licence? Run by
# ctest as lint.format. Other versions of clang-format disagree with 14 in places.
#
#	tools/check-format.sh [source directory]
cd "${1:-$(dirname "$0")/..}" || exit 2
status=0

# Files not yet added count too; outside a git checkout all do.
files() {
	git ls-files -co --exclude-standard '*.[ch]' 2>/dev/null ||
		find . -path ./build -prune -o -name '*.[ch]' -print
}

for file in $(files); do
	[ -e "$file" ] || continue
	head -n 1 "$file" | grep -qx '/\* SPDX-License-Identifier: Apache-2.0 \*/' && continue
	echo "$file: the first line is not the licence" >&2
	status=1
done

version=$(clang-format --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
if [ "$version" != 14 ]; then
	echo "clang-format 14 is needed, found: ${version:-none}"
	[ $status != 0 ] || status=77
	exit $status
fi
files | while read -r file; do
	[ ! -e "$file" ] || printf '%s\0' "$file"
done | xargs -0 -r clang-format --dry-run -Werror || status=1
exit $status
