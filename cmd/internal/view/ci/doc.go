// Package ci writes what drift found in the formats of CI systems: Markdown, JUnit XML,
// SARIF and GitHub's workflow commands.
package ci
