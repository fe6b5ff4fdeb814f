// Package torture kills agentform, again and again, and looks what is left.
//
// The built program runs against real tmux, real git and processes that stand in for
// agents. Its apply, its destroy and its hub are killed by SIGKILL at random moments, alone
// or with everything that they have started, while the manifest changes and agents die.
// After each kill:
//
//   - the state parses, has not gone back, and is of the lineage that it was;
//   - no agent and no tmux session lives that is not on record, under its run;
//   - no session has two agents, nor ever had: each agent holds a lock on a file of its
//     session's for as long as it lives, and tells when it finds it taken.
//
// After every few kills one apply brings about what the manifest says, the next plan is
// empty, and exactly the agents that are wanted live. In the end a destroy leaves no
// process, no socket and no worktree.
//
// Two more tests let each call of an apply to the outside fail, in turn and in each way:
// TestFaults those to tmux and git, by a wrapper before each in the PATH, and to the kernel,
// by strace and a disk that is full; TestEngineFaults those to Docker, by a proxy. The
// error must be clear, the state right, and the next apply must converge. What can be
// had without processes is tested exhaustively in package reconcile.
//
// The tests TestCluster… do that with sessions and a state in a Kubernetes cluster, see
// package kubetest: each call to the API server fails, it is killed, and two machines apply
// at the same time.
//
// What is random comes from one seed, which is printed. AGENTFORM_TORTURE_SEED sets it,
// AGENTFORM_TORTURE how many kills there are: some in CI, a thousand in `make torture`.
// When a kill happened, in microseconds, is the machine's own choice; so the seed brings
// back the manifests and the order of what is done, and a failure keeps the project's
// directory, which brings back the rest. It reads /proc, and so needs Linux.
package torture
