// Package kubernetes stores a state in Secrets of a Kubernetes cluster, and its lock in a
// Lease.
package kubernetes

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/kubeclient"
	"github.com/agentform/agentform/internal/sleep"
)

// Settings locate the Secrets.
type Settings struct {
	Config    *rest.Config
	Namespace string
	Suffix    string        // of the names of the Secrets and the Lease
	Lease     time.Duration // backend.Lease if it is 0
}

// Backend is a state in a cluster. The version of a state is the resourceVersion of the
// Secret agentform-state-SUFFIX, which has the state, compressed. A state that is too large
// for one Secret is in further ones, whose names the first one lists: they are written
// before it and never changed, so that a reader never sees a part of a write.
type Backend struct {
	settings Settings
	name     string // of the Secret and the Lease
	secrets  dynamic.ResourceInterface
	leases   dynamic.ResourceInterface
	clock    *clock
	strayAge time.Duration // how old a part is at least that belongs to no write under way
	taken    sync.Map      // the IDs of the locks that this Backend took and did not release
}

// New returns a backend with these settings. It connects to nothing.
func New(s Settings) (*Backend, error) {
	if problems := validation.IsDNS1123Label(s.Suffix); len(problems) > 0 {
		return nil, fmt.Errorf("secret_suffix %q cannot be part of a Secret's name: use at most %d lower case letters, digits and dashes", s.Suffix, validation.DNS1123LabelMaxLength)
	}
	name := "agentform-state-" + s.Suffix
	s.Lease = cmp.Or(s.Lease, backend.Lease)
	config := rest.CopyConfig(s.Config)
	config.Timeout = backend.AnswerTimeout
	config.QPS, config.Burst = -1, 0 // the lock is renewed in time or lost
	// A request over HTTP/2 waits for a connection that is cut until its next ping.
	config.NextProtos = []string{"http/1.1"}
	c := &clock{}
	config.Wrap(c.wrap)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &Backend{
		settings: s, name: name, clock: c, strayAge: time.Hour,
		secrets: client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace(s.Namespace),
		leases:  client.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace(s.Namespace),
	}, nil
}

// Name returns where the state is.
func (b *Backend) Name() string {
	return fmt.Sprintf("Secret %s in namespace %s of %s", b.name, b.settings.Namespace, b.settings.Config.Host)
}

// partSize is how much of a state is in one Secret, in bytes. A Secret has at most 1 MiB
// (validation.MaxSecretSize of Kubernetes).
const partSize = 1000 << 10

// The keys of the Secrets' data: the state or a part of it, and the names of the parts.
const (
	stateKey = "state.gz"
	partsKey = "parts"
)

func (b *Backend) Read(ctx context.Context) ([]byte, backend.Version, error) {
	for try := 1; ; try++ {
		head, err := b.secrets.Get(ctx, b.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, "", backend.ErrNone
		}
		if err != nil {
			return nil, "", b.refusal("read", err)
		}
		packed, err := b.content(ctx, head)
		if apierrors.IsNotFound(err) && try < 10 {
			continue // another state was written since
		}
		if err != nil {
			return nil, "", b.refusal("read", err)
		}
		text, err := unpack(packed)
		if err != nil {
			return nil, "", fmt.Errorf("%s is not a state of agentform: %w", b.Name(), err)
		}
		return text, backend.Version(head.GetResourceVersion()), nil
	}
}

// content returns the compressed state whose first Secret is head.
func (b *Backend) content(ctx context.Context, head *unstructured.Unstructured) ([]byte, error) {
	names := partNames(head)
	if len(names) == 0 {
		return data(head, stateKey)
	}
	var all []byte
	for _, name := range names {
		part, err := b.secrets.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		text, err := data(part, stateKey)
		if err != nil {
			return nil, err
		}
		all = append(all, text...)
	}
	return all, nil
}

// Write relies on the resourceVersion that it has seen: a process that takes the lock after the
// check finds a changed state.
func (b *Backend) Write(ctx context.Context, text []byte, seen backend.Version, id string) (backend.Version, error) {
	l, err := b.readLock(ctx)
	if err != nil {
		return "", err
	}
	if l.ID != id {
		return "", &backend.LostError{Holder: l.holder()}
	}
	packed, err := pack(text)
	if err != nil {
		return "", err
	}
	content := map[string]any{stateKey: packed, partsKey: nil}
	var parts []string
	if len(packed) > partSize {
		parts, err = b.writeParts(ctx, packed)
		if err != nil {
			b.removeParts(ctx, parts)
			return "", b.refusal("write", err)
		}
		content = map[string]any{stateKey: nil, partsKey: []byte(strings.Join(parts, " "))}
	}
	head, before, err := b.writeHead(ctx, content, seen)
	switch {
	case err == nil:
		b.removeParts(ctx, slices.DeleteFunc(before, func(name string) bool { return slices.Contains(parts, name) }))
		b.removeStrays(ctx, parts)
		return backend.Version(head.GetResourceVersion()), nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err) && seen != "":
		v, err := backend.Refused(ctx, b, text, seen)
		if err != nil {
			b.removeParts(ctx, parts)
		}
		return v, err
	}
	// The parts stay: the answer may have been lost, and the state have them.
	return "", b.refusal("write", err)
}

