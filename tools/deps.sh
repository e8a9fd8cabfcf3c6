#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install the Debian 12 packages that building, running and testing need, if any
# is missing. Does nothing, and asks nobody, when all are there.
#
#	tools/deps.sh           install what is missing
#	tools/deps.sh --list    print the names
#
# NPUPROF_NO_DEPS=1 skips it: for systems where they come from elsewhere.
set -eu

packages="
	gcc libc6-dev cmake ninja-build pkg-config
	libsqlite3-dev libjansson-dev libpcre2-dev zlib1g-dev
	libopenmpi-dev openmpi-bin libmpich-dev mpich libsodium-dev
	libxlsxwriter-dev libcmocka-dev sqlite3 clang-format shellcheck python3 zsh fish"

# Without these tests of the page and of the timeline are skipped.
browser="chromium chromium-driver python3-selenium protobuf-compiler"

if [ "${1:-}" = --list ]; then
	# shellcheck disable=SC2086
	printf '%s\n' $packages $browser
	exit
fi
[ "${NPUPROF_NO_DEPS:-}" != 1 ] || exit 0

if ! command -v dpkg-query >/dev/null; then
	echo "deps.sh: this is no Debian system; install the equivalents of:" >&2
	# shellcheck disable=SC2086
	echo "  "$packages >&2
	echo "then set NPUPROF_NO_DEPS=1" >&2
	exit 1
fi

# missing_of <package>...: those that are not installed
missing_of() {
	for package; do
		# shellcheck disable=SC2016
		case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) in
		ii*) ;;
		*) printf ' %s' "$package" ;;
		esac
	done
}

# shellcheck disable=SC2086
missing=$(missing_of $packages)
# shellcheck disable=SC2086
missing_browser=$(missing_of $browser)
[ -n "$missing$missing_browser" ] || exit 0

if [ "$(id -u)" = 0 ]; then
	as_root=
elif sudo -n true 2>/dev/null; then
	as_root='sudo -n'
elif [ -z "$missing" ]; then
	echo "deps.sh: the test of the page will be skipped; it needs$missing_browser" >&2
	exit 0
else
	echo "deps.sh: packages are missing; please run:" >&2
	echo "  sudo apt-get install$missing" >&2
	exit 1
fi

echo "installing$missing$missing_browser"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# An update may fail for one source and still bring what is needed.
# shellcheck disable=SC2086
if ! { $as_root apt-get -q update || true; } >"$log" 2>&1 ||
	{ [ -n "$missing" ] &&
		! $as_root apt-get -q -y install --no-install-recommends $missing >>"$log" 2>&1; }; then
	cat "$log" >&2
	rm -f "$log"
	echo "deps.sh: cannot install$missing" >&2
	exit 1
fi
# shellcheck disable=SC2086
if [ -n "$missing_browser" ] &&
	! $as_root apt-get -q -y install --no-install-recommends $missing_browser >>"$log" 2>&1; then
	echo "deps.sh: cannot install$missing_browser: the test of the page will be skipped" >&2
fi
rm -f "$log"
