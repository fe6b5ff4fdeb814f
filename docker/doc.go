// Package docker is the runtime that keeps sessions in containers, one each.
//
// The first process of a container is its init (shim.InitMode). It stays when the agent
// ends, so that a container with a dead session (stale) differs from one that is gone,
// and a session can be restarted in its container. The init serves requests on a unix
// socket in a mounted directory: it runs tmux, in which each run of the agent has a shim
// as on this machine, inspects the run's processes, whose pids differ outside, and ends
// them. Only adopted containers, which have no init, need docker exec.
//
// A container shares with this machine:
//
//   - the workspace, at the same path;
//   - the directories of the session's runs: DATA_DIR/runs in the container is
//     DATA_DIR/containers/ID/runs here. Each run's directory is a link in DATA_DIR/runs;
//   - a directory below the socket directory, for the sockets of the init and the shim;
//   - the shim's program, read-only, and the mounts of the manifest.
//
// Labels say whose a container is. They cannot be changed, so the last run's mark is in
// DATA_DIR/containers/ID/mark.json, which the container does not see. What is in shared
// directories or answers on a shared socket was written with the agent's rights. It is
// read bounded, never through a link, and an exit is believed only if the run's
// processes are gone.
package docker
