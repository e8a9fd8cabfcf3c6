#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/check-layers.sh finds what it promises to find, in small trees made for it.
. "$(dirname "$0")/lib.sh"

need_program python3 nm cc

tree=$work/tree
objects=$work/objects

# put <path>: a file of the tree, from stdin
put() {
	mkdir -p "$tree/$(dirname "$1")"
	cat >"$tree/$1"
}

# source_file <path> <line>...: a source that opens as it should
source_file() {
	local path=$1

	shift
	{
		printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* A source for trying. */\n'
		printf '%s\n' "$@"
	} | put "$path"
}

# header_file <path> <guard> <line>...
header_file() {
	local path=$1 guard=$2

	shift 2
	{
		printf '/* SPDX-License-Identifier: Apache-2.0 */\n#ifndef %s\n#define %s\n\n' "$guard" "$guard"
		printf '/* A header for trying. */\n'
		printf '%s\n' "$@" '#endif'
	} | put "$path"
}

# row <line>...: add to the table
row() {
	printf '%s\n' "$@" >>"$tree/tools/layers.txt"
}

# append <path> <line>
append() {
	printf '%s\n' "$2" >>"$tree/$1"
}

# change <sed script> <file of the tree>
change() {
	sed -i "$1" "$tree/$2"
}

# compile <target> <path>...: objects where CMake would put them
compile() {
	local target=$1 path

	shift
	for path; do
		mkdir -p "$objects/CMakeFiles/$target.dir/$(dirname "$path")"
		cc -I"$tree/include" -I"$tree" -c "$tree/$path" -o "$objects/CMakeFiles/$target.dir/$path.o" ||
			skip 'the compiler does not compile'
	done
}

# The tree in which nothing is wrong: high uses low, by a private header, and base, by a
# public one; other is another feature.
put tools/layers.txt <<-'END'
	code : include base low high other
	tests : tests
	features : high other
	silent : base
	only zlib.h : low/low\.c
	foreign : hook_.*
	base :
	low : base
	high : low base
	other : base
END
header_file include/npuprof/base.h NP_BASE_H 'int base_id(void);'
source_file base/base.c '#include "npuprof/base.h"' 'int base_id(void) { return 1; }'
header_file low/low.h NP_LOW_H 'struct low { int id; };' 'int low_id(void);'
source_file low/low.c '#include "low.h"' 'int low_id(void) { return 2; }'
source_file high/high.c '#include "low/low.h"' '#include "npuprof/base.h"' \
	'int high_id(void);' 'int high_id(void) { return low_id() + base_id(); }'
header_file other/other.h NP_OTHER_H 'int other_id(void);'
source_file other/other.c '#include "other.h"' 'int other_id(void) { return 3; }'
compile parts base/base.c low/low.c high/high.c other/other.c
mkdir "$work/sound"
mv "$tree" "$objects" "$work/sound"

# begin <sentence>: a behaviour, and that tree to spoil
begin() {
	behaviour "$*"
	rm -rf "$tree" "$objects"
	cp -r "$work/sound/." "$work"
}

check() {
	run "$NPUPROF_SOURCE/tools/check-layers.sh" "$tree" "$objects"
}

# faulty <text>...: the check fails, and says each of these
faulty() {
	check
	expect_exit 1
	expect_stderr_has "$@"
}

sound() {
	check
	expect_exit 0
	expect_no_stderr
}

begin 'a tree that keeps the rules passes'
sound
expect_no_stdout

begin 'symbols that could not be seen are mentioned'
rm -r "$objects/CMakeFiles"
sound
expect_stdout_has '4 of 4 sources have no object'

# Who uses whom

begin 'a header of a folder that the row does not name is refused'
change '2a #include "low/low.h"' other/other.c
faulty 'other/other.c:3: other may not use low (includes low/low.h)'

begin 'a public header belongs to the folder that has its source'
header_file include/npuprof/low_words.h NP_LOW_WORDS_H 'int low_words(void);'
source_file low/low_words.c '#include "npuprof/low_words.h"'
change '3a #include "npuprof/low_words.h"' other/other.c
faulty 'other/other.c:4: other may not use low (includes include/npuprof/low_words.h)'

