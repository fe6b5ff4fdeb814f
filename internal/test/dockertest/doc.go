// Package dockertest builds the image in which tests run sessions in containers, out of
// this machine's own programs: no registry is asked. It also starts engines of a test's
// own, which may be killed.
//
// It uses the docker command, so that a test does not see the containers through the code
// that it tests.
package dockertest
