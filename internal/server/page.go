package server

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// The page is plain modules, served as they are. vendor has the modules of other people:
// scripts/page/vendor.sh copies them, and its lock file has their versions.
//
//go:embed page
var pageFiles embed.FS

// policy lets the page use the scripts, styles and API of this hub, and insert what agents
// write as text only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; manifest-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// unversioned is the directory of the page's files in index.html.
const unversioned = "/v/0/"

// servePage adds the files of the page, which have nothing of the project. The addresses of all but the
// document have the version of all, so browsers keep them. A page that another version has served gets
// the files of this one.
func servePage(mux *http.ServeMux) {
	_ = mime.AddExtensionType(".mjs", "text/javascript; charset=utf-8") // not known everywhere
	files, version := readPage()
	for name, text := range files {
		at := "/v/{version}/" + name
		if name == "index.html" {
			at, text = "/{$}", bytes.ReplaceAll(text, []byte(unversioned), []byte("/v/"+version+"/"))
		}
		mux.HandleFunc("GET "+at, pageFile(name, text, version))
	}
	mux.HandleFunc("GET /icon.svg", serveIcon)
	mux.HandleFunc("GET /manifest.webmanifest", serveAppManifest)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
}

// readPage returns the files of the page, by their paths below page, and their version.
func readPage() (files map[string][]byte, version string) {
	files = map[string][]byte{}
	sum := fnv.New64a()
	_ = fs.WalkDir(pageFiles, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := pageFiles.ReadFile(name)
		files[strings.TrimPrefix(name, "page/")] = text
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		return err
	}) // the files are in the program
	return files, fmt.Sprintf("%x", sum.Sum64())
}

func pageFile(name string, text []byte, version string) http.HandlerFunc {
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Content-Type", kind)
		h.Set("Content-Length", strconv.Itoa(len(text)))
		if r.PathValue("version") == version {
			h.Set("Cache-Control", "private, max-age=31536000, immutable")
		}
		if r.Method != http.MethodHead {
			_, _ = w.Write(text) // the client may be gone
		}
	}
}

// appManifest lets a phone install the page.
const appManifest = `{"name": "agentform", "start_url": "/", "display": "standalone", "background_color": "#0f1115", "theme_color": "#161920",
"icons": [{"src": "/icon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any maskable"}]}`

func serveAppManifest(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/manifest+json")
	_, _ = io.WriteString(w, appManifest) // the client may be gone
}

// icon is the page's mark, with a dot if sessions need somebody.
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57c2"/>` +
	`<path d="M8 10l6 6-6 6M16 22h8" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/>%s</svg>`

// serveIcon serves the icon of the page. Its query has how many sessions need somebody.
func serveIcon(w http.ResponseWriter, r *http.Request) {
	badge := ""
	if n, err := strconv.ParseUint(r.URL.Query().Get("needs"), 10, 16); err == nil && n > 0 {
		text := strconv.FormatUint(n, 10)
		if n > 9 {
			text = "9+"
		}
		badge = `<circle cx="23" cy="9" r="9" fill="#e2b553"/><text x="23" y="14" font-size="14" font-family="sans-serif" font-weight="bold" text-anchor="middle">` + text + `</text>`
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Cache-Control", "private, max-age=86400")
	fmt.Fprintf(w, icon, badge)
}
