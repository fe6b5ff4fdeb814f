#!/bin/sh
# Runs the tests that need a Kubernetes cluster, within one: test-kubernetes.sh PACKAGE…
# First those that leave the cluster as it is, several packages at a time, then those that cut
# its nodes off, put them under pressure or kill its API server.
set -eu

run() { ${GO:-go} test -tags real,kubernetes -count 1 -timeout 30m "$@"; }
alone='^(TestHub|TestNodeCutOff|TestNodePressure|TestServerKilled|TestClusterServerKilled)$'

run -parallel 4 -skip "$alone" "$@" &
packages=$!
status=0
run -run '^TestCluster' -skip "$alone" ./cmd/internal/cli ./internal/test/torture || status=$?
AGENTFORM_AGENTS=$(scripts/agents.sh) run -tags 'agents kubernetes' -run '^TestCodexInAPodByAgentform$' ./internal/test/agenttest || status=$?
wait "$packages" || status=$?
run -p 1 -run "$alone" ./cmd/internal/cli ./deploy ./kubernetes ./internal/test/torture || status=$?
exit "$status"
