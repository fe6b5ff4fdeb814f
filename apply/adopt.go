package apply

import "github.com/agentform/agentform/session"

// found is the record of a live session of ours whose record was lost, from
// what it says of itself and from what its run's folder keeps. A workspace that
// is not among agentform's own is taken to be a person's: what agentform did not
// make it does not remove.
func (j *job) found() session.Record {
	l := j.change.Live
	spec := j.change.After
	if l.Spec != nil && j.change.Then != "" {
		spec = l.Spec // what is wanted comes on record when that is done
	}
	return Restored(*l, *spec, j.run.Facts(l.Mark.Run), j.change.Address, j.run.origin(), j.run.DataDir)
}

// Restored returns the record of a live session that is in no state, from what it says
// of itself and what its run's folder keeps. A workspace that is not among those of
// dataDir is taken to be a person's.
func Restored(l session.Live, spec session.Spec, facts session.RunFacts, address session.Address, origin session.Origin, dataDir string) session.Record {
	run := session.Run{ID: l.Mark.Run, Number: 1, StartedAt: l.Started, BootID: l.BootID, Agent: facts.Agent, PromptSHA: spec.Prompt.Digest}
	if spec.Prompt.Digest != "" {
		run.DeliveredAt = l.Started // it was delivered, or a person has seen that it was not
	}
	return session.Record{
		ID: l.Mark.ID, Address: address, Origin: origin, Spec: spec, Place: l.Place, Run: run,
		Tree: session.WorkspaceState{Path: spec.Workspace.Path, Mode: spec.Workspace.Mode, Repo: spec.Workspace.Repo,
			Branch: spec.Branch, Created: spec.Workspace.Mode != session.InPlace && madeIn(dataDir, spec.Workspace.Path), Ready: true},
		CreatedAt: l.Started,
	}
}

// adopt puts a live session of ours on record.
func (j *job) adopt() error {
	if err := j.keepPrompt(j.rec.Spec); err != nil {
		return err
	}
	return j.settle()
}
