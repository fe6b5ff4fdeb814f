// Package sessiontest holds what tests of sessions share: Scripted, a
// session.Runtime that lives in memory and does what a test tells it, and Suite,
// the tests that every runtime passes. Scripted passes them too, so what is
// tested against it is tested against the truth.
//
// Who writes a program uses Scripted, with Agent as the agent: Script says what
// happens in a session and when, and State, Last, Calls and Slept tell afterwards
// what was done with it. Time passes as time.Now does, so inside testing/synctest
// an hour takes no time; outside of it, Sleep lets time pass without a wait.
//
// Who writes a runtime passes Suite. A Harness is the runtime, empty, and the hands
// that the tests need on what runs in it: a way to have its agent leave, print, and
// tell what it heard. A shell script that does one thing a line is agent enough.
//
//	func TestRuntime(t *testing.T) {
//		sessiontest.Suite(t, func(t *testing.T) sessiontest.Harness {
//			rt := mine.New(t.TempDir())
//			t.Cleanup(rt.Close)
//			return sessiontest.Harness{Runtime: rt, Lineage: "test", Launch: …, Exit: …, …}
//		})
//	}
//
// The names of the tests say what a runtime promises besides what session.Runtime
// does.
package sessiontest
