#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run shellcheck over our scripts. Run by ctest as lint.shell.
#
#	tools/check-shell.sh [source directory]
cd "${1:-$(dirname "$0")/..}" || exit 2
if ! command -v shellcheck >/dev/null; then
	echo 'shellcheck is not installed'
	exit 77
fi
exec shellcheck -x -P SCRIPTDIR tools/*.sh tools/freeze/*.sh tests/cli/*.sh .ci/run
