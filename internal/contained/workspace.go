package contained

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// Volume returns the name of the volume for a workspace of a project. A session that moves to
// another address keeps its workspace and so its volume.
func Volume(lineage, dir string) string {
	rel := dir
	if root, ok := layout.Of(dir); ok {
		rel = strings.TrimPrefix(dir, root.Dir+"/")
	}
	sum := sha256.Sum256([]byte(lineage + "\x00" + rel))
	return "agentform-" + session.Slug(path.Base(path.Dir(rel))) + "-" + hex.EncodeToString(sum[:6])
}

// OnVolume returns the directory where the volume of a workspace is mounted, which the path of the
// workspace has: session.VolumeRoot, unless the session is older than that. The error is why the
// workspace cannot be on a volume.
func OnVolume(dir string) (layout.Data, error) {
	root, ok := layout.Of(dir)
	if !ok {
		return root, fmt.Errorf("the workspace %s is not on the session's volume, as %s is: omit path", dir, layout.Data{Dir: session.VolumeRoot}.Workspaces()+"/NAME/BRANCH")
	}
	return root, nil
}

// Made returns the workspace that was created at a path for a branch; without a branch it is not a
// checkout.
func Made(dir, branch string) session.Checkout {
	if branch == "" {
		return session.Checkout{Path: dir, Exists: true}
	}
	return Checkout(dir, rundir.BranchRef+branch)
}

// Checkout returns the clone at a path, with the branch or commit of the content of its HEAD.
func Checkout(dir, head string) session.Checkout {
	co := session.Checkout{Path: dir, Exists: true, Git: true, GitDir: filepath.Join(dir, ".git"), Repo: filepath.Join(dir, ".git"), Head: head}
	if branch, ok := strings.CutPrefix(head, rundir.BranchRef); ok {
		co.Branch, co.Head = branch, ""
	}
	return co
}
