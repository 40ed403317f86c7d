package logs

import "github.com/isodetect/isodetect/parsers/source"

// The shapes of lines that are told apart, each with how it was checked: "real"
// where lines that the tool itself wrote stand in testdata (TestFormsChecked names
// them), "docs" where they were written by its documentation or source.

// Forms lists the forms of text, in no order that matters.
func Forms() []source.Form {
	out := []source.Form{
		{Name: "python-basicconfig", Title: "python-sdk 1.x and 2.x through logging.basicConfig", Checked: "real", Carries: "sessions made and ended, methods (1.x), ids of cancelled requests; no time"},
		{Name: "python-asctime", Title: "the same with %(asctime)s", Checked: "real", Carries: "the same with times"},
		{Name: "python-sse", Title: "python-sdk, HTTP+SSE at DEBUG", Checked: "real", Carries: "sessions, bodies of what clients send with their session; what the server sends without one"},
		{Name: "rich", Title: "rich console of python-sdk and fastmcp, also folded at 80 columns and on a terminal", Checked: "real", Carries: "sessions made and ended, methods"},
		{Name: "structlog", Title: "console of structlog", Checked: "real", Carries: "as python-asctime, and session_resolved"},
		{Name: "loguru", Title: "loguru", Checked: "real", Carries: "as python-asctime, and session_resolved"},
		{Name: "console", Title: "console.log and util.inspect of the TypeScript examples", Checked: "real", Carries: "sessions with their capabilities where they were printed whole, requests without a session"},
		{Name: "mcp-use", Title: "console of mcp-use", Checked: "docs", Carries: "sessions made and ended"},
		{Name: "pino-pretty", Title: "pino-pretty, its keys on lines of their own", Checked: "real", Carries: "what the server logs; no date by default"},
		{Name: "winston-text", Title: "winston simple and printf", Checked: "real", Carries: "what the server logs, with the keys behind the message"},
		{Name: "zap-console", Title: "zap in development, and other text with one JSON object behind it", Checked: "real", Carries: "what the server logs"},
		{Name: "zerolog-console", Title: "console writer of zerolog", Checked: "real", Carries: "what the server logs; no date"},
		{Name: "go-log", Title: "slog through the Go log package", Checked: "real", Carries: "what the server logs, to the second"},
		{Name: "dotnet", Title: "two-line console of .NET (csharp-sdk)", Checked: "docs", Carries: "methods, cancelled ids, server requests with their session"},
		{Name: "logback", Title: "logback (java-sdk)", Checked: "real", Carries: "capabilities, bodies of what clients send at DEBUG, subscriptions with their session"},
		{Name: "spring-boot", Title: "Spring Boot console (Spring AI)", Checked: "docs", Carries: "as logback"},
		{Name: "apache", Title: "Apache access log, as clf", Checked: "real", Carries: "what the operator added; %t is the start"},
		{Name: "traefik", Title: "Traefik access log in CLF", Checked: "docs", Carries: "session of HTTP+SSE in the query"},
		{Name: "context-forge", Title: "IBM context-forge", Checked: "docs", Carries: "sessions with their capabilities"},
	}
	for i := range textForms {
		f := &textForms[i]
		out = append(out, source.Form{Name: f.name, Title: f.title, Checked: f.checked, Carries: f.yields})
	}
	return out
}

// jsonForms lists the writers of JSON lines whose keys are known.
func jsonForms() []source.Form {
	const logs = "what the server logs"
	const headers = "session headers of request and response, status, start and end"
	return []source.Form{
		{Name: "slog", Title: "Go slog (go-sdk, mcp-go)", Checked: "real", Carries: "go-sdk: sessions, subscriptions; mcp-go: session, method and outcome of each request"},
		{Name: "zap", Title: "zap", Checked: "real", Carries: logs},
		{Name: "zerolog", Title: "zerolog", Checked: "real", Carries: logs},
		{Name: "logrus", Title: "logrus", Checked: "real", Carries: logs},
		{Name: "pino", Title: "pino", Checked: "real", Carries: logs},
		{Name: "pino-http", Title: "pino-http", Checked: "real", Carries: headers},
		{Name: "winston", Title: "winston json and logstash", Checked: "real", Carries: logs},
		{Name: "bunyan", Title: "bunyan", Checked: "real", Carries: logs},
		{Name: "python-json-logger", Title: "python-json-logger (python-sdk, fastmcp)", Checked: "real", Carries: "as python-asctime"},
		{Name: "structlog-json", Title: "structlog JSONRenderer", Checked: "real", Carries: "as python-asctime"},
		{Name: "loguru-json", Title: "loguru with serialize=True", Checked: "real", Carries: "as python-asctime"},
		{Name: "tracing-json", Title: "tracing-subscriber JSON (rmcp)", Checked: "real", Carries: "sessions, methods, ids"},
		{Name: "caddy", Title: "Caddy access log", Checked: "real", Carries: headers},
		{Name: "nginx-json", Title: "nginx log_format with escape=json", Checked: "real", Carries: "what the operator added: session headers, body"},
		{Name: "haproxy-json", Title: "HAProxy log-format as JSON", Checked: "real", Carries: headers},
		{Name: "envoy-ai-gateway", Title: "Envoy AI Gateway access log, JSON", Checked: "docs", Carries: "as envoy-json, with method, id, tool and URI"},
		{Name: "envoy-json", Title: "Envoy and Istio access log, JSON", Checked: "real", Carries: "what the operator added: session headers, method, id; start and end"},
		{Name: "traefik-json", Title: "Traefik access log, JSON", Checked: "real", Carries: "session headers where accessLog.fields.headers.defaultMode is keep"},
		{Name: "cloudflare", Title: "Cloudflare mcp_portal_logs", Checked: "docs", Carries: "session and method of the portal, end of each request"},
		{Name: "apim", Title: "Azure API Management ApiManagementGatewayMCPLog", Checked: "docs", Carries: "methods; its session is a conversation and none of the wire"},
		{Name: "kong", Title: "Kong serializer with ai-mcp-proxy", Checked: "docs", Carries: "request headers where they are logged"},
		{Name: "tyk", Title: "Tyk access log with api_type mcp", Checked: "docs", Carries: "methods; no session"},
		{Name: "litellm", Title: "LiteLLM with JSON_LOGS", Checked: "docs", Carries: "nothing: its session_id is none of MCP"},
	}
}

// pairForms lists the writers of key=value lines.
func pairForms() []source.Form {
	return []source.Form{
		{Name: "slog-text", Title: "Go slog, text (go-sdk, mcp-go)", Checked: "real", Carries: "as slog; ids of subscribe requests, which JSON loses"},
		{Name: "logrus-text", Title: "logrus, text", Checked: "real", Carries: "what the server logs"},
		{Name: "structlog-logfmt", Title: "structlog LogfmtRenderer and KeyValueRenderer", Checked: "real", Carries: "as python-asctime"},
	}
}
