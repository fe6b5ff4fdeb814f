package config

import (
	"strconv"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
)

// Backend is a backend block: where the state is stored for several machines.
type Backend struct {
	Kind string // http, s3, pg, kubernetes
	// Values are the attributes that are set, by name, as text. They may be secret.
	Values  map[string]string `json:"-"`
	Headers map[string]string `json:"-"` // of http
	Range   session.Range
}

// Encryption is an encryption block.
type Encryption struct {
	Recipients   []string
	IdentityFile string `json:",omitempty"` // absolute
	Range        session.Range
}

func readBackend(l *loader, settings *expr.Block) *Backend {
	if len(settings.Blocks["backend"]) == 0 {
		return nil
	}
	b := settings.Blocks["backend"][0]
	if b.Broken && b.Attrs == nil {
		return nil // of no known kind
	}
	l.checkAll(b, inProject)
	d := l.reader(l.ctx)
	found := &Backend{Kind: b.Labels[0], Values: map[string]string{}, Range: rangeOf(b.Def)}
	for _, a := range backendShape().kinds[found.Kind].attrs {
		if d.Missing(b, a.Name) {
			continue
		}
		text := ""
		switch a.Kind {
		case aFlag:
			flag := false
			d.Flag(b, a.Name, &flag)
			text = strconv.FormatBool(flag)
		case aWhole:
			n := 0
			d.Whole(b, a.Name, 0, &n)
			text = strconv.Itoa(n)
		case aTable:
			d.Table(b, a.Name, &found.Headers)
			continue
		default:
			d.Word(b, a.Name, &text)
		}
		found.Values[a.Name] = text
	}
	return found
}

func readEncryption(l *loader, settings *expr.Block) *Encryption {
	if len(settings.Blocks["encryption"]) == 0 {
		return nil
	}
	b := settings.Blocks["encryption"][0]
	l.checkAll(b, inProject)
	d := l.reader(l.ctx)
	found := &Encryption{Range: rangeOf(b.Def)}
	if !d.Words(b, "recipients", &found.Recipients) {
		d.Require(b, "recipients", `recipients = ["age1…"]`)
	}
	var path string
	if d.Word(b, "identity_file", &path) {
		full, err := d.l.Resolve(path, d.l.Root)
		if err != nil {
			d.Fail(b.Attr("identity_file"), "Invalid path", "%q: %s.", path, err)
		}
		found.IdentityFile = full
	}
	return found
}

// BackendAttributes returns the names of the attributes of a kind of backend; nil: there is
// no such kind.
func BackendAttributes(kind string) []string { return backendShape().kinds[kind].names() }

func backendShape() shape {
	return shape{
		labels: []string{"kind"},
		doc:    "Where the state is stored for several machines. Without it the state is on this machine alone. See [shared state](state.md#shared-state).",
		kinds: map[string]shape{
			"http": {
				doc: "A server that speaks Terraform's protocol for states, such as GitLab. See [http](backends/http.md).",
				attrs: []attribute{
					{Name: "address", Kind: aText, DefaultWords: "`AGENTFORM_HTTP_ADDRESS`", Doc: "The URL of the state."},
					{Name: "lock_address", Kind: aText, DefaultWords: "no locking", Doc: "The URL of its lock."},
					{Name: "unlock_address", Kind: aText, DefaultWords: "`lock_address`", Doc: "The URL to unlock it."},
					{Name: "lock_method", Kind: aText, Default: `"LOCK"`, Doc: "The HTTP method to lock."},
					{Name: "unlock_method", Kind: aText, Default: `"UNLOCK"`, Doc: "The HTTP method to unlock."},
					{Name: "update_method", Kind: aText, Default: `"POST"`, Doc: "The HTTP method to write."},
					{Name: "username", Kind: aText, DefaultWords: "`AGENTFORM_HTTP_USERNAME`", Doc: "The user, for basic authentication."},
					{Name: "password", Kind: aText, DefaultWords: "`AGENTFORM_HTTP_PASSWORD`", Doc: "The password. Give it by its variable."},
					{Name: "headers", Kind: aTable, Doc: "Headers of every request."},
					{Name: "retry_max", Kind: aWhole, Default: "2", Doc: "How often a request is tried again."},
					{Name: "retry_wait_min", Kind: aWhole, Default: "1", Doc: "The shortest pause before a new try, in seconds."},
					{Name: "retry_wait_max", Kind: aWhole, Default: "30", Doc: "The longest pause, in seconds."},
					{Name: "skip_cert_verification", Kind: aFlag, Default: "false", Doc: "Accepts any certificate of the server."},
					{Name: "client_certificate_pem", Kind: aText, Doc: "A certificate that the server asks for, as PEM."},
					{Name: "client_private_key_pem", Kind: aText, DefaultWords: "`AGENTFORM_HTTP_CLIENT_PRIVATE_KEY_PEM`", Doc: "Its key. Give it by its variable."},
					{Name: "client_ca_certificate_pem", Kind: aText, DefaultWords: "the system's", Doc: "The certificates that the server's must be signed by."},
				},
			},
			"s3": {
				doc: "An object in S3 or a store that speaks its protocol. Credentials come as AWS' tools find them. See [s3](backends/s3.md).",
				attrs: []attribute{
					{Name: "bucket", Kind: aText, Doc: "The bucket."},
					{Name: "key", Kind: aText, Doc: "The object's name. Its lock is the object `KEY.lock`."},
					{Name: "region", Kind: aText, DefaultWords: "`AWS_REGION`", Doc: "The region."},
					{Name: "endpoint", Kind: aText, DefaultWords: "AWS'", Doc: "The URL of another store."},
					{Name: "profile", Kind: aText, DefaultWords: "`AWS_PROFILE`", Doc: "The profile in AWS' files of credentials."},
					{Name: "use_path_style", Kind: aFlag, Default: "false", Doc: "Puts the bucket's name into the path of URLs."},
				},
			},
			"pg": {
				doc: "A PostgreSQL database. See [pg](backends/pg.md).",
				attrs: []attribute{
					{Name: "conn_str", Kind: aText, DefaultWords: "`AGENTFORM_PG_CONN_STR`, then libpq's variables", Doc: "The connection, as a URL or `name=value`. Leave the password to `PGPASSWORD` or a `.pgpass` file."},
					{Name: "schema", Kind: aText, Default: `"agentform"`, Doc: "The schema of its tables, which it creates."},
				},
			},
			"kubernetes": {
				doc: "Secrets of a Kubernetes cluster, found as kubectl finds it. See [kubernetes](backends/kubernetes.md).",
				attrs: []attribute{
					{Name: "context", Kind: aText, DefaultWords: "the kubeconfig's current one", Doc: "The context of the kubeconfig."},
					{Name: "namespace", Kind: aText, DefaultWords: "the context's", Doc: "The namespace, which must exist."},
					{Name: "secret_suffix", Kind: aText, DefaultWords: "the project's name", Doc: "The end of the Secret's and the Lease's name, `agentform-state-SUFFIX`."},
				},
			},
		},
	}
}

func encryptionShape() shape {
	return shape{
		doc: "Encrypts the state in the backend with [age](https://age-encryption.org).",
		attrs: []attribute{
			{Name: "recipients", Kind: someTexts, Required: true, Doc: "The public keys that it is encrypted to: `age1…`."},
			{Name: "identity_file", Kind: aPath, DefaultWords: "`AGENTFORM_AGE_IDENTITY`", Doc: "A file with a private key, to read it."},
		},
	}
}
