// Package remedy puts the remedies of problems into words and command lines.
//
// A plan has remedies as facts. Explain adds them to the details of a plan before
// it is printed, stored or sent.
package remedy