begin 'a public header without a source needs a row'
header_file include/npuprof/types.h NP_TYPES_H 'typedef int np_ns;'
faulty 'include/npuprof/types.h:1: its source is in no folder'
row 'header types.h : base'
sound

begin 'a public header obeys the rule of its folder'
change '5a #include "low/low.h"' include/npuprof/base.h
faulty 'include/npuprof/base.h:6: base may not use low (includes low/low.h); this would close the cycle base -> low -> base' \
	'cycle base -> low'

begin 'a symbol is a use, without any header'
source_file other/other.c '#include "other.h"' 'int low_id(void);' \
	'int other_id(void) { return low_id(); }'
compile parts other/other.c
faulty 'other/other.c:4: other may not use low (needs low_id of low/low.c); move one of the two'

begin 'a cycle of symbols is found, whatever the rows say'
source_file low/low.c '#include "low.h"' 'int high_id(void);' 'int low_id(void) { return high_id(); }'
compile parts low/low.c
faulty 'low may not use high (needs high_id of high/high.c); this would close the cycle low -> high -> low' \
	'tools/layers.txt:9: cycle high -> low (high/high.c includes low/low.h) -> high (low/low.c needs high_id of high/high.c)'
change 's/^low : base/low : base high/' tools/layers.txt
faulty 'tools/layers.txt:9: the table allows the cycle high -> low -> high'

begin 'a cycle may be excepted, with a reason'
source_file low/low.c '#include "low.h"' 'int high_id(void);' 'int low_id(void) { return high_id(); }'
compile parts low/low.c
row 'except low high :'
check
expect_exit 2
expect_stderr_has 'tools/layers.txt:11: an exception without a reason'
change 's/^except .*/& calls back/' tools/layers.txt
sound

begin 'an exception that is not needed is refused'
row 'except low high : called back once' 'except high low : the row has it'
faulty 'except low high: not used any more' 'except high low: the row allows it'

begin 'an exception that closes no cycle belongs into the row'
change 's/^high : low base/high : base/' tools/layers.txt
row 'except high low : why not'
faulty 'except high low: it closes no cycle; move it to the row of high'

begin 'three exceptions are the most'
row 'except low high : 1' 'except base low : 2' 'except base high : 3' 'except base other : 4'
faulty 'except base other: 3 exceptions are the most'

begin 'an object whose source has gone is not looked at'
source_file low/old.c 'int other_id(void);' 'int old_id(void);' 'int old_id(void) { return other_id(); }'
compile parts low/old.c
rm "$tree/low/old.c"
sound

begin 'a symbol that several programs define is that of the own program'
row 'more : base'
change 's/^code : /&more /' tools/layers.txt
source_file more/more.c 'int low_id(void);' 'int low_id(void) { return 4; }'
source_file other/other.c '#include "other.h"' 'int low_id(void);' \
	'int other_id(void) { return low_id(); }'
rm "$objects/CMakeFiles/parts.dir/other/other.c.o"
compile another more/more.c other/other.c
faulty 'other may not use more (needs low_id of more/more.c)'

begin 'a symbol that cannot be told apart is allowed if one of them is'
row 'more : base'
change 's/^code : /&more /; s/^other : base/& low/' tools/layers.txt
source_file more/more.c 'int low_id(void);' 'int low_id(void) { return 4; }'
source_file other/other.c '#include "other.h"' 'int low_id(void);' \
	'int other_id(void) { return low_id(); }'
compile parts more/more.c other/other.c
sound

begin 'symbols of other projects make no use, though a hook of ours defines them'
source_file low/hook.c 'int hook_open(void);' 'int hook_open(void) { return 4; }'
source_file other/other.c '#include "other.h"' 'int hook_open(void);' \
	'int other_id(void) { return hook_open(); }'
compile parts low/hook.c other/other.c
sound

