// Package ci writes the results of plan and drift in the formats of CI systems: Markdown and
// GitHub's workflow commands, and for drift also JUnit XML and SARIF.
package ci
