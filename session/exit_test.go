package session

import "testing"

func TestExitInWords(t *testing.T) {
	for want, e := range map[string]Exit{
		"exit status 0":                          {Cause: "self"},
		"exit status 3":                          {Cause: "self", Code: 3},
		"killed by SIGKILL":                      {Cause: "self", Signal: "SIGKILL"},
		"killed by SIGTERM":                      {Cause: "requested", Signal: "SIGTERM"},
		"killed by SIGKILL: out of memory":       {Cause: "self", Signal: "SIGKILL", Detail: "out of memory"},
		"timeout, killed by SIGTERM":             {Cause: "timeout", Signal: "SIGTERM"},
		"timeout, exit status 0":                 {Cause: "timeout"},
		"terminal hung up, killed by SIGHUP":     {Cause: "hangup", Signal: "SIGHUP"},
		"it could not be started: no such agent": {Cause: "failed_start", Code: 127, Detail: "no such agent"},
	} {
		if got := e.String(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}

func TestFinishedNeedsEvidence(t *testing.T) {
	for _, c := range []struct {
		name    string
		oneShot bool
		exit    *Exit
		want    bool
	}{
		{"left by itself with 0", true, &Exit{Cause: "self"}, true},
		{"nothing is known", true, nil, false},
		{"failed", true, &Exit{Cause: "self", Code: 1}, false},
		{"killed", true, &Exit{Cause: "self", Signal: "SIGKILL"}, false},
		{"was told to stop", true, &Exit{Cause: "requested"}, false},
		{"interactive", false, &Exit{Cause: "self"}, false},
	} {
		if got := (AgentSpec{OneShot: c.oneShot}).Finished(c.exit); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
