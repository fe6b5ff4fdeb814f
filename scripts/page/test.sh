#!/usr/bin/env bash
# Tests the page in Chromium, and the vendored modules against their lock file.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/page/vendor.sh --check
if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "install chromium (apt-get install chromium), or set CHROMIUM" >&2; exit 1; }
	apt-get -o DPkg::Lock::Timeout=120 update -qq
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends chromium
fi
CHROMIUM=$(command -v "${CHROMIUM:-chromium}")
export CHROMIUM
BIN=$(mktemp -d)
export BIN
trap 'rm -rf "$BIN"' EXIT
cp bin/agentform bin/agentform-shim "$BIN"
"$GO" build -o "$BIN/fakeagent" ./internal/test/page/agent
[ -z "${SCREENSHOTS:-}" ] || SCREENSHOTS=$(realpath -m "$SCREENSHOTS")
npm ci --prefix internal/test/page --no-audit --no-fund --ignore-scripts --silent
node --test ${ONLY:+--test-name-pattern "$ONLY"} internal/test/page/page.test.mjs
