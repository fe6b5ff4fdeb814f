package session

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Address names one session of a project, as Terraform names resources: session.api,
// session.worker["web"] (for_each), session.pool[0] (count). It is canonical.
type Address string

// Single returns the address of a session block without for_each or count.
func Single(block string) Address { return Address("session." + block) }

// Keyed returns the address of the instance of a for_each block with that key.
func Keyed(block, key string) Address {
	return Address("session." + block + "[" + strconv.Quote(key) + "]")
}

// Indexed returns the address of the instance of a count block with that index.
func Indexed(block string, index int) Address {
	return Address("session." + block + "[" + strconv.Itoa(index) + "]")
}

var addressForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:session\.)?([\pL_][\pL\pN_-]*)(?:\[(\d+|"(?:[^"\\]|\\.)*")\])?$`)
})

// ParseAddress returns an address. The leading "session." may be missing.
func ParseAddress(s string) (Address, error) {
	m := addressForm().FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return "", fmt.Errorf(`invalid address %q: expected session.NAME, session.NAME["KEY"] or session.NAME[0]`, s)
	}
	switch {
	case m[2] == "":
		return Single(m[1]), nil
	case m[2][0] == '"':
		key, err := strconv.Unquote(m[2])
		if err != nil || !utf8.ValidString(key) {
			return "", fmt.Errorf("invalid address %q: the key is not a valid quoted string", s)
		}
		return Keyed(m[1], key), nil
	default:
		index, err := strconv.Atoi(m[2])
		if err != nil {
			return "", fmt.Errorf("invalid address %q: the index is out of range", s)
		}
		return Indexed(m[1], index), nil
	}
}

// Block returns the label of the session block: worker for session.worker["web"].
func (a Address) Block() string {
	block, _, _ := strings.Cut(a.Short(), "[")
	return block
}

// Key returns the for_each key or the count index, and whether there is one.
func (a Address) Key() (key string, ok bool) {
	_, key, ok = strings.Cut(strings.TrimSuffix(string(a), "]"), "[")
	if k, err := strconv.Unquote(key); err == nil {
		key = k
	}
	return key, ok
}

// Within reports whether the address is the target or an instance of that block.
func (a Address) Within(target Address) bool {
	return a == target || strings.HasPrefix(string(a), string(target)+"[")
}

// Compare orders addresses by block, then by key, with numbers as numbers:
// session.pool[8] comes before session.pool[10], and "api-8" before "api-10".
func (a Address) Compare(b Address) int {
	ka, _ := a.Key()
	kb, _ := b.Key()
	return cmp.Or(compareNatural(a.Block(), b.Block()), compareNatural(ka, kb), cmp.Compare(a, b))
}

// compareNatural compares texts, and the numbers in them as numbers.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na == 0 || nb == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
			return c
		}
		a, b = a[na:], b[nb:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns how many digits a text begins with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// Slug returns the address as letters, digits and dashes, at most 40 bytes: worker-web.
// Different addresses can have the same slug, but not the same OutsideName.
func (a Address) Slug() string {
	s := a.Block()
	if k, ok := a.Key(); ok {
		s += "-" + k
	}
	return Slug(s)
}

// Slug reduces a text to lower-case ASCII letters, digits and single dashes, at most 40
// bytes, safe in names of files, tmux sessions and containers. It is never empty.
func Slug(s string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
			if b.Len() >= 40 {
				break
			}
		} else {
			dash = true
		}
	}
	if b.Len() == 0 {
		return "x"
	}
	return b.String()
}

// OutsideName returns the session's name in tmux and Docker: the project, the slug, and
// six hex digits of the address's sha256, since slugs collide.
func (a Address) OutsideName(project string) string {
	sum := sha256.Sum256([]byte(a))
	return Slug(project) + "-" + a.Slug() + "-" + hex.EncodeToString(sum[:3])
}

// Short returns the address as a person types it: worker["web"].
func (a Address) Short() string { return strings.TrimPrefix(string(a), "session.") }
