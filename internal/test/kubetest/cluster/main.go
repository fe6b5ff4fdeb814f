//go:build linux

// Command cluster starts a Kubernetes cluster of two nodes, runs a command with it, and
// removes it:
//
//	go run ./internal/test/kubetest/cluster go test -tags real,kubernetes ./...
//
// It needs root, etcd, containerd, runc, the plugins of CNI and ip. The command finds the
// cluster by AGENTFORM_KUBE, see package kubetest.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: cluster COMMAND [ARG…]")
		os.Exit(2)
	}
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

// run returns the exit code of a command that has a cluster.
func run(command []string) (code int, err error) {
	if err := missing(); err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	c, err := start()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.remove()) }()

	child := exec.Command(command[0], command[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.Env = append(os.Environ(), "AGENTFORM_KUBE="+c.dir)
	if err := child.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = child.Process.Signal(s)
		case err := <-ended:
			if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
				return 0, err
			}
			return child.ProcessState.ExitCode(), nil
		}
	}
}

// missing reports the programs that are not installed.
func missing() error {
	if os.Geteuid() != 0 {
		return errors.New("root is needed, for network namespaces and containerd")
	}
	var err error
	for _, p := range []struct{ name, pack string }{
		{"etcd", "etcd-server"}, {"containerd", "containerd"}, {"runc", "runc"}, {"ip", "iproute2"},
		{"nsenter", "util-linux"}, {cniDir + "/bridge", "containernetworking-plugins"},
	} {
		if _, lookErr := exec.LookPath(p.name); lookErr != nil {
			err = errors.Join(err, fmt.Errorf("%s is missing: apt-get install %s", p.name, p.pack))
		}
	}
	return err
}

// cniDir is where Debian installs the plugins of CNI.
const cniDir = "/usr/lib/cni"
