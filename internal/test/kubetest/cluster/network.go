//go:build linux

package main

import (
	"errors"
	"fmt"
)

// network is a bridge with three network namespaces. The host reaches the API server, the
// nodes and the pods.
type network struct {
	bridge              string
	control, controlIP  string // the namespace of the control plane
	services, serviceIP string // no proxy is needed: serviceIP is the API server's own address
	nodes               []node
}

type node struct {
	name, namespace, ip string
	pods                string // the subnet of its pods
	veth                string // its end at the bridge
}

// newNetwork makes a network in the first subnet 10.N.0.0/16 that no other test has.
func newNetwork() (network, error) {
	for b := 90; b < 120; b++ {
		bridge := fmt.Sprintf("afk%d", b)
		if _, err := output("ip", "link", "add", bridge, "type", "bridge"); err != nil {
			continue
		}
		n := network{
			bridge: bridge, control: bridge + "c", controlIP: fmt.Sprintf("10.%d.0.2", b),
			services: fmt.Sprintf("10.%d.96.0/24", b), serviceIP: fmt.Sprintf("10.%d.96.1", b),
		}
		for i := 1; i <= 2; i++ {
			n.nodes = append(n.nodes, node{
				name: fmt.Sprintf("node-%d", i), namespace: fmt.Sprintf("%sn%d", bridge, i), ip: fmt.Sprintf("10.%d.0.1%d", b, i),
				pods: fmt.Sprintf("10.%d.%d.0/24", b, i), veth: fmt.Sprintf("%sv%d", bridge, i),
			})
		}
		if err := n.make(b); err != nil {
			return network{}, errors.Join(err, n.remove())
		}
		return n, nil
	}
	_, err := output("ip", "link", "add", "afk90", "type", "bridge")
	return network{}, fmt.Errorf("no subnet is free for the cluster: %w", err)
}

func (n network) make(b int) error {
	host := fmt.Sprintf("10.%d.0.1", b)
	commands := [][]string{
		{"ip", "addr", "add", host + "/24", "dev", n.bridge},
		{"ip", "link", "set", n.bridge, "up"},
	}
	join := func(namespace, veth, ip string) {
		in := []string{"ip", "-n", namespace}
		commands = append(commands,
			[]string{"ip", "netns", "add", namespace},
			[]string{"ip", "link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", namespace},
			[]string{"ip", "link", "set", veth, "master", n.bridge, "up"},
			append(in[:3:3], "link", "set", "lo", "up"),
			append(in[:3:3], "addr", "add", ip+"/24", "dev", "eth0"),
			append(in[:3:3], "link", "set", "eth0", "up"),
			append(in[:3:3], "route", "add", "default", "via", host),
			[]string{"nsenter", "--net=/run/netns/" + namespace, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"})
	}
	join(n.control, n.bridge+"v0", n.controlIP)
	commands = append(commands, []string{"ip", "-n", n.control, "addr", "add", n.serviceIP + "/32", "dev", "lo"})
	for _, node := range n.nodes {
		join(node.namespace, node.veth, node.ip)
		commands = append(commands,
			[]string{"ip", "route", "add", node.pods, "via", node.ip},
			[]string{"ip", "-n", n.control, "route", "add", node.pods, "via", node.ip},
			[]string{"ip", "-n", node.namespace, "route", "add", n.serviceIP, "via", n.controlIP})
	}
	for i, node := range n.nodes {
		other := n.nodes[1-i]
		commands = append(commands, []string{"ip", "-n", node.namespace, "route", "add", other.pods, "via", other.ip})
	}
	for _, c := range commands {
		if _, err := output(c[0], c[1:]...); err != nil {
			return err
		}
	}
	return nil
}

func (n network) remove() error {
	if n.bridge == "" {
		return nil
	}
	var err error
	for _, namespace := range append([]string{n.control}, n.nodes[0].namespace, n.nodes[1].namespace) {
		_, e := output("ip", "netns", "delete", namespace)
		err = errors.Join(err, e)
	}
	_, e := output("ip", "link", "delete", n.bridge)
	return errors.Join(err, e)
}
