// Package agenttest runs the real coding agents, each in a terminal, a home and a
// workspace of its own, against a model that follows a script.
//
// A test says which agent, makes a Lab for it, and starts runs in it:
//
//	lab := agenttest.New(t, "claude")
//	run := lab.Start("fix it [[tool ask: make]] [[text Fixed.]]")
//	run.Until("it asks", func(l agenttest.Look) bool { return l.Detection.Activity == session.Blocked })
//	run.Keys("Enter")
//
// The run is started as agentform's adapter says (command line, environment,
// settings of its own, hooks), by hand: no state, no plan, no shim. What is found
// out here is therefore a fact about the agent, and one that fails says which fact
// has moved. What agentform makes of them is tested where it is made.
//
// The script's language is that of package modelserver. Nothing of the person's
// who runs the tests is used: the environment is empty except for what Lab.Env has,
// the key is a dummy, HOME is a temporary folder that holds only what a person who
// has set the agent up would have there, and the model is on loopback.
//
// Which versions run is said in agents/package.json, and nowhere else. `make
// check-agents` installs them into a cache folder (scripts/agents.sh) and names it
// in AGENTFORM_AGENTS. The tests that need it have the build tag "agents", so a
// plain `go test ./...` neither runs nor skips them; with the tag and without the
// folder they fail.
package agenttest
