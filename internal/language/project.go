package language

import "github.com/agentform/agentform/session"

func secret() Block {
	return Block{
		Type: "secret", Labels: []string{"name"}, Repeatable: true,
		Doc: "The source of a secret: exactly one of the four. A secret without a block comes from the environment variable with its name. Nothing is read before an apply.",
		Attributes: []Attribute{
			{Name: "env", Kind: Text, Example: `"SHOP_TOKEN"`, Doc: "A variable of agentform's own environment. No agent gets it under this name."},
			{Name: "file", Kind: Path, Example: `"~/.config/shop/token"`, Doc: "A file, which may be outside the repository. One line break at its end is dropped."},
			{Name: "command", Kind: Command, Example: `["pass", "show", "shop/token"]`, Doc: "A program that prints it, run in the project directory. One line break at the end is dropped."},
		},
		Blocks: []Block{{
			Type: "kubernetes", Forces: Replaces, Field: func(s *session.Spec) any { return &s.SecretRefs },
			Doc: "A Secret in the namespace of the sessions that get it, which all run in Kubernetes. agentform never has its value.",
			Attributes: []Attribute{
				{Name: "name", Kind: Text, Required: true, Doc: "The Secret's name."},
				{Name: "key", Kind: Text, Required: true, Doc: "The key in it."},
			},
		}},
	}
}

func telemetry() Block {
	return Block{
		Type: "telemetry",
		Doc:  "Sends metrics and traces to a collector of [OpenTelemetry](telemetry.md).",
		Attributes: []Attribute{
			{Name: "endpoint", Kind: Text, Required: true, Forces: Restarts, Field: func(s *session.Spec) any { return &s.Telemetry.Endpoint }, Example: `"http://127.0.0.1:4318"`, Doc: "The collector's address for OTLP by HTTP, without the path of a signal, like `\"http://127.0.0.1:4318\"`. The hub prefers its variable `OTEL_EXPORTER_OTLP_ENDPOINT`."},
			{Name: "agents", Kind: Flag, Default: "false", Doc: "Whether the agents send their own telemetry there, too."},
			{Name: "prompts", Kind: Flag, Default: "false", Forces: Restarts, Field: func(s *session.Spec) any { return &s.Telemetry.Prompts }, Doc: "Whether the agents' telemetry has the text of prompts."},
		},
	}
}
