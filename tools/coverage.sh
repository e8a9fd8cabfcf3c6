#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build the preset coverage, run its tests and print the covered lines per file
# and folder. The raw reports stay in build/coverage/gcov.
set -eu

cd "$(dirname "$0")/.."
tools/deps.sh
tools/build.sh coverage
find build/coverage -name '*.gcda' -delete
ctest --preset coverage -LE lint -Q || echo 'some tests failed; the figures are of what ran' >&2

rm -rf build/coverage/gcov
mkdir -p build/coverage/gcov
# By the notes of the compiler, so that what never ran is listed too.
find "$PWD/build/coverage" -name '*.gcno' -print0 |
	(cd build/coverage/gcov && xargs -0 gcov -r -s "$OLDPWD" >summary.txt 2>/dev/null)

# A header or source compiled into several programs is reported once for each;
# the best of them counts, since gcov has merged the runs of each object already.
awk '
	/^File / { file = $2; gsub(/\047/, "", file) }
	/^Lines executed:/ && file !~ /^(tests|\/)/ && file != "" {
		split($0, part, /[:% ]+/)
		percent = part[3]; lines = $NF
		hit = percent * lines / 100
		if (!(file in total) || hit > best[file]) { best[file] = hit; total[file] = lines }
		file = ""
	}
	END {
		for (file in total) {
			folder = file
			sub(/\/[^\/]*$/, "", folder)
			printf "%6.1f %% of %5d  %s\n", 100 * best[file] / total[file], total[file], file
			sum[folder] += best[file]; all[folder] += total[file]
		}
		for (folder in all)
			printf "%6.1f %% of %5d  %s/\n", 100 * sum[folder] / all[folder], all[folder], folder
	}' build/coverage/gcov/summary.txt | sort -k5
