#!/bin/sh
# Runs the short suite on the real thing, one test after the other: tmux's conformance
# suite, and scripts with git, tmux and one Docker engine. A failed test runs again
# alone, twice at most, and is reported as flaky if it passes then.
# Usage: scripts/dockerd.sh scripts/smoke.sh FLAG..., with the flags of go test.
set -u

go=${GO:-go}
out=dist/check
limit=900 # seconds
cli="quickstart killed conversation branch_mismatch drift two_applies serve_killed locked \
	send answer land land_killed destroy_keeps run"
containers="three stale workspace"

tests="TestConformance"
for name in $cli; do tests="$tests TestScripts/$name"; done
for name in $containers; do tests="$tests TestContainerScripts/$name"; done
pattern=$(printf '%s' "$tests" | sed -E 's#([A-Za-z_]+)/([a-z_]+)#\1/^\2$#g; s# +#|#g')

mkdir -p $out
rm -f $out/smoke.json $out/smoke-reruns.txt
timeout -s INT $limit "$go" tool -modfile=scripts/tools/go.mod gotestsum \
	--format testname --format-hide-empty-pkg --no-color --hide-summary skipped \
	--rerun-fails=2 --rerun-fails-max-failures=5 --rerun-fails-abort-on-data-race \
	--rerun-fails-report $out/smoke-reruns.txt --jsonfile $out/smoke.json \
	--packages "./tmux ./cmd/internal/cli" \
	-- "$@" -vet off -count 1 -p 1 -parallel 1 -timeout ${limit}s -run "$pattern"
code=$?

# gotestsum says what failed; what did not run at all is missing from its file.
for name in $tests; do
	if ! grep -q "\"Action\":\"\(pass\|fail\)\".*\"Test\":\"$name\"" $out/smoke.json; then
		echo "did not run: $name" >&2
		code=1
	fi
done
if [ -s $out/smoke-reruns.txt ]; then
	echo "failed at first, see $out/smoke.json:"
	cat $out/smoke-reruns.txt
fi
exit $code
