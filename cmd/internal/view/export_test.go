package view

// What tests in package view_test, which may import package ci, share with those here.
var (
	Golden  = golden
	Hostile = hostile
	Painted = ours
	At      = at

	SamplePlan = samplePlan
)

// Broken is a writer that fails.
type Broken = broken
