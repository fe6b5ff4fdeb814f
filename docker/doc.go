// Package docker is the runtime that holds sessions in containers, one each.
//
// The first process of a container is the guest's program as a keeper
// (guest.KeepMode). It stays when the agent has gone, so that a container whose
// session is dead (stale) can be told from one that is gone, and a session can be
// started again in the same container. It does in there what is asked of it over a
// unix socket in a folder that is mounted: it runs tmux, in which each run of the
// agent has a guest as on this machine, looks at the run's processes, which have
// other numbers outside, and ends them. Nothing is done by docker exec.
//
// What a container shares with this machine:
//
//   - the workspace, at the same path;
//   - DATA_DIR/runs, as the container sees it, which is DATA_DIR/containers/ID/runs
//     here: the folders of this session's runs alone. Each run's folder is a link
//     in DATA_DIR/runs to the one in there;
//   - a folder of its own below the socket folder, for the keeper and the guest;
//   - the guest's program, read-only, and what the manifest mounts.
//
// Labels say whose a container is. Which run is in it stands in
// DATA_DIR/containers/ID/mark.json, which the container does not see: labels cannot
// be changed. What stands in shared folders or answers on a shared socket was
// written by something with the agent's rights. It is a claim: read bounded, never
// through a link, and an exit is believed only of a run whose processes are gone.
//
// Observe lists the containers once, and asks each keeper one question.
package docker
