package expr

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/zclconf/go-cty/cty/function"
)

// digests adds the functions that tell texts and files apart by a digest, each
// for a text and for a file. They protect nothing: what needs to be kept is a
// secret.
func digests(d *Dirs, fs map[string]function.Function) {
	for name, start := range map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New} {
		sum := func(data []byte) []byte {
			h := start()
			h.Write(data) // never fails
			return h.Sum(nil)
		}
		hexSum := func(data []byte) string { return hex.EncodeToString(sum(data)) }
		base64Sum := func(data []byte) string { return base64.StdEncoding.EncodeToString(sum(data)) }
		fs[name] = textFunc("str", func(s string) (string, error) { return hexSum([]byte(s)), nil })
		fs["file"+name] = bytesFunc(d, hexSum)
		if strings.HasPrefix(name, "sha") && name != "sha1" {
			fs["base64"+name] = textFunc("str", func(s string) (string, error) { return base64Sum([]byte(s)), nil })
			fs["filebase64"+name] = bytesFunc(d, base64Sum)
		}
	}
	fs["filebase64"] = bytesFunc(d, base64.StdEncoding.EncodeToString)
}
