#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The check of translations finds what it is for: texts without one, translations that nobody says, values that get lost.
# The Chinese pages have what the English ones have.
# shellcheck source-path=SCRIPTDIR disable=SC2016
. "$(dirname "$0")/lib.sh"
need_program python3

check=$NPUPROF_SOURCE/tools/check-po.sh
mkdir -p "$work/tree/cli" "$work/tree/po"

# entry <msgid> <msgstr> [comment]: add it to the catalogue
entry() {
	printf '\n%smsgid "%s"\nmsgstr "%s"\n' "${3:+$3$'\n'}" "$1" "$2" >>"$work/tree/po/zh.po"
}

cat >"$work/tree/cli/a.c" <<'C'
#include "a.h"
/* np_say(buf, "a comment says nothing"); */
static const struct np_opt rows[] = {
	{ .name = "dir", .value = "DIR", .help = "read what is below "
						 "DIR" },
};
int f(void)
{
	np_say(buf, "rank {1} waited {2}\n", NP_SAID_INT(1), NP_SAID_TIME(2));
	np_buf_printf(buf, "{\"key\": %d}", 3);
	if (x)
		return np_fail(err, NP_E_IO, "cannot read '%s': %" PRId64 " of %zu bytes%s", path, n, m,
			       y ? "; try again" : "");
	return np_fail(err, NP_E_IO, "no " NP_FILE_NAME " in '%s'", path);
}
C

behaviour 'what has no translation is named with its place'
: >"$work/tree/po/zh.po"
run "$check" "$work/tree"
expect_exit 1
expect_stdout_has 'cli/a.c:4: not translated: "read what is below DIR"'
expect_stdout_has 'cli/a.c:9: not translated: "rank {1} waited {2}\n"'
expect_stdout_has "cli/a.c:12: not translated: \"cannot read '{1}': {2} of {3} bytes{4}\""
expect_stdout_has 'cli/a.c:13: not translated: "; try again"'
expect_stdout_has "cli/a.c:14: not translated: \"no {1} in '{2}'\""
expect_stdout_has '5 texts, 5 not translated, 0 said no more'

behaviour 'with all of them it is content'
entry 'read what is below DIR' '读取 DIR 下的内容'
entry 'rank {1} waited {2}\n' 'rank {1} 等待 {2}\n'
entry "cannot read '{1}': {2} of {3} bytes{4}" "无法读取 '{1}'：{3} 字节中的 {2}{4}"
entry '; try again' '；请重试'
entry "no {1} in '{2}'" "'{2}' 中没有 {1}"
run "$check" "$work/tree"
expect_exit 0
expect_stdout_has '5 texts, 0 not translated, 0 said no more'

behaviour 'what nobody says any more is named, unless a library says it'
entry 'rank {1} slept' 'rank {1} 睡着了'
entry 'Permission denied' '权限不够' '#. foreign'
run "$check" "$work/tree"
expect_exit 1
expect_stdout_has 'nobody says "rank {1} slept"'
expect_stdout_has '5 texts, 0 not translated, 1 said no more'

behaviour 'the table is not made of a translation that loses a value, or a line, or says something twice'
table=$NPUPROF_BUILD/np-po-table
# refused <msgid> <msgstr> <why>
refused() {
	: >"$work/tree/po/zh.po"
	entry 'fine' '好'
	entry "$1" "$2"
	run "$table" "$work/tree/po/zh.po" "$work/out"
	expect_exit 1
	expect 'it says what is wrong' grep -qF "$3" "$work/stderr"
}
refused 'rank {1} waited {2}' 'rank {1} 等待' 'the texts do not have the same gaps'
refused 'rank {1} waited' 'rank {1} 等待 {2}' 'the texts do not have the same gaps'
refused 'a line\n' '一行' 'only one of the texts ends a line'
refused 'fine' '好的' 'the same msgid again'
refused 'nothing' '' 'not translated'

behaviour 'endings that other languages do not have may go'
: >"$work/tree/po/zh.po"
entry 'rank{1} {2}' 'rank {2}'
run "$table" "$work/tree/po/zh.po" "$work/out"
expect_exit 0

# fenced <file>: what is to be typed in blocks, without comments
fenced() {
	sed -n '/^```sh$/,/^```$/p' "$NPUPROF_SOURCE/$1" | sed -E 's/ *#.*//' | grep -v '^$'
}

# typed <file>: what is to be typed within lines
typed() {
	tr '\n' ' ' <"$NPUPROF_SOURCE/$1" | tr -s ' ' | grep -oE '`(npuprof|mpirun|man|cmake|\./tools)[^`]*`' | sort -u
}

# rows <file> <from heading> <number of sections>: the first cells of tables, but those that are words
rows() {
	awk -v from="$2" -v most="$3" '/^## /{n++} n >= from && n < from + most && /^\| /' "$NPUPROF_SOURCE/$1" | cut -d'|' -f2
}

behaviour 'README.zh.md has the commands of README.md, in the same order, and as many sections'
expect_equal "$(fenced README.zh.md)" "$(fenced README.md)"
expect_equal "$(typed README.zh.md)" "$(typed README.md)"
expect_equal "$(grep -c '^## ' "$NPUPROF_SOURCE/README.zh.md")" "$(grep -c '^## ' "$NPUPROF_SOURCE/README.md")"
expect_equal "$(grep -c '^|' "$NPUPROF_SOURCE/README.zh.md")" "$(grep -c '^|' "$NPUPROF_SOURCE/README.md")"

behaviour 'the Chinese pages have what the English ones list'
expect_equal "$(rows doc/zh/switching.md 1 1 | grep -oE '`[^`]+`')" "$(rows doc/switching.md 1 1 | grep -oE '`[^`]+`')"
expect_equal "$(rows doc/zh/switching.md 2 1 | grep -oE '`[^`]+`')" "$(rows doc/switching.md 2 1 | grep -oE '`[^`]+`')"
expect_equal "$(rows doc/zh/glossary.md 2 9 | wc -l)" "$(rows doc/glossary.md 1 9 | wc -l)"
expect_equal "$(rows doc/zh/collect.md 1 1 | wc -l)" "$(rows doc/collect.md 1 1 | wc -l)"
