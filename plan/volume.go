package plan

import (
	"fmt"

	"github.com/agentform/agentform/session"
)

// volumeProblem returns why the volume of a session in Kubernetes cannot become what is
// declared: a claim keeps its storage class and does not become smaller
// (kubernetes.io/docs/concepts/storage/persistent-volumes).
func volumeProblem(c Change) (session.Diagnostic, bool) {
	was, declared := c.Before.Spec.Runtime.Kubernetes, c.After.Runtime.Kubernetes
	if was == nil || declared == nil || c.After.Workspace.Path != c.Before.Tree.Path ||
		changed(c.Fields, kubernetesFields+"context") || changed(c.Fields, kubernetesFields+"namespace") {
		return session.Diagnostic{}, false // the session gets another volume
	}
	detail := ""
	switch a, b := was.Storage, declared.Storage; {
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

// unheld reports whether a session has no workspace on a volume yet, so that it can get another
// volume. What a place shows of its workspace is on one.
func unheld(w session.World, c Change) bool {
	at, looked := w.Checkouts[c.Before.Tree.Path]
	return looked && at.Err == nil && !at.Exists && (c.Live == nil || c.Live.Checkout == nil)
}
