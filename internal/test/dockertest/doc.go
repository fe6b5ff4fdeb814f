// Package dockertest makes the image that tests of containers run their sessions in,
// out of this machine's own programs: no registry is asked for anything. It also starts
// engines of a test's own, which may be killed.
//
// It speaks to the engine by the docker command, as a person does, so that a test
// does not see the world through the code that it tests.
package dockertest
