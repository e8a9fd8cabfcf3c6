#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may use whom, what is unique, how files open: the rules of CONTRIBUTING.md
# ("Layers"), by the table tools/layers.txt. Run by ctest as lint.layers.
#
#	tools/check-layers.sh [--report] [source directory [build directory]]
#
# Symbols are read from the objects below the build directory (or $NPUPROF_BUILD);
# without one only the text is checked. --report prints what is a question, not a fault.
if ! command -v python3 >/dev/null; then
	echo 'python3 is not installed'
	exit 77
fi
tools=$(cd "$(dirname "$0")" && pwd) || exit 2
export PYTHONDONTWRITEBYTECODE=1
if [ "${1:-}" = --report ]; then
	shift
	exec python3 "$tools/layers_report.py" "${1:-$tools/..}" "${2:-${NPUPROF_BUILD:-}}"
fi
exec python3 "$tools/check_layers.py" "${1:-$tools/..}" "${2:-${NPUPROF_BUILD:-}}"
