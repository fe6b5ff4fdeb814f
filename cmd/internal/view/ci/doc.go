// Package ci writes what plan and drift found in the formats of CI systems: Markdown and
// GitHub's workflow commands, and drift also in JUnit XML and SARIF.
package ci
