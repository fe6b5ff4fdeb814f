// Package echo finds on a screen what was typed into the program that shows it.
//
// A terminal shows what is typed, and so does an agent: broken into lines anywhere,
// indented, in a frame. A Text recognizes a text there and does not tell it, since
// what somebody sends may be a secret.
package echo
