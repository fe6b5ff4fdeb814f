package plan

import "github.com/agentform/agentform/session"

// losing returns a warning for each session whose workspace is lost when its place ends.
func losing(changes []Change) []session.Diagnostic {
	var told []session.Diagnostic
	for _, c := range changes {
		if c.Live == nil || c.Live.Foreign || c.Live.Losing == "" {
			continue
		}
		d := fixable(fetchWork(c.Address), ReasonWorkspaceLosing, "workspace is about to be lost", c.Live.Losing)
		d.Severity = session.Warning
		told = append(told, d)
	}
	return told
}

func fetchWork(a session.Address) session.Remedy {
	return session.Remedy{Code: session.RemedyFetchWork, Address: a}
}
