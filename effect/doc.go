// Package effect says what a program does with agent sessions as plain values,
// which a Handler carries out.
//
// A program that calls a agentform.Launcher does things; a program that hands
// effects to a Handler says what is to be done, and the Handler decides how: for
// real (New), in a script without any wait (package
// effecttest), with a record of each
// (Journal), only saying it (DryRun), again when it fails (Retry). One program
// thus runs against tmux, in a test of a millisecond, and as a rehearsal, and none
// of it is written twice.
//
//	run := func(ctx context.Context, h effect.Handler) (string, error) {
//		s, err := effect.Do(ctx, h, effect.Launch{Name: "api", Spec: spec})
//		if err != nil {
//			return "", err
//		}
//		return effect.Do(ctx, h, effect.Capture{Session: s, Lines: 20})
//	}
//
// ToCompletion and WithSession are programs that many others are made of. Steps
// is for interpreters that thread a store through a program, an effect at a time.
//
// For a program that only wants its sessions, agentform.Launcher is less to write.
package effect
