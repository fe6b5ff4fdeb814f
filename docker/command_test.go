package docker

import (
	"slices"
	"testing"
)

// TestHandedOn checks that variables of a session reach the container that the docker command must not see itself.
func TestHandedOn(t *testing.T) {
	environ := []string{"PATH=/bin", "DOCKER_TLS_VERIFY=1", "DOCKER_HOST=tcp://dind:2376", "TOKEN=secret"}
	if got, want := withoutTLS(environ), []string{"PATH=/bin", "DOCKER_HOST=tcp://dind:2376", "TOKEN=secret"}; !slices.Equal(got, want) {
		t.Errorf("its environment is %q", got)
	}
	args := []string{"exec", "-i", "-w", "DOCKER_TLS_VERIFY", "-e", "DOCKER_TLS_VERIFY", "-e", "DOCKER_HOST", "-e", "TOKEN", "-e", "DOCKER_TLS", "box", "env", "-e", "DOCKER_TLS_VERIFY"}
	want := slices.Clone(args)
	want[5] = "DOCKER_TLS_VERIFY=1"
	if got := handedOn(args, environ); !slices.Equal(got, want) {
		t.Errorf("its arguments are %q, want %q", got, want)
	}
}
