// Package session is the vocabulary of agentform, and the door for programs that
// run coding-agent sessions themselves.
//
// For programs: a Launcher launches an agent and returns when it can be typed to
// (Launch), stops it in the end whatever happens (With), and finds again what an
// earlier life of the program left running (Find). The Session that it returns is
// looked at once (Monitor, Observe) or until it does nothing more (Watch), typed to
// (Send, SendInput), read (Capture), shown to a person (Attach), and stopped (Stop).
// Package local opens a Launcher that is ready for use on this machine; package
// sessiontest has a runtime for tests without tmux; package effect says the same
// things as plain values.
//
//	err := launcher.With(ctx, "api", spec, func(ctx context.Context, s *session.Session) error {
//		for o, err := range s.Watch(ctx, time.Second) {
//			…
//		}
//		return nil
//	})
//
// The vocabulary: what a session is wanted to be (Spec), what is on record about it
// (Record), what is seen of it (Live, World), and the two doors to the outside that
// every session goes through: a Runtime that holds it and an Agent that knows the
// program in it. Implement Runtime to hold sessions elsewhere, and Agent to run
// another program than the built-in ones.
//
// The package holds plain values, the few pure functions that belong to them, and
// what drives a Runtime: it touches no file, no process and no network itself. It
// imports nothing of agentform, so every other package may speak it.
package session
