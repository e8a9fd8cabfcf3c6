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
# Older ones know less of what a sourced file defines.
version=$(shellcheck --version | sed -n 's/^version: //p')
case $version in
0.[0-8].*)
	echo "shellcheck $version is older than 0.9"
	exit 77
	;;
esac
exec shellcheck -x -P SCRIPTDIR tools/*.sh tools/freeze/*.sh tests/cli/*.sh .ci/run
