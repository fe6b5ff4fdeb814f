//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/agentform/agentform/internal/test/kubetest"
)

// images gives both nodes the image of sandboxes.
func (c *cluster) images(ctx context.Context) error {
	source, err := output("go", "list", "-f", "{{.Dir}}", "github.com/agentform/agentform/internal/test/kubetest")
	if err != nil {
		return err
	}
	program := filepath.Join(c.dir, "pause")
	if err := goBuild(filepath.Join(source, "pause"), program); err != nil {
		return err
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.WriteHeader(&tar.Header{Name: "pause", Mode: 0o755, Size: int64(len(text))}); err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	archive, err := kubetest.Archive("localhost/pause:1", layer.Bytes(), map[string]any{"Entrypoint": []string{"/pause"}})
	if err != nil {
		return err
	}
	for _, n := range c.net.nodes {
		err := c.until(ctx, "containerd does not answer", func() error {
			return kubetest.Import(filepath.Join(c.dir, n.name), archive)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// volumes is how many volumes a node has.
const volumes = 60

// storage makes the storage class local and its volumes: directories of the nodes, of one
// GiB each as far as Kubernetes knows.
func (c *cluster) storage(ctx context.Context) error {
	var list bytes.Buffer
	for _, class := range []struct {
		name, binding string
	}{{"local", "WaitForFirstConsumer"}, {"never", "WaitForFirstConsumer"}} {
		fmt.Fprintf(&list, `{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": %q, "annotations": {"storageclass.kubernetes.io/is-default-class": %q}}, "provisioner": "kubernetes.io/no-provisioner", "allowVolumeExpansion": true, "volumeBindingMode": %q}
`, class.name, fmt.Sprint(class.name == "local"), class.binding)
	}
	for _, n := range c.net.nodes {
		for i := range volumes {
			if err := os.MkdirAll(c.volume(n.name, i), 0o777); err != nil {
				return err
			}
			list.Write(c.persistentVolume(n.name, i))
		}
	}
	return c.until(ctx, "the volumes cannot be made", func() error {
		_, err := c.kubectlWith(list.String(), "apply", "--server-side", "-f", "-")
		return err
	})
}

func (c *cluster) volume(node string, i int) string {
	return filepath.Join(c.dir, node, "volumes", fmt.Sprint(i))
}

func (c *cluster) persistentVolume(node string, i int) []byte {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolume",
		"metadata": map[string]any{"name": fmt.Sprintf("%s-%d", node, i), "labels": map[string]string{"node": node, "number": fmt.Sprint(i)}},
		"spec": map[string]any{
			"capacity": map[string]string{"storage": "20Gi"}, "accessModes": []string{"ReadWriteOncePod"},
			"storageClassName": "local", "persistentVolumeReclaimPolicy": "Retain",
			"local": map[string]string{"path": c.volume(node, i)},
			"nodeAffinity": map[string]any{"required": map[string]any{"nodeSelectorTerms": []any{map[string]any{
				"matchExpressions": []any{map[string]any{"key": "kubernetes.io/hostname", "operator": "In", "values": []string{node}}},
			}}}},
		},
	})
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

// recycle empties the volumes whose claims were removed, and offers them again.
func (c *cluster) recycle() {
	for ; c.ctx.Err() == nil; pause(c.ctx, time.Second) {
		text, err := c.get("/api/v1/persistentvolumes")
		if err != nil {
			continue // a test has killed the API server
		}
		var list struct {
			Items []struct {
				Metadata struct {
					Name   string
					Labels map[string]string
				}
				Status struct{ Phase string }
			}
		}
		if err := json.Unmarshal(text, &list); err != nil {
			continue
		}
		for _, v := range list.Items {
			if v.Status.Phase != "Released" {
				continue
			}
			node, number := v.Metadata.Labels["node"], 0
			if _, err := fmt.Sscan(v.Metadata.Labels["number"], &number); err != nil {
				continue
			}
			dir := c.volume(node, number)
			if os.RemoveAll(dir) != nil || os.MkdirAll(dir, 0o777) != nil {
				continue
			}
			// One whose end was not seen, as the API server was killed, is made again or next time.
			_, _ = c.kubectl("delete", "pv", v.Metadata.Name, "--timeout=30s")
			_, _ = c.kubectlWith(string(c.persistentVolume(node, number)), "apply", "--server-side", "-f", "-")
		}
	}
}
