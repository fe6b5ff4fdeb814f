// Package kubetest gives tests a Kubernetes cluster of two nodes on this machine, and cuts
// its parts off or kills them.
//
// The programs in kube are one binary of the module k8s.io/kubernetes, a module of its own so
// that the product's go.mod does not grow. The command cluster starts them beside Debian's
// etcd and containerd, each node in a network namespace, and runs the tests.
package kubetest
