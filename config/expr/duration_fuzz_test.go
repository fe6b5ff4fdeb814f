package expr

import "testing"

// FuzzDuration: what is read for a length of time is none that is negative, and
// as it is written again it is the same.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"90s", "1d12h", "30d", "0", "1.5h", "-1s", "106751d", "9999999999d", "1d-1s", "5m0s", "1d106751d", "2562047h47m16.854775807s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration(s)
		if err != nil {
			return
		}
		if d < 0 {
			t.Fatalf("%q is %d ns", s, d)
		}
		if again, err := ParseDuration(d.String()); err != nil || again != d {
			t.Errorf("%q is %d ns, written %q, which is %d ns, %v", s, d, d.String(), again, err)
		}
	})
}

// FuzzSize: a number of bytes is none that is negative.
func FuzzSize(f *testing.F) {
	for _, s := range []string{"512MiB", "4GiB", "1.5TB", "9e18B", "99999999999999999999TiB", "0B", "-1B", "1B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := ParseSize(s); err == nil && n < 0 {
			t.Errorf("%q is %d bytes", s, n)
		}
	})
}
