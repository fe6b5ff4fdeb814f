package tmux

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestSilence checks that a server that did not answer gets a shorter timeout, for a minute or
// until it answers.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s silence
		is := func(want time.Duration) {
			t.Helper()
			if got := s.timeout(); got != want {
				t.Errorf("timeout %v, want %v", got, want)
			}
		}
		is(answerTimeout)
		s.answered(false, answerTimeout)
		is(silentTimeout)
		time.Sleep(silenceLasts - time.Second)
		s.answered(false, silentTimeout)
		is(silentTimeout)
		time.Sleep(time.Second)
		is(answerTimeout)
		s.answered(false, answerTimeout)
		s.answered(true, silentTimeout)
		is(answerTimeout)
	})
	var none *silence
	none.answered(false, answerTimeout)
	if none.timeout() != answerTimeout {
		t.Error("without a server there is nothing to remember")
	}
}
