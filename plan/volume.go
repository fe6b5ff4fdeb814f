package plan

import (
	"fmt"
	"strings"

	"github.com/agentform/agentform/session"
)

// volumeProblem returns why the volume of a session cannot become what is declared: its clone is never made
// again, and a claim of a cluster keeps its storage class and does not become smaller
// (kubernetes.io/docs/concepts/storage/persistent-volumes).
func volumeProblem(c Change) (session.Diagnostic, bool) {
	was, declared := c.Before.Spec, c.After
	if declared.Runtime.Traits().HostFiles || declared.Workspace.Path != c.Before.Tree.Path || declared.Runtime.Engine() != was.Runtime.Engine() {
		return session.Diagnostic{}, false // there is no volume, or the session gets another one
	}
	var a, b session.PodStorage
	if was.Runtime.Kubernetes != nil && declared.Runtime.Kubernetes != nil {
		a, b = was.Runtime.Kubernetes.Storage, declared.Runtime.Kubernetes.Storage
	}
	detail := ""
	switch from, repo := was.Workspace.Repo, declared.Workspace.Repo; {
	case changed(c.Fields, "workspace.repo") && (session.Remote(from) || session.Remote(repo)): // else the repository was moved
		detail = fmt.Sprintf("its clone is of %s, and %s is declared; a clone keeps its repository", from, repo)
	case (changed(c.Fields, kubernetesFields+"user") || changed(c.Fields, dockerFields+"user")) && uid(was) != "" && uid(*declared) != "" && uid(was) != uid(*declared): // git refuses a clone of somebody else
		detail = fmt.Sprintf("its files are of user %s, and %s is declared", uid(was), uid(*declared))
	case changed(c.Fields, kubernetesFields+"storage.class"):
		detail = fmt.Sprintf("its storage class is %q, and %q is declared; a volume keeps its class", a.Class, b.Class)
	case changed(c.Fields, kubernetesFields+"storage.access_mode"):
		detail = fmt.Sprintf("its access mode is %s, and %s is declared; a volume keeps its mode", a.AccessMode, b.AccessMode)
	case changed(c.Fields, kubernetesFields+"storage.size") && b.Size < a.Size:
		detail = fmt.Sprintf("it has %d bytes, and %d are declared; a volume can only grow", a.Size, b.Size)
	default:
		return session.Diagnostic{}, false
	}
	return fixable(session.Remedy{Code: session.RemedyNewVolume, Address: c.Address}, ReasonBlockedByError, "volume cannot change", detail), true
}

// uid returns the declared user id of a session in a pod or container.
func uid(s session.Spec) string {
	user := ""
	if k := s.Runtime.Kubernetes; k != nil {
		user = k.User
	} else if d := s.Runtime.Docker; d != nil {
		user = d.User
	}
	id, _, _ := strings.Cut(user, ":")
	return id
}

// unheld reports whether a session has no workspace on a volume yet, so that it can get another
// volume. What a place shows of its workspace is on one.
func unheld(w session.World, c Change) bool {
	at, looked := w.Checkouts[c.Before.Tree.Path]
	return looked && at.Err == nil && !at.Exists && (c.Live == nil || c.Live.Checkout == nil)
}
