package envelope

import "bytes"

// traced is what decides about a span, whatever tracer it comes from.
type traced struct {
	time      []byte // when it ended
	method    []byte
	telemetry bool // its session id is a private one of the SDK
	failed    bool
	client    bool
}

// see looks at one attribute.
func (t *traced) see(k, v []byte) {
	switch string(k) {
	case "mcp.method.name", "mcp.method":
		t.method = v
	case "error.type":
		t.failed = true
	case "error", "otel.status_code":
		t.failed = t.failed || string(v) == "true" || string(v) == "ERROR"
	case "span.kind":
		t.client = t.client || string(v) == "client"
	case "otel.scope.name", "otel.library.name":
		t.telemetry = t.telemetry || sdkOf(v)
	}
}

// sdkOf reports the tracer of csharp-sdk, whose mcp.session.id is a GUID for
// telemetry alone and never the id of the wire (McpSessionHandler).
func sdkOf(scope []byte) bool { return bytes.Contains(scope, []byte("ModelContextProtocol")) }

// traced hands on a span as one flat object: at its end it says that the request
// ended and how, and at its beginning, where that is read by itself, that it came.
func (l *layer) traced(p *Peeler, t *traced, attributes func(dst []byte) []byte) {
	begin := string(l.fields.name(keyMoment)) == "begin"
	note := bytes.HasPrefix(t.method, []byte("notifications/"))
	if t.method == nil || t.client || note && !begin && l.fields.has(keyMoment) {
		return // a notification is told when it comes; nothing ends it
	}
	l.time = t.time
	out := attributes(append(l.buf[:0], '{'))
	if begin {
		l.time = l.fields.name(keyMomentTime)
		out = withoutErrors(out)
	} else {
		outcome := `"outcome":"ok"`
		if t.failed {
			outcome = `"outcome":"error"`
		}
		out = append(comma(out), outcome...)
	}
	if t.telemetry {
		out = append(comma(out), `"isodetect.session.id_kind":"telemetry"`...)
	}
	l.buf = append(out, '}')
	l.inner = l.buf
	p.into(l, false)
}

// withoutErrors drops what a span says about its end.
func withoutErrors(object []byte) []byte {
	var out []byte
	_, _ = members(append(object, '}'), 0, func(k, v []byte) bool {
		switch string(k) {
		case "error.type", "error", "rpc.response.status_code", "error.message", "outcome", "otel.status_code":
		default:
			if out == nil {
				out = append(make([]byte, 0, len(object)+2), '{')
			}
			out = append(append(append(comma(out), '"'), k...), `":`...)
			out = append(out, v...)
		}
		return true
	})
	if out == nil {
		out = []byte{'{'}
	}
	return out
}

// peelJaeger reads the answer of Jaeger's query API (model/json): spans with their
// tags, and processes beside them.
func peelJaeger(p *Peeler, l *layer, _ []byte) outcome {
	f := &l.fields
	data := f.get(keyData)
	if len(data) == 0 || data[0] != '[' || !bytes.Contains(data, []byte(`"operationName"`)) {
		return other
	}
	elements(data, func(trace []byte) {
		processes := member(trace, "processes")
		elements(member(trace, "spans"), func(span []byte) {
			l.who, l.stream, l.many = jaegerProcess(member(processes, string(scalar(member(span, "processID"))))), nil, true
			tags := member(span, "tags")
			t := traced{time: l.spanEnd(span, "startTime")}
			eachTag(tags, func(k, v []byte) { t.see(k, plainTag(v)) })
			l.traced(p, &t, func(dst []byte) []byte {
				eachTag(tags, func(k, v []byte) { dst = appendMember(dst, k, v) })
				return dst
			})
		})
	})
	return several
}

// spanEnd is when a span of Jaeger or Zipkin ended, which is written as the time it
// began and how long it took. Where it is not read by moments, the beginning stands for it.
func (l *layer) spanEnd(span []byte, begin string) []byte {
	if t := l.fields.name(keyMomentTime); t != nil {
		return t
	}
	return scalar(member(span, begin))
}

func jaegerProcess(process []byte) place {
	var r owner
	r.service = scalar(member(process, "serviceName"))
	eachTag(member(process, "tags"), func(k, v []byte) { r.set(k, plainTag(v)) })
	return r.place()
}

func eachTag(tags []byte, f func(k, v []byte)) {
	elements(tags, func(e []byte) {
		if k, ok := quoted(member(e, "key")); ok {
			f(k, member(e, "value"))
		}
	})
}

// plainTag is a value without its quotes.
func plainTag(v []byte) []byte {
	if s := scalar(v); s != nil {
		return s
	}
	return v
}

func appendMember(dst, k, v []byte) []byte {
	if len(v) == 0 {
		return dst
	}
	dst = append(append(append(comma(dst), '"'), k...), `":`...)
	return append(dst, v...)
}

// peelZipkin reads a span of Zipkin, version 2: all tags are strings.
func peelZipkin(p *Peeler, l *layer, b []byte) outcome {
	f := &l.fields
	if !f.has(keyTraceID) || !f.has(keyID) || !f.has(keyTimestamp) || !f.has(keyLocal) && !f.has(keyDuration) {
		return other
	}
	var r owner
	r.service = scalar(member(f.get(keyLocal), "serviceName"))
	tags := f.get(keyTags)
	t := traced{time: l.spanEnd(b, "timestamp"), client: string(f.name(keyKind)) == "CLIENT" || string(f.name(keyKind)) == "PRODUCER"}
	_, _ = members(tags, 0, func(k, v []byte) bool {
		t.see(k, scalar(v))
		r.set(k, scalar(v))
		return true
	})
	l.who, l.stream, l.many = r.place(), nil, true
	l.traced(p, &t, func(dst []byte) []byte {
		_, _ = members(tags, 0, func(k, v []byte) bool {
			dst = appendMember(dst, k, v)
			return true
		})
		return dst
	})
	return several
}

// peelConsoleSpan reads a span as the console exporter of OpenTelemetry for Python
// prints it (ReadableSpan.to_json).
func peelConsoleSpan(p *Peeler, l *layer, _ []byte) outcome {
	f := &l.fields
	attributes := f.get(keyAttributes)
	if !f.has(keyStartTime) || !f.has(keyEndTime) || member(f.get(keyContext), "trace_id") == nil || len(attributes) == 0 || attributes[0] != '{' {
		return other
	}
	t := traced{time: f.name(keyEndTime), client: string(f.name(keyKind)) == "SpanKind.CLIENT"}
	var r owner
	_, _ = members(member(f.get(keyResource), "attributes"), 0, func(k, v []byte) bool {
		r.set(k, scalar(v))
		return true
	})
	_, _ = members(attributes, 0, func(k, v []byte) bool {
		t.see(k, scalar(v))
		return true
	})
	l.who, l.stream, l.many = r.place(), nil, true
	l.traced(p, &t, func(dst []byte) []byte {
		_, _ = members(attributes, 0, func(k, v []byte) bool {
			dst = appendMember(dst, k, v)
			return true
		})
		return dst
	})
	return several
}
