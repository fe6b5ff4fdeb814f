package server

import (
	"embed"
	"mime"
	"net/http"
	"path"
)

//go:embed dashboard/index.html dashboard/dashboard.css dashboard/dashboard.js dashboard/model.mjs
var dashboard embed.FS

// policy is what the dashboard's page may do: run the scripts and take the styles of
// this hub, ask this hub, and nothing else. What agents say is put into it as text
// alone, which the browser enforces as well.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// page answers with a file of the dashboard. They hold nothing of the project, so they
// need no token.
func page(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
		http.ServeFileFS(w, r, dashboard, path.Join("dashboard", name))
	}
}