begin 'files can stand for a folder of their own'
source_file other/main.c '#include "low/low.h"' 'int main(void) { return low_id(); }'
compile parts other/main.c
faulty 'other may not use low (includes low/low.h)' 'other may not use low (needs low_id of low/low.c)'
row 'part other/program : other/main.c' 'other/program : low other'
sound

begin 'groups and stars are short for folders'
row 'group all : base inner/*' 'inner/a :' 'inner/b : base' 'top : all'
change 's/^code : /&inner top /' tools/layers.txt
header_file inner/a/a.h NP_A_H 'int a(void);'
header_file inner/b/b.h NP_B_H 'int b(void);'
source_file top/top.c '#include "inner/a/a.h"' '#include "inner/b/b.h"' '#include "npuprof/base.h"'
sound
header_file inner/a/a.h NP_A_H '#include "npuprof/base.h"'
faulty 'inner/a/a.h:6: inner/a may not use base'

begin 'tests may use everything'
source_file tests/test_low.c '#include "low/low.h"' '#include "other/other.h"' \
	'int main(void) { return low_id() + other_id(); }'
compile test tests/test_low.c
sound

begin 'a folder has a row, and a row a folder'
row 'gone : base'
source_file low/inner/new.c 'int new_id(void);'
faulty 'low/inner/new.c:1: folder low/inner has no row' 'tools/layers.txt:11: no files in gone; remove the row'

begin 'a row that is not understood is refused'
row 'other base'
check
expect_exit 2
expect_stderr_has 'tools/layers.txt:11: no colon'
change '11s/.*/top : nowhere/' tools/layers.txt
check
expect_exit 2
expect_stderr_has 'tools/layers.txt:11: top names nowhere, which has no row'

# What is included how

begin '../ is refused'
change 's|"low/low.h"|"../low/low.h"|' high/high.c
faulty 'high/high.c:3: "../low/low.h": no ../'

begin 'a header that is not there is refused'
change 's|"low/low.h"|"low/lower.h"|' high/high.c
faulty 'high/high.c:3: "low/lower.h": no such header'

begin 'a private header of another feature is refused, whatever the rows say'
change 's/^high : /&other /' tools/layers.txt
change '3a #include "other/other.h"' high/high.c
faulty 'high/high.c:4: other/other.h is private to other; declare what is shared in include/npuprof'

begin 'a header of another project is included where the table says'
change '3a #include <zlib.h>' low/low.c
sound
change '3a #include <zlib.h>' high/high.c
faulty 'high/high.c:4: zlib.h is included only by low/low\.c'

begin 'silent folders do not print or exit'
source_file base/base.c '#include "npuprof/base.h"' '/* exit(1) and "stderr" in words are fine */' \
	'const char *word = "printf(";' 'int base_id(void) { return 1; }' 'void stop(void) { exit(1); }'
faulty 'base/base.c:7: exit: this folder does not print or exit'
expect_equal "$(wc -l <"$work/stderr")" 2

begin 'folders whose results are the same bytes everywhere do not call what C libraries round'
append tools/layers.txt 'exact : base'
source_file base/base.c '#include "npuprof/base.h"' '/* log(1) */ int np_log(void); int catalog(int);' 'int base_id(void) { return catalog(np_log()); }' \
	'double less(double x) { return lgamma_r(x, 0) + log1p(-x); }'
faulty 'base/base.c:6: lgamma_r: rounded otherwise by other C libraries; npuprof/elementary.h has it'
faulty 'base/base.c:6: log1p: rounded otherwise'
expect_equal "$(wc -l <"$work/stderr")" 3

# What is unique

begin 'a tag is defined once'
append other/other.c 'struct low { int other; };'
faulty 'other/other.c:5: tag low is defined in low/low.h:6 as well'
change 5d other/other.c
append other/other.c 'enum job { JOB };'
append high/high.c 'struct job { int id; };'
faulty 'tag job is defined in high/high.c:7 as well'
row 'tags : headers'
sound

