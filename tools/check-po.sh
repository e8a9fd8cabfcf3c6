#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every text that people read has its translation, and every translation is said by somebody.
# Run by ctest as lint.po.
#
#	tools/check-po.sh [source directory]
if ! command -v python3 >/dev/null; then
	echo 'python3 is not installed'
	exit 77
fi
tools=$(cd "$(dirname "$0")" && pwd) || exit 2
export PYTHONDONTWRITEBYTECODE=1
source=${1:-$tools/..}
exec python3 "$tools/po/po_check.py" "$source" "$source/po/zh.po"
