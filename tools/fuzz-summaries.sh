#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Make the seeds of tests/fuzz/corpus/summary again: needed when NP_SUMMARY_FORM was raised.
#
#	tools/fuzz-summaries.sh [directory with npuprof and npuprof-synth in it]
set -eu

cd "$(dirname "$0")/.."
corpus=$PWD/tests/fuzz/corpus/summary
build=$(cd "${1:-build/dev}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Names without a path: the seeds are the same wherever they are made.
"$build/npuprof-synth" -q -o s --ranks 2 --steps 2 --layers 1 --kernels-per-layer 3 --buckets 1 \
	--format-of 1:text
"$build/npuprof" compare --cache c -q s s >/dev/null 2>&1 || :
"$build/npuprof" cluster --cache d -q -o out -d s >/dev/null 2>&1 || :

# of SUMMARY SEED: without the 32 bytes of its head.
of() {
	tail -c +33 "$1" >"$corpus/$2"
}
of c/rank000000-*.npsum rank_db
of d/rank000001-*.npsum rank_text
head -c 600 "$corpus/rank_db" >"$corpus/cut"
ls -l "$corpus"
