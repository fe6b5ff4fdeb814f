package language

import "sync"

// Backend returns the backend block of a kind, or nil.
func Backend(kind string) *Block { return backend().Kind(kind) }

var backend = sync.OnceValue(func() *Block {
	return &Block{
		Type: "backend", Labels: []string{"kind"},
		Doc: "Where the state is stored for several machines. Without it the state is on this machine alone. See [shared state](state.md#shared-state).",
		Kinds: []Block{
			{Type: "backend", Labels: []string{"kind"}, FirstLabel: "http",
				Doc: "A server that speaks Terraform's protocol for states, such as GitLab. See [http](backends/http.md).",
				Attributes: []Attribute{
					{Name: "address", Kind: Text, DefaultWords: "`AGENTFORM_HTTP_ADDRESS`", Example: `"https://states.example.com/shop"`, Doc: "The URL of the state."},
					{Name: "lock_address", Kind: Text, DefaultWords: "no locking", Example: `"https://states.example.com/shop/lock"`, Doc: "The URL of its lock."},
					{Name: "unlock_address", Kind: Text, DefaultWords: "`lock_address`", Example: `"https://states.example.com/shop/lock"`, Doc: "The URL to unlock it."},
					{Name: "lock_method", Kind: Text, Default: `"LOCK"`, Doc: "The HTTP method to lock."},
					{Name: "unlock_method", Kind: Text, Default: `"UNLOCK"`, Doc: "The HTTP method to unlock."},
					{Name: "update_method", Kind: Text, Default: `"POST"`, Doc: "The HTTP method to write."},
					{Name: "username", Kind: Text, DefaultWords: "`AGENTFORM_HTTP_USERNAME`", Example: `"shop"`, Doc: "The user, for basic authentication."},
					{Name: "password", Kind: Text, DefaultWords: "`AGENTFORM_HTTP_PASSWORD`", Doc: "The password. Give it by its variable."},
					{Name: "headers", Kind: Table, Example: `{ X-Team = "shop" }`, Doc: "Headers of every request."},
					{Name: "retry_max", Kind: Whole, Default: "2", Doc: "How often a request is tried again."},
					{Name: "retry_wait_min", Kind: Whole, Default: "1", Doc: "The shortest pause before a new try, in seconds."},
					{Name: "retry_wait_max", Kind: Whole, Default: "30", Doc: "The longest pause, in seconds."},
					{Name: "skip_cert_verification", Kind: Flag, Default: "false", Doc: "Accepts any certificate of the server."},
					{Name: "client_certificate_pem", Kind: Text, Doc: "A certificate that the server asks for, as PEM."},
					{Name: "client_private_key_pem", Kind: Text, DefaultWords: "`AGENTFORM_HTTP_CLIENT_PRIVATE_KEY_PEM`", Doc: "Its key. Give it by its variable."},
					{Name: "client_ca_certificate_pem", Kind: Text, DefaultWords: "the system's", Doc: "The certificates that the server's must be signed by."},
				},
			},
			{Type: "backend", Labels: []string{"kind"}, FirstLabel: "s3",
				Doc: "An object in S3 or a store that speaks its protocol. Credentials come as AWS' tools find them. See [s3](backends/s3.md).",
				Attributes: []Attribute{
					{Name: "bucket", Kind: Text, Example: `"team-state"`, Doc: "The bucket."},
					{Name: "key", Kind: Text, Example: `"shop/agentform.json"`, Doc: "The object's name. Its lock is the object `KEY.lock`."},
					{Name: "region", Kind: Text, DefaultWords: "`AWS_REGION`", Example: `"eu-central-1"`, Doc: "The region."},
					{Name: "endpoint", Kind: Text, DefaultWords: "AWS'", Example: `"https://store.example.com"`, Doc: "The URL of another store."},
					{Name: "profile", Kind: Text, DefaultWords: "`AWS_PROFILE`", Doc: "The profile in AWS' files of credentials."},
					{Name: "use_path_style", Kind: Flag, Default: "false", Doc: "Puts the bucket's name into the path of URLs."},
				},
			},
			{Type: "backend", Labels: []string{"kind"}, FirstLabel: "pg",
				Doc: "A PostgreSQL database. See [pg](backends/pg.md).",
				Attributes: []Attribute{
					{Name: "conn_str", Kind: Text, DefaultWords: "`AGENTFORM_PG_CONN_STR`, then libpq's variables", Example: `"postgres://db.example.com/states"`, Doc: "The connection, as a URL or `name=value`. Leave the password to `PGPASSWORD` or a `.pgpass` file."},
					{Name: "schema", Kind: Text, Default: `"agentform"`, Doc: "The schema of its tables, which it creates."},
				},
			},
			{Type: "backend", Labels: []string{"kind"}, FirstLabel: "kubernetes",
				Doc: "Secrets of a Kubernetes cluster, found as kubectl finds it. See [kubernetes](backends/kubernetes.md).",
				Attributes: []Attribute{
					{Name: "context", Kind: Text, DefaultWords: "the kubeconfig's current one", Doc: "The context of the kubeconfig."},
					{Name: "namespace", Kind: Text, DefaultWords: "the context's", Doc: "The namespace, which must exist."},
					{Name: "secret_suffix", Kind: Text, DefaultWords: "the project's name", Doc: "The end of the Secret's and the Lease's name, `agentform-state-SUFFIX`."},
				},
			},
		},
	}
})

func encryption() Block {
	return Block{
		Type: "encryption",
		Doc:  "Encrypts the state in the backend with [age](https://age-encryption.org).",
		Attributes: []Attribute{
			{Name: "recipients", Kind: Texts, Required: true, Example: `["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]`, Doc: "The public keys that it is encrypted to: `age1…`."},
			{Name: "identity_file", Kind: Path, DefaultWords: "`AGENTFORM_AGE_IDENTITY`", Example: `"~/.config/agentform/key.txt"`, Doc: "A file with a private key, to read it."},
		},
	}
}
