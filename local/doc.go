// Package local opens what a program needs to run coding-agent sessions on this
// machine: tmux servers of its own, the guest that is every agent's parent, the
// adapters of the agents, and the reading of their own session files.
//
//	func main() {
//		guest := local.Init()
//		sessions, err := local.Open(".sessions", local.Options{Guest: guest})
//		…
//		defer sessions.Close()
//		err = sessions.With(ctx, "api", spec, func(ctx context.Context, s *session.Session) error { … })
//	}
//
// What is opened is a session.Launcher, whose methods launch, watch and stop. The
// sessions live in tmux and so outlive the program unless it stops them.
package local
