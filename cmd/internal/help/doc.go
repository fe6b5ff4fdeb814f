// Package help writes the help of commands, wrapped to a width: examples come before
// flags, and the flags of all commands are listed once, by the command options.
package help
