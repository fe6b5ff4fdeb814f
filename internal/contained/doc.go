// Package contained acts on sessions under an init in containers and pods. The runtimes for
// Docker and Kubernetes find the place of a session, and reach the init and the shim in it; what is
// done with these is the same for both.
package contained
