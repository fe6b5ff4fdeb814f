package config

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// digests adds the functions that tell texts and files apart by a digest, each
// for a text and for a file. They protect nothing: what needs to be kept is a
// secret.
func (l *loader) digests(fs map[string]function.Function) {
	for name, start := range map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New} {
		sum := func(data []byte) []byte {
			h := start()
			h.Write(data) // never fails
			return h.Sum(nil)
		}
		hexSum := func(data []byte) string { return hex.EncodeToString(sum(data)) }
		base64Sum := func(data []byte) string { return base64.StdEncoding.EncodeToString(sum(data)) }
		fs[name] = textFunc("str", func(s string) (string, error) { return hexSum([]byte(s)), nil })
		fs["file"+name] = l.bytesFunc(hexSum)
		if strings.HasPrefix(name, "sha") && name != "sha1" {
			fs["base64"+name] = textFunc("str", func(s string) (string, error) { return base64Sum([]byte(s)), nil })
			fs["filebase64"+name] = l.bytesFunc(base64Sum)
		}
	}
	fs["filebase64"] = l.bytesFunc(base64.StdEncoding.EncodeToString)
}

// uuidSpaces are the namespaces that have names of their own.
func uuidSpaces(name string) (string, bool) {
	spaces := map[string]string{
		"dns":  "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
		"url":  "6ba7b811-9dad-11d1-80b4-00c04fd430c8",
		"oid":  "6ba7b812-9dad-11d1-80b4-00c04fd430c8",
		"x500": "6ba7b814-9dad-11d1-80b4-00c04fd430c8",
	}
	space, ok := spaces[name]
	return space, ok
}

// uuidv5Func is uuidv5(NAMESPACE, NAME): the same UUID for the same two texts
// (RFC 9562, version 5).
func uuidv5Func() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "namespace", Type: cty.String}, {Name: "name", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			given := args[0].AsString()
			space, named := uuidSpaces(given)
			if !named {
				space = given
			}
			id, err := hex.DecodeString(strings.ReplaceAll(space, "-", ""))
			if err != nil || len(id) != 16 || len(space) != 36 {
				return cty.NilVal, function.NewArgErrorf(0, "%q is neither dns, url, oid or x500 nor a UUID", cut(given))
			}
			sum := sha1.Sum(append(id, args[1].AsString()...))
			u := sum[:16]
			u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
			return cty.StringVal(fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])), nil
		},
	})
}
