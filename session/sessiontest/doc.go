// Package sessiontest has what tests of sessions share: Scripted, a session.Runtime in
// memory that does what a test tells it, and Suite, the tests that every runtime passes,
// Scripted too.
//
// A test of a program uses Scripted, with Agent as the agent. Script says what happens in
// a session and when, and Faults what goes wrong; State, Last, Calls and Clock.Slept tell
// what was done. Time passes as time.Now does, so that inside testing/synctest an hour
// takes no time. Outside of it Clock.Sleep advances the time without a wait.
//
// A test of a runtime calls Suite with a Harness: the empty runtime, and functions that
// have an agent exit, print, and report what it was sent. A shell script that does one
// thing a line is agent enough. The suite reads and writes no files itself, and asks the
// runtime's Traits, so that a runtime on another machine passes it too.
//
//	func TestRuntime(t *testing.T) {
//		sessiontest.Suite(t, func(t *testing.T) sessiontest.Harness {
//			rt := mine.New(t.TempDir())
//			t.Cleanup(rt.Close)
//			return sessiontest.Harness{Runtime: rt, Lineage: "test", Launch: …, Exit: …, …}
//		})
//	}
//
// The names of the suite's tests are what a runtime promises besides session.Runtime.
package sessiontest
