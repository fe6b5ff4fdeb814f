package server

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
)

// The page is plain modules, served as they are. vendor has the modules of other people:
// scripts/page/vendor.sh copies them, and its lock file has their versions.
//
//go:embed page
var pageFiles embed.FS

// policy lets the page use the scripts, styles and API of this hub, and insert what agents
// write as text only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// servePage adds the files of the page, which have nothing of the project.
func servePage(mux *http.ServeMux) {
	_ = mime.AddExtensionType(".mjs", "text/javascript; charset=utf-8") // not known everywhere
	_ = fs.WalkDir(pageFiles, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		at := "/" + name[len("page/"):]
		if at == "/index.html" {
			at = "/{$}"
		}
		mux.HandleFunc("GET "+at, pageFile(name))
		return nil
	}) // the files are in the program
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
}

func pageFile(name string) http.HandlerFunc {
	kind := mime.TypeByExtension(path.Ext(name))
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Content-Type", kind)
		http.ServeFileFS(w, r, pageFiles, name)
	}
}
