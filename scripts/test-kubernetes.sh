#!/bin/sh
# Runs the tests that need a Kubernetes cluster, within one: test-kubernetes.sh PACKAGE…
# Those that leave the cluster as it is come first, then those that cut its nodes off, put
# them under pressure, or kill or suspend its API server.
set -u

red=0
# run TAGS FLAG... -- PACKAGE...
run() {
	tags=$1
	shift
	scripts/gotest.sh -trimpath -tags "$tags" -vet off -count 1 -p 1 -timeout 60m "$@" || red=1
}
alone='^(TestHub|TestNodeCutOff|TestNodePressure|TestServerKilled|TestServerSuspended|TestClusterServerKilled)$'

run grpcnotrace,real,kubernetes -parallel 4 -skip "$alone" -- "$@"
run grpcnotrace,real,kubernetes -run '^TestCluster' -skip "$alone" -- ./cmd/internal/cli ./docs ./internal/test/torture
AGENTFORM_AGENTS=$(scripts/agents.sh) && export AGENTFORM_AGENTS &&
	run grpcnotrace,agents,kubernetes -run '^TestCodexInAPodByAgentform$' -- ./internal/test/agenttest
run grpcnotrace,real,kubernetes -run "$alone" -- ./cmd/internal/cli ./deploy ./kubernetes ./internal/test/torture
exit $red
