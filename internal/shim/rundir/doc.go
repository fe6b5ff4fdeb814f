// Package rundir reads and writes the directory of a run.
//
// It holds launch.json (what to start, written by Prepare), claim (made with O_EXCL: a
// run starts at most once), run (who runs), exit (how it ended), and signals.jsonl (what
// the agent's hooks reported). Begin locks the directory while the run is started. Only an exit
// that has to survive a power cut is synced. After the first release the format only gains
// fields: a run that started under one version is read by the next.
//
// What stands in a run's directory was written by something with the agent's rights: it is a
// claim and not a proof. It is read with size limits, never through a link, and never
// makes the reader signal a process whose start time does not match.
package rundir