// writeHead writes the first Secret, and returns it with the parts of the one before.
func (b *Backend) writeHead(ctx context.Context, content map[string]any, seen backend.Version) (head *unstructured.Unstructured, before []string, err error) {
	if seen == "" {
		for key, value := range content {
			if value == nil {
				delete(content, key)
			}
		}
		head, err = b.secrets.Create(ctx, b.secret(b.name, content), metav1.CreateOptions{})
		return head, nil, err
	}
	old, err := b.secrets.Get(ctx, b.name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": string(seen)}, "data": content,
	})
	if err != nil {
		return nil, nil, err
	}
	head, err = b.secrets.Patch(ctx, b.name, types.MergePatchType, patch, metav1.PatchOptions{})
	return head, partNames(old), err
}

// writeParts writes a compressed state into Secrets of new names, and returns those that it
// wrote.
func (b *Backend) writeParts(ctx context.Context, packed []byte) (names []string, err error) {
	write := strings.ToLower(rand.Text()[:10])
	for part := range slices.Chunk(packed, partSize) {
		name := fmt.Sprintf("%s.%s.%d", b.name, write, len(names))
		names = append(names, name)
		_, err := b.secrets.Create(ctx, b.secret(name, map[string]any{stateKey: part}), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) { // an earlier attempt, whose answer was lost
			return names, err
		}
	}
	return names, nil
}

// stateLabel is on every Secret of a state, with its suffix.
const stateLabel = "agentform.dev/state"

func (b *Backend) secret(name string, content map[string]any) *unstructured.Unstructured {
	encoded := map[string]any{}
	for key, value := range content {
		if text, ok := value.([]byte); ok {
			encoded[key] = base64.StdEncoding.EncodeToString(text)
		}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "agentform.dev/state",
		"metadata": map[string]any{
			"name":   name,
			"labels": map[string]any{stateLabel: b.settings.Suffix, "app.kubernetes.io/managed-by": "agentform"},
		},
		"data": encoded,
	}}
}

// removeParts removes Secrets that no state has any more. Those that stay are removed by a
// later write.
func (b *Backend) removeParts(ctx context.Context, names []string) {
	for _, name := range names {
		_ = b.secrets.Delete(ctx, name, metav1.DeleteOptions{})
	}
}

// removeStrays removes the parts that a killed writer left. A write of parts looks for them,
// since only a state that needs parts can have left some.
func (b *Backend) removeStrays(ctx context.Context, current []string) {
	if len(current) == 0 {
		return
	}
	found, err := b.secrets.List(ctx, metav1.ListOptions{LabelSelector: stateLabel + "=" + b.settings.Suffix})
	if err != nil {
		return // it needs a right that is not needed otherwise
	}
	for _, s := range found.Items {
		old := b.clock.now().Sub(s.GetCreationTimestamp().Time) > b.strayAge
		if old && s.GetName() != b.name && !slices.Contains(current, s.GetName()) {
			b.removeParts(ctx, []string{s.GetName()})
		}
	}
}

// Lock looks again for a while if the answer to its request was lost: the lock may be taken
// then, and another one would have to wait until it expires.
func (b *Backend) Lock(ctx context.Context, i backend.Info) (time.Duration, error) {
	_, took := b.taken.Load(i.ID)
	var until time.Time // the end of looking again; zero: no answer was lost
	for {
		l, err := b.readLock(ctx)
		if err != nil {
			if !until.IsZero() && kubeclient.Unanswered(err) && sleepUntil(ctx, until) {
				continue
			}
			return 0, err
		}
		if l.ID != i.ID {
			if took {
				return 0, &backend.LostError{Holder: l.holder()}
			}
			if l.held() {
				return 0, &backend.HeldError{Holder: l.holder()}
			}
		}
		err = b.writeLock(ctx, i, l)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && l.object != nil {
			continue // another was faster, or the answer to an attempt was lost
		}
		if kubeclient.Unanswered(err) {
			if until.IsZero() {
				until = time.Now().Add(restartTime)
			}
			if sleepUntil(ctx, until) {
				continue
			}
		}
		if err != nil {
			return 0, b.refusal("lock", err)
		}
		b.taken.Store(i.ID, nil)
		return b.settings.Lease, nil
	}
}

// restartTime is how long an API server may take to answer again after it was killed.
const restartTime = 8 * time.Second

// sleepUntil waits a moment and reports whether neither the time nor the context has ended.
func sleepUntil(ctx context.Context, until time.Time) bool {
	return sleep.For(ctx, 200*time.Millisecond) && time.Now().Before(until)
}

func (b *Backend) Unlock(ctx context.Context, i backend.Info) error {
	b.taken.Delete(i.ID)
	for {
		l, err := b.readLock(ctx)
		if err != nil {
			return err
		}
		if l.ID != i.ID {
			if l.held() {
				return &backend.LostError{Holder: l.Info}
			}
			return nil
		}
		version := l.object.GetResourceVersion()
		err = b.leases.Delete(ctx, b.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return b.refusal("unlock", err)
		}
		return nil
	}
}

