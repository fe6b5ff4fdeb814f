#!/usr/bin/env bash
# Tests the page in Chromium, and the vendored modules against their lock file.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/page/vendor.sh --check
npm ci --prefix internal/test/page --no-audit --no-fund --ignore-scripts --silent
npm ci --prefix internal/test/page/_lint --no-audit --no-fund --ignore-scripts --silent
npm run --prefix internal/test/page/_lint --silent lint
node --test internal/test/page/model.test.mjs
scripts/tools.sh "${CHROMIUM:-chromium}"
CHROMIUM=$(command -v "${CHROMIUM:-chromium}")
export CHROMIUM
BIN=$(mktemp -d)
export BIN
trap 'rm -rf "$BIN"' EXIT
cp bin/agentform bin/agentform-shim "$BIN"
"$GO" build -o "$BIN/fakeagent" ./internal/test/page/agent
[ -z "${SCREENSHOTS:-}" ] || SCREENSHOTS=$(realpath -m "$SCREENSHOTS")
node --test --test-concurrency=1 ${ONLY:+--test-name-pattern "$ONLY"} internal/test/page/page.test.mjs internal/test/page/hands.test.mjs internal/test/page/shop.test.mjs
