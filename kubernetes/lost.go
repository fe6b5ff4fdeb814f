package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// recordField is the name of the record in session.Edit.
const recordField = editPrefix + "metadata.annotations." + annotationRecord

// lostRecord returns the record of a StatefulSet without one, except for the spec and the run.
func (c Config) lostRecord(s statefulSet) (record, error) {
	labels, annotations := s.identity(), s.Metadata.Annotations
	k := record{Generation: noGeneration, Mark: c.markOf(labels, annotations)}
	var template struct {
		Spec struct {
			NodeSelector map[string]string
			Containers   []struct {
				Name         string
				Command      []string
				VolumeMounts []struct{ Name, MountPath string }
			}
		}
	}
	if err := json.Unmarshal(s.Spec.Template, &template); err != nil {
		return k, fmt.Errorf("kubernetes: read StatefulSet %s: %w", s.Metadata.Name, err)
	}
	for _, main := range template.Spec.Containers {
		if main.Name != containerName {
			continue
		}
		for _, m := range main.VolumeMounts {
			if m.Name == volumeName {
				k.Root = m.MountPath
			}
		}
		if len(main.Command) > programAt {
			k.Program = main.Command[programAt]
		}
	}
	k.Arch = template.Spec.NodeSelector[labelArch]
	if k.Root == "" || !strings.HasPrefix(k.Program, k.Root+"/") {
		return k, errors.New("the template of its pod was edited, too: its volume or its command cannot be found")
	}
	return k, nil
}

// markOf returns the mark in the labels and annotations of an object, without a run.
func (c Config) markOf(labels, annotations map[string]string) session.Mark {
	m := session.Mark{Project: labels[labelProject], ID: labels[labelID], Address: session.Address(annotations[annotationAddress]), Hash: annotations[annotationHash]}
	if m.Project == labelValue(c.Lineage) {
		m.Project = c.Lineage
	}
	return m
}

// findRun completes a lost record with the last run, which the pod reports. The report is a claim,
// so the spec is not taken from it.
func (t *target) findRun(ctx context.Context) error {
	const lastClaimed = `cd "$1" && ls -t */claim 2>/dev/null; echo .`
	text, err := t.runtime.run(ctx, t.cluster, t.pod, nil, "sh", "-c", lastClaimed, "sh", t.runDir(""))
	if err != nil {
		return fmt.Errorf("find out which run its pod has: %w", err)
	}
	if !strings.HasSuffix(text, ".\n") { // the end of an output can be lost without an error
		return errors.New("find out which run its pod has: the answer is incomplete")
	}
	first, _, _ := strings.Cut(text, "\n")
	run := strings.TrimSuffix(first, "/claim")
	if !proc.ValidRun(run) {
		return nil // no run was ever started
	}
	t.record.Mark.Run = run
	in, err := t.look(ctx, false)
	if err != nil {
		return err
	}
	t.record.Begun = in.StartedAt
	if shown, err := tmuxwire.ParsePane(in.Row); err == nil && shown.InputOff {
		t.record.Paused = session.Detach
		if in.Frozen {
			t.record.Paused = session.Freeze
		}
	}
	return nil
}

// recover restores the record of a target whose annotation was lost.
func (t *target) recover(ctx context.Context) (err error) {
	if t.record, err = t.runtime.config.lostRecord(t.set); err != nil {
		return err
	}
	_, runs, err := t.podRuns(ctx)
	if err != nil || !runs {
		return err
	}
	return t.findRun(ctx)
}
