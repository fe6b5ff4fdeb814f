package expr

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

func stringsFunc(result cty.Type, impl func(args []string) (cty.Value, error), params ...string) function.Function {
	var typed []function.Parameter
	for _, name := range params {
		typed = append(typed, param(name, cty.String))
	}
	return define(result, func(args []cty.Value) (cty.Value, error) {
		list := make([]string, len(args))
		for i, a := range args {
			list[i] = a.AsString()
		}
		return impl(list)
	}, typed...)
}

func stringFunc(param string, impl func(string) (string, error)) function.Function {
	return stringsFunc(cty.String, func(args []string) (cty.Value, error) {
		s, err := impl(args[0])
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.StringVal(s), nil
	}, param)
}

func pathFunc(part func(string) string) function.Function {
	return stringFunc("path", func(s string) (string, error) { return part(s), nil })
}

// base64decodeFunc replaces that of go-cty-funcs, which logs the decoded text.
func base64decodeFunc() function.Function {
	return stringFunc("str", func(s string) (string, error) {
		b, err := base64.StdEncoding.DecodeString(s)
		switch {
		case err != nil:
			return "", errors.New("not valid base64")
		case !utf8.Valid(b):
			return "", errors.New("the decoded text is not UTF-8")
		}
		return string(b), nil
	})
}

func testFunc(second string, is func(s, t string) bool) function.Function {
	return stringsFunc(cty.Bool, func(args []string) (cty.Value, error) {
		return cty.BoolVal(is(args[0], args[1])), nil
	}, "str", second)
}

// replaceFunc is replace(STR, SUBSTR, REPLACE). /SUBSTR/ is a regular expression.
func replaceFunc() function.Function {
	return stringsFunc(cty.String, func(args []string) (cty.Value, error) {
		str, sub, with := args[0], args[1], args[2]
		if len(sub) < 2 || sub[0] != '/' || sub[len(sub)-1] != '/' {
			return cty.StringVal(strings.ReplaceAll(str, sub, with)), nil
		}
		re, err := regexp.Compile(sub[1 : len(sub)-1])
		if err != nil {
			return cty.NilVal, function.NewArgError(1, err)
		}
		return cty.StringVal(re.ReplaceAllString(str, with)), nil
	}, "str", "substr", "replace")
}

// timecmpFunc is timecmp(A, B): -1, 0 or 1 if A is before, at or after B.
func timecmpFunc() function.Function {
	return stringsFunc(cty.Number, func(args []string) (cty.Value, error) {
		var times [2]time.Time
		for i, a := range args {
			t, err := time.Parse(time.RFC3339, a)
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(i, "%q is not a time like 2006-01-02T15:04:05Z", Cut(a))
			}
			times[i] = t
		}
		return cty.NumberIntVal(int64(times[0].Compare(times[1]))), nil
	}, "timestamp_a", "timestamp_b")
}

func addDigests(d *Dirs, fs map[string]function.Function) {
	for name, start := range map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New} {
		for prefix, encode := range map[string]func([]byte) string{"": hex.EncodeToString, "base64": base64.StdEncoding.EncodeToString} {
			if prefix != "" && (name == "md5" || name == "sha1") {
				continue // Terraform has none either
			}
			sum := func(data []byte) string {
				h := start()
				h.Write(data) // never fails
				return encode(h.Sum(nil))
			}
			fs[prefix+name] = stringFunc("str", func(s string) (string, error) { return sum([]byte(s)), nil })
			fs["file"+prefix+name] = bytesFunc(d, sum)
		}
	}
	fs["filebase64"] = bytesFunc(d, base64.StdEncoding.EncodeToString)
}
