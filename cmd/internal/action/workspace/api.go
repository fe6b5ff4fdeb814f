package workspace

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// longestPatch bounds the text of a diff for the page, in bytes.
const longestPatch = 1 << 20

// ForAPI returns the Differ for the hub's page. It compares one workspace at a time, since each
// comparison runs git several times.
func ForAPI(p *project.Project) server.Differ {
	var one sync.Mutex
	return func(ctx context.Context, r session.Record, since time.Time) (api.DiffDocument, error) {
		one.Lock()
		defer one.Unlock()
		return diffDocument(ctx, p, r, since)
	}
}

// diffDocument returns the output of agentform diff for the hub's page.
func diffDocument(ctx context.Context, p *project.Project, r session.Record, since time.Time) (api.DiffDocument, error) {
	s, err := state.Read(p.State)
	if err != nil {
		return api.DiffDocument{}, err
	}
	x, err := Compare(ctx, p, s.Lineage, r, since)
	if err != nil {
		return api.DiffDocument{}, fmt.Errorf("%s: %w", r.Address, err)
	}
	defer x.Close()
	d, err := x.Document(ctx, nil)
	if err != nil {
		return api.DiffDocument{}, fmt.Errorf("%s: %w", r.Address, err)
	}
	doc := api.DiffDocument{Format: api.FormatVersion, Address: d.Address, Branch: d.Branch, Workspace: d.Workspace, Base: d.Base,
		MergeBase: d.MergeBase, Ahead: d.Ahead, Files: d.Files}
	var patch, said bytes.Buffer
	// A setting of the user must not change what the page reads.
	args := append([]string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/"}, x.From.Args()...)
	c := x.Command(ctx, p.Environ, 0, args)
	c.Stdout, c.Stderr = &patch, &said
	if err := c.Run(); err != nil {
		return doc, fmt.Errorf("%s: %w: %s", r.Address, err, strings.TrimSpace(said.String()))
	}
	doc.Patch = patch.String()
	if doc.Truncated = len(doc.Patch) > longestPatch; doc.Truncated {
		doc.Patch = doc.Patch[:strings.LastIndexByte(doc.Patch[:longestPatch], '\n')+1]
	}
	doc.Patch = strings.ToValidUTF8(doc.Patch, "\uFFFD")
	return doc, nil
}
