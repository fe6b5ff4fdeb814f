package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/cmd/internal/action/generate"
	"github.com/agentform/agentform/cmd/internal/action/scaffold"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/plaintext"
)

// generateBlocks returns the blocks of sessions, and prints what could not be written.
func generateBlocks(a *app, p *project.Project, drafts ...config.Draft) config.Generated {
	made := generate.Blocks(p, drafts...)
	for _, note := range made.Notes {
		fmt.Fprintln(a.Err, "Warning: "+plaintext.Safe(note))
	}
	return made
}

func checkGenerate(a *app, o planOptions) error {
	if o.Destroy || o.RefreshOnly {
		return exit.Usage(a.Command, errors.New("--generate-config-out cannot be combined with --destroy or --refresh-only"))
	}
	if _, err := os.Lstat(a.Absolute(o.generate)); err == nil {
		return fmt.Errorf("%s already exists: give --generate-config-out a new file", o.generate)
	}
	return nil
}

func generateWithoutManifest(a *app, file string) error {
	p, s, err := a.Optional()
	if err != nil {
		return err
	}
	return writeGenerated(a, p, file, generate.Recorded(s))
}

func writeGenerated(a *app, p *project.Project, file string, drafts []config.Draft) error {
	drafts, declared := generate.New(p, drafts)
	for _, address := range declared {
		fmt.Fprintf(a.Err, "Warning: %s: left out: the manifest has a block session %q; add the instance to it\n", address, address.Block())
	}
	if len(drafts) == 0 {
		fmt.Fprintf(a.Err, "\nAll sessions in the state are in the manifest: %s was not written.\n", file)
		return nil
	}
	made := generateBlocks(a, p, drafts...)
	if err := scaffold.WriteNew(a.Absolute(file), made.Text, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "\nWrote %s to %s. Check it, then: agentform plan\n", plaintext.Count(made.Sessions, "session"), file)
	name := filepath.Base(file)
	if !strings.HasSuffix(name, ".agentform.hcl") && name != scaffold.ManifestFile || filepath.Dir(a.Absolute(file)) != p.Manifest.Dir {
		fmt.Fprintf(a.Err, "Manifests are %s and *.%s in %s; other files need --file.\n", scaffold.ManifestFile, scaffold.ManifestFile, a.Relative(p.Manifest.Dir))
	}
	return nil
}
