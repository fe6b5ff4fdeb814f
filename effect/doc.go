// Package effect describes operations on agent sessions as plain values, which a Handler
// carries out.
//
// A Handler decides how effects are carried out: for real (New), in a script without any
// wait (package effecttest), with a record of each (Journal), only as text (DryRun), again
// after a failure (Retry).
//
//	run := func(ctx context.Context, h effect.Handler) (string, error) {
//		s, err := effect.Do(ctx, h, effect.Launch{Name: "api", Spec: spec})
//		if err != nil {
//			return "", err
//		}
//		return effect.Do(ctx, h, effect.Capture{Session: s, Lines: 20})
//	}
//
// ToCompletion and WithSession are programs of which others are composed. Steps is for
// interpreters that thread a store through a program. A program that only wants its
// sessions is shorter with an agentform.Launcher.
package effect