begin 'the branches of an #if may both define a tag'
source_file other/other.c '#include "other.h"' '#if 1' 'struct job { int a; };' '#else' \
	'struct job { int b; };' '#endif'
sound

begin 'a guard is unique, and made of the name of the file'
header_file low/names.h NP_OTHER_H
faulty 'low/names.h:2: guard NP_OTHER_H is not made of the name of the file; end it in NAMES_H' \
	'other/other.h:2: guard NP_OTHER_H is that of low/names.h as well'
header_file low/names.h NP_LOW_NAMES_H
sound
printf '/* SPDX-License-Identifier: Apache-2.0 */\n/* A header for trying. */\n' >"$tree/low/names.h"
faulty 'low/names.h:1: no include guard'

begin 'base names are unique in a library'
row 'low/inner :' 'program : low/inner'
source_file low/inner/low.c
compile inner low/inner/low.c
sound
change 's/^program : .*/program : low/' tools/layers.txt
faulty 'low/inner/low.c:1: low/low.c of low has this name as well'
change 's/^program : .*/program : low low\/inner/' tools/layers.txt
compile inner low/low.c
touch "$objects/libinner.a"
faulty 'low/inner/low.c:1: low/low.c of inner has this name as well'

begin 'no target sees two headers of one name'
header_file other/low.h NP_OTHER_LOW_H
change '3a #include "low.h"' other/other.c
faulty 'other/low.h:1: low/low.h has this name as well, and parts is built of both'
rm "$objects/CMakeFiles/parts.dir/other/other.c.o"
compile another other/other.c
sound

# How files open, how many there are

begin 'a source opens with a sentence'
change 2d other/other.c
faulty 'other/other.c:2: no sentence that says what this is'
change '1a /* words */' other/other.c
faulty 'other/other.c:2: no sentence that says what this is'
change '2s|.*|\n/*\n * What is other?\n */|' other/other.c
sound

begin 'a header opens with a sentence, after its guard and what it includes'
change '5s/.*/#include <stdio.h>\n\n&/' other/other.h
sound
change '/A header/d' other/other.h
faulty 'other/other.h:2: no sentence that says what this is'

begin 'a source includes its own header first'
change '2a #include <stdio.h>' other/other.c
faulty 'other/other.c:3: does not include its own header first; begin with other/other.h'

begin 'a folder has 25 sources at most'
for number in {1..24}; do
	source_file "other/other_$number.c"
done
sound
source_file other/other_25.c
faulty 'other:1: 26 sources are in this folder, 25 are the most'

begin 'that holds for tests as well'
for number in {1..26}; do
	echo 'int main(void) { return 0; }' | put "tests/unit/test_$number.c"
done
faulty 'tests/unit:1: 26 sources are in this folder, 25 are the most'

begin 'a library has a page'
row 'library : low'
faulty 'low/README.md:1: a library has a page'
seq 60 | put low/README.md
sound
seq 61 | put low/README.md
faulty 'low/README.md:60: 61 lines, a page has 60'

# What is reported and no fault

begin 'the report names what is a question'
source_file low/low.c '#include "low.h"' 'int low_id(void) { return 2; }' \
	'int low_tried(void) { return 3; }' 'int low_idle(void) { return 4; }'
source_file low/helper.c 'int helper(void);' 'int helper(void) { return 1; }'
source_file low/second.c 'int helper(void);' 'int second(void) { return helper(); }'
source_file tests/test_low.c 'int low_tried(void);' 'int main(void) { return low_tried(); }'
compile parts low/low.c low/helper.c low/second.c
compile test tests/test_low.c
run "$NPUPROF_SOURCE/tools/check-layers.sh" --report "$tree" "$objects"
expect_exit 0
expect_no_stderr
expect_stdout_has '  low/low.c: low_tried (tests/test_low.c)' '  low/low.c: low_idle' \
	'  low/low.h: low_id of low/low.c, called by high/high.c' \
	'  low/helper.c: serves low/second.c' '  high -> low: 1 low_id' '  other: base' \
	'include/npuprof/base.h: of base, used by high'
