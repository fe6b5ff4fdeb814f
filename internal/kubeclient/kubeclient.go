// Package kubeclient connects to the API server of a Kubernetes cluster.
package kubeclient

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// Settings choose a cluster.
type Settings struct {
	Kubeconfig string // a path; kubectl's rules if it is empty: KUBECONFIG, then ~/.kube/config
	Context    string // of the kubeconfig; its current one if it is empty
}

// Config returns how to reach the cluster, and the namespace of its context. Within a pod
// without a kubeconfig it is the cluster of the pod, as the pod's service account.
func Config(s Settings) (config *rest.Config, namespace string, err error) {
	klog.SetLogger(logr.Discard()) // errors are returned, and need not be printed
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.Kubeconfig
	rules.WarnIfAllMissing = false
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: s.Context})
	config, err = loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, "", errors.New("there is no kubeconfig: set KUBECONFIG, or create ~/.kube/config as your cluster's provider describes")
	}
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	namespace, _, err = loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	config.UserAgent = "agentform"
	return config, cmp.Or(namespace, "default"), nil
}
