package server

import (
	"embed"
	"mime"
	"net/http"
	"path"
)

//go:embed dashboard/index.html dashboard/dashboard.css dashboard/dashboard.js dashboard/model.mjs
var dashboard embed.FS

// policy lets the dashboard use the scripts, styles and API of this hub, and insert what
// agents write as text only.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// page responds with a file of the dashboard, which has nothing of the project.
func page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		http.ServeFileFS(w, r, dashboard, path.Join("dashboard", name))
	}
}
