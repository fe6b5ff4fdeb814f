package kubetest

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Archive returns an image of one layer, which is a tar archive, as docker save writes it.
// config has fields of the image's configuration, such as Entrypoint.
func Archive(name string, layer []byte, config map[string]any) ([]byte, error) {
	settings, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux", "config": config,
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal([]any{map[string]any{"Config": "config.json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, f := range []struct {
		name string
		text []byte
	}{{"manifest.json", manifest}, {"config.json", settings}, {"layer.tar", layer}} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.text))}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	return archive.Bytes(), w.Close()
}

// Import gives an image, as docker save writes it, to the node with a directory.
func Import(node string, archive []byte) error {
	ctr := exec.Command("ctr", "--address", filepath.Join(node, "c.sock"), "-n", "k8s.io", "images", "import", "-")
	ctr.Stdin = bytes.NewReader(archive)
	if out, err := ctr.CombinedOutput(); err != nil {
		return fmt.Errorf("import an image: %w: %s", err, out)
	}
	return nil
}