func (b *Backend) Holder(ctx context.Context) (backend.Info, error) {
	l, err := b.readLock(ctx)
	if err == nil && !l.held() {
		err = backend.ErrNone
	}
	return l.holder(), err
}

// lock is the lock as its Lease describes it.
type lock struct {
	backend.Info
	lease  time.Duration
	age    time.Duration              // since it was renewed, by the clock of the API server
	object *unstructured.Unstructured // nil if there is no Lease
}

// held reports whether the lock is held. The API server's time has a resolution of a second.
func (l lock) held() bool { return l.ID != "" && l.age < l.lease+time.Second }

// holder returns the lock's holder, zero for none.
func (l lock) holder() backend.Info {
	if !l.held() {
		return backend.Info{}
	}
	return l.Info
}

// infoAnnotation has the description of the lock, as JSON.
const infoAnnotation = "agentform.dev/lock"

// readLock returns the lock, without object if it is free.
func (b *Backend) readLock(ctx context.Context) (lock, error) {
	object, err := b.leases.Get(ctx, b.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return lock{}, nil
	}
	if err != nil {
		return lock{}, b.refusal("read the lock of", err)
	}
	l := lock{object: object}
	text := object.GetAnnotations()[infoAnnotation]
	if err := json.Unmarshal([]byte(text), &l.Info); err != nil {
		return lock{}, fmt.Errorf("the Lease %s in namespace %s is not a lock of agentform: %w", b.name, b.settings.Namespace, err)
	}
	l.ID, _, _ = unstructured.NestedString(object.Object, "spec", "holderIdentity")
	renewed, _, _ := unstructured.NestedString(object.Object, "spec", "renewTime")
	seconds, _, _ := unstructured.NestedInt64(object.Object, "spec", "leaseDurationSeconds")
	if l.Renewed, err = time.Parse(time.RFC3339Nano, renewed); err != nil {
		return lock{}, fmt.Errorf("the Lease %s in namespace %s: renewTime: %w", b.name, b.settings.Namespace, err)
	}
	l.lease, l.age = time.Duration(seconds)*time.Second, b.clock.now().Sub(l.Renewed)
	return l, nil
}

// writeLock writes the Lease in the place of l.
func (b *Backend) writeLock(ctx context.Context, i backend.Info, l lock) error {
	i.Renewed = time.Time{}
	info, err := json.Marshal(i)
	if err != nil {
		return err
	}
	now := b.clock.now().UTC().Format(metav1.RFC3339Micro)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{
			"name":        b.name,
			"labels":      map[string]any{stateLabel: b.settings.Suffix, "app.kubernetes.io/managed-by": "agentform"},
			"annotations": map[string]any{infoAnnotation: string(info)},
		},
		"spec": map[string]any{
			"holderIdentity": i.ID, "renewTime": now, "acquireTime": now,
			"leaseDurationSeconds": int64(max(b.settings.Lease/time.Second, 1)),
		},
	}}
	if l.object == nil {
		_, err = b.leases.Create(ctx, object, metav1.CreateOptions{})
		return err
	}
	object.SetResourceVersion(l.object.GetResourceVersion())
	if acquired, found, _ := unstructured.NestedString(l.object.Object, "spec", "acquireTime"); found && l.ID == i.ID {
		_ = unstructured.SetNestedField(object.Object, acquired, "spec", "acquireTime") // a map, as made above
	}
	_, err = b.leases.Update(ctx, object, metav1.UpdateOptions{})
	return err
}

// refusal returns the error of a request that failed.
func (b *Backend) refusal(do string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w: allow get, create, patch and delete of secrets, and get, create, update and delete of leases.coordination.k8s.io in this namespace", err)
	case apierrors.IsUnauthorized(err):
		err = fmt.Errorf("%w: the credentials of the kubeconfig are not valid, or have expired", err)
	}
	return fmt.Errorf("cannot %s the %s: %w", do, b.Name(), err)
}

// clock returns the time of the API server from the header Date of its answers, in whole seconds.
type clock struct{ ahead atomic.Int64 } // of this machine's, in nanoseconds

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(r)
		if err == nil {
			if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
				// Within a second of this machine's time there is no difference to see.
				ahead := time.Until(date)
				if ahead > -2*time.Second && ahead <= 0 {
					ahead = 0
				}
				c.ahead.Store(int64(ahead))
			}
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// partNames returns the names of the Secrets with the parts of a state.
func partNames(head *unstructured.Unstructured) []string {
	text, err := data(head, partsKey)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

func pack(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err := w.Close()
	return packed.Bytes(), err
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// data returns a value of a Secret. The error says that there is none.
func data(secret *unstructured.Unstructured, key string) ([]byte, error) {
	encoded, found, err := unstructured.NestedString(secret.Object, "data", key)
	if err != nil || !found {
		return nil, fmt.Errorf("the Secret %s has no %s", secret.GetName(), key)
	}
	return base64.StdEncoding.DecodeString(encoded)
}
