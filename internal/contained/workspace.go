package contained

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// Volume returns the name of the volume for a workspace of a project. A session that moves to
// another address keeps its workspace and so its volume.
func Volume(dataDir, lineage, dir string) string {
	rel, err := filepath.Rel(dataDir, dir)
	if err != nil {
		rel = dir
	}
	rel = filepath.ToSlash(rel)
	sum := sha256.Sum256([]byte(lineage + "\x00" + rel))
	return "agentform-" + session.Slug(path.Base(path.Dir(rel))) + "-" + hex.EncodeToString(sum[:6])
}

// OnVolume reports whether a workspace can be on a volume that is mounted as the data directory.
func OnVolume(dataDir, dir string) bool {
	rel, err := filepath.Rel(dataDir, dir)
	return err == nil && filepath.IsLocal(rel) && rel != "."
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
