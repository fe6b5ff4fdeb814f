// Package contained acts on sessions under an init in containers and pods. What such a session
// is, it says once; the runtimes for Docker and Kubernetes say how its place is found, and how
// the init and the shim in there are reached.
package contained
