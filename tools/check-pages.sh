#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Do the sources and headers that pages name exist? A page is a Markdown file of the
# tree; a name is `in/such/quotes.c`. Run by ctest as lint.pages.
#
#	tools/check-pages.sh [source directory]
#
# A name is looked for from the top, in include/, and in the folder of the page, the
# one above it and those below it.
cd "${1:-$(dirname "$0")/..}" || exit 2

pages() {
	git ls-files '*.md' 2>/dev/null || find . -path ./build -prune -o -name '*.md' -print
}

status=0
for page in $(pages); do
	[ -e "$page" ] || continue
	folder=$(dirname "$page")
	# shellcheck disable=SC2016
	for name in $(grep -oE '`[A-Za-z0-9_./-]+\.[ch]`' "$page" | tr -d '`' | sort -u); do
		for place in . include include/npuprof "$folder" "$folder/.."; do
			[ ! -e "$place/$name" ] || continue 2
		done
		[ -z "$(find "$folder" -path '*/build' -prune -o -path "*/$name" -print | head -n 1)" ] || continue
		echo "$page: there is no $name" >&2
		status=1
	done
done
exit $status
