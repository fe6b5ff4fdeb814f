package kubernetes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/agentform/agentform/internal/kubeclient"
	"github.com/agentform/agentform/session"
)

// The resources of sessions.
var (
	statefulSets    = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	pods            = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	claims          = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	events          = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	networkPolicies = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}
)

// requestTimeout bounds one request, so that an unresponsive server is reported within 10 seconds.
// A list of 1000 pods takes less than one.
const requestTimeout = 8 * time.Second

// cluster is a connection to a namespace of a cluster.
type cluster struct {
	config    *rest.Config
	http      *http.Client
	dynamic   dynamic.Interface
	raw       rest.Interface // for lists, which are decoded at once
	namespace string
}

// connect reads the kubeconfig by kubectl's rules: KUBECONFIG, ~/.kube/config, and in a
// cluster the account of its own pod. It sends nothing.
func connect(c Config) (*cluster, error) {
	config, namespace, err := kubeclient.Config(kubeclient.Settings{Kubeconfig: c.Kubeconfig, Context: c.Context})
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w (kubectl config get-contexts lists the contexts)", err)
	}
	namespace = cmp.Or(c.Namespace, namespace)
	config.QPS = -1 // the server limits requests itself, with Retry-After
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(noVainWait)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	all, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	config.NegotiatedSerializer = codecs()
	raw, err := rest.UnversionedRESTClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	return &cluster{config: config, http: client, dynamic: all, raw: raw, namespace: namespace}, nil
}

// noVainWait removes Retry-After from answers if the request's deadline is earlier. The error is
// then the server's and not a timeout.
func noVainWait(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(q *http.Request) (*http.Response, error) {
		a, err := next.RoundTrip(q)
		if err != nil {
			return a, err
		}
		end, bounded := q.Context().Deadline()
		if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && bounded && time.Until(end) < time.Duration(seconds)*time.Second {
			a.Header.Del("Retry-After")
		}
		return a, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

func (c *cluster) of(r schema.GroupVersionResource) dynamic.ResourceInterface {
	return c.dynamic.Resource(r).Namespace(c.namespace)
}

// get decodes an object. If it does not exist, apierrors.IsNotFound holds for the error.
func (c *cluster) get(ctx context.Context, r schema.GroupVersionResource, name string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	found, err := c.of(r).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return c.explain(err)
	}
	return decode(found.Object, into)
}

// codecs decodes the API server's errors.
func codecs() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// list returns the objects of a resource. It decodes them once, from the server's reply: through
// generic objects, a thousand pods take three times as long.
func list[T any](ctx context.Context, c *cluster, r schema.GroupVersionResource, o metav1.ListOptions) ([]T, error) {
	return listAs[T](ctx, c, r, o, runtime.ContentTypeJSON)
}

// listPartial returns the objects of a resource without spec and status.
func listPartial(ctx context.Context, c *cluster, r schema.GroupVersionResource, o metav1.ListOptions) ([]partial, error) {
	return listAs[partial](ctx, c, r, o, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
}

func listAs[T any](ctx context.Context, c *cluster, r schema.GroupVersionResource, o metav1.ListOptions, form string) ([]T, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	prefix := "/apis/" + r.Group
	if r.Group == "" {
		prefix = "/api"
	}
	var all []T
	for next := ""; ; {
		q := c.raw.Get().SetHeader("Accept", form).AbsPath(prefix, r.Version, "namespaces", c.namespace, r.Resource)
		for name, value := range map[string]string{"labelSelector": o.LabelSelector, "fieldSelector": o.FieldSelector, "limit": pageSize, "continue": next} {
			if value != "" {
				q.Param(name, value)
			}
		}
		a := q.Do(ctx)
		if err := a.Error(); err != nil { // has the server's message, which Raw's error lacks
			return nil, c.explain(err)
		}
		text, err := a.Raw()
		if err != nil {
			return nil, c.explain(err)
		}
		var page struct {
			Metadata struct{ Continue string }
			Items    []T
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, fmt.Errorf("kubernetes: read an answer of the cluster: %w", err)
		}
		all = append(all, page.Items...)
		if next = page.Metadata.Continue; next == "" {
			return all, nil
		}
	}
}

// pageSize is how many objects of a list are asked for at once. The objects of a thousand sessions take
// an API server 0.1 s.
const pageSize = "1000"

// decode turns a generic object into one of the types of this package.
func decode(object map[string]any, into any) error {
	b, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return fmt.Errorf("kubernetes: read an answer of the cluster: %w", err)
	}
	return nil
}

// log returns the last lines of a pod's log.
func (c *cluster) log(ctx context.Context, pod string, previous bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	query := url.Values{"container": {containerName}, "tailLines": {"20"}}
	if previous {
		query.Set("previous", "true")
	}
	base, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		return "", err
	}
	at := base.JoinPath("api/v1/namespaces", c.namespace, "pods", pod, "log")
	at.RawQuery = query.Encode()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return "", err
	}
	a, err := c.http.Do(q)
	if err != nil {
		return "", c.explain(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, logLimit))
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("kubernetes: read the log of pod %s: %s", pod, a.Status)
	}
	return string(text), err
}

const logLimit = 256 << 10

// An UnreachableError reports that a cluster does not answer.
type UnreachableError struct {
	Server string
	Err    error
}

// Error returns what does not answer, and what to check.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("kubernetes: the API server %s does not answer: %v (check with: kubectl get --raw /readyz)", e.Server, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// Is reports whether the target is session.ErrUnreachable.
func (e *UnreachableError) Is(target error) bool { return target == session.ErrUnreachable }

// explain adds a remedy to an error of the API server.
func (c *cluster) explain(err error) error {
	var asking *url.Error
	var dialing net.Error
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err) && errors.As(err, &status) && !strings.Contains(err.Error(), "quota"):
		return fmt.Errorf("kubernetes: %w (agentform runtime role prints the Role with all that agentform needs)", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("kubernetes: the API server %s refuses the credentials: %w (check with: kubectl auth whoami)", c.config.Host, err)
	case errors.As(err, &asking):
		return &UnreachableError{c.config.Host, asking.Err}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &dialing):
		return &UnreachableError{c.config.Host, err}
	case errors.As(err, &status) && (status.Status().Code >= http.StatusInternalServerError || status.Status().Code == http.StatusTooManyRequests):
		return session.Unreachable(fmt.Errorf("kubernetes: the API server %s answered %d: %w", c.config.Host, status.Status().Code, err))
	}
	return fmt.Errorf("kubernetes: %w", err)
}

// lazily returns a function that connects to the cluster on first use.
func lazily(c Config) func() (*cluster, error) {
	return sync.OnceValues(func() (*cluster, error) { return connect(c) })
}
