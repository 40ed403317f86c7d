package envelope

import "bytes"

// peelOTLP reads a line of OTLP/JSON as the file exporter of the collector writes
// it (opentelemetry-proto logs.proto, trace.proto): many records, each with the
// attributes of the process that wrote it. A record becomes one flat object.
func peelOTLP(p *Peeler, l *layer, _ []byte) outcome {
	f := &l.fields
	switch {
	case f.has(keyResourceLogs):
		l.resources(p, f.get(keyResourceLogs), "scopeLogs", "logRecords", (*layer).logRecord)
	case f.has(keyResourceSpans):
		l.resources(p, f.get(keyResourceSpans), "scopeSpans", "spans", (*layer).span)
	default:
		return other
	}
	return several
}

func (l *layer) resources(p *Peeler, list []byte, scopes, records string, one func(l *layer, p *Peeler, scope, record []byte)) {
	elements(list, func(r []byte) {
		who := resource(member(r, "resource", "attributes"))
		elements(member(r, scopes), func(s []byte) {
			scope := scalar(member(s, "scope", "name"))
			elements(member(s, records), func(record []byte) {
				l.who, l.stream, l.time, l.many = who, nil, nil, true
				one(l, p, scope, record)
			})
		})
	})
}

// resource reads whose records follow.
func resource(attributes []byte) place {
	var r owner
	eachAttribute(attributes, func(k, v []byte) { r.set(k, scalar(plain(v))) })
	return r.place()
}

// owner gathers what a tracer says about the process whose records follow.
type owner struct {
	w                 place
	instance, service []byte
}

func (r *owner) set(k, s []byte) {
	switch string(k) {
	case "k8s.pod.name":
		r.w.pod = s
	case "k8s.namespace.name":
		r.w.namespace = s
	case "k8s.container.name", "container.name":
		r.w.container = s
	case "container.id":
		r.w.id = s
	case "k8s.container.restart_count":
		r.w.restart = s
	case "process.pid":
		r.w.pid = s
	case "host.name", "hostname":
		r.w.host = s
	case "service.name":
		r.service = s
	case "service.instance.id":
		r.instance = s
	}
}

func (r *owner) place() place {
	w := r.w
	if w.pod == nil && w.container == nil {
		w.program = r.service
		if r.instance != nil {
			w.host, w.program = r.instance, nil
		}
	}
	return w
}

func eachAttribute(list []byte, f func(k, v []byte)) {
	elements(list, func(e []byte) {
		if k, ok := quoted(member(e, "key")); ok {
			f(k, member(e, "value"))
		}
	})
}

// plain is the value inside an AnyValue as it stands; nil for lists and bytes.
func plain(any []byte) (v []byte) {
	members(any, 0, func(k, x []byte) bool {
		switch string(k) {
		case "stringValue", "boolValue", "doubleValue", "intValue":
			v = x
		}
		return true
	})
	return v
}

// appendAny appends an AnyValue as JSON. Whole numbers are written as strings there.
func appendAny(dst, any []byte, depth int) []byte {
	from := len(dst)
	members(any, 0, func(k, x []byte) bool {
		dst = dst[:from]
		switch string(k) {
		case "intValue":
			if s, ok := quoted(x); ok {
				x = s
			}
			dst = append(dst, x...)
		case "arrayValue":
			dst = append(dst, '[')
			elements(member(x, "values"), func(e []byte) {
				if depth < maxAny {
					dst = appendAny(comma(dst), e, depth+1)
				}
			})
			dst = append(dst, ']')
		case "kvlistValue":
			dst = append(dst, '{')
			if depth < maxAny {
				dst = appendAttributes(dst, member(x, "values"), depth+1)
			}
			dst = append(dst, '}')
		default:
			dst = append(dst, x...)
		}
		return true
	})
	if len(dst) == from {
		dst = append(dst, "null"...)
	}
	return dst
}

const maxAny = 16

func comma(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' && dst[n-1] != '[' {
		dst = append(dst, ',')
	}
	return dst
}

// appendAttributes appends the members of an object.
func appendAttributes(dst, list []byte, depth int) []byte {
	eachAttribute(list, func(k, v []byte) {
		dst = append(append(append(comma(dst), '"'), k...), `":`...)
		dst = appendAny(dst, v, depth)
	})
	return dst
}

// logRecord hands on a log record. What the collector read from a file is a line
// as it stood there; what a program logged is its message and attributes.
func (l *layer) logRecord(p *Peeler, _, record []byte) {
	l.time = stamp(record, "timeUnixNano")
	if l.time == nil {
		l.time = stamp(record, "observedTimeUnixNano")
	}
	body, attributes := member(record, "body"), member(record, "attributes")
	own := false
	eachAttribute(attributes, func(k, v []byte) {
		if string(k) == "log.iostream" {
			l.stream = scalar(plain(v))
		}
		own = own || !bytes.HasPrefix(k, []byte("log.")) && !collected(k)
	})
	text, isText := quoted(member(body, "stringValue"))
	if isText && !own {
		l.inner = bytes.TrimRight(unescape(&l.buf, text), "\r\n")
		p.into(l, false)
		return
	}
	out := append(l.buf[:0], '{')
	out = appendAttributes(out, attributes, 0)
	if list := member(body, "kvlistValue", "values"); list != nil {
		out = appendAttributes(out, list, 0)
	} else if isText {
		out = append(append(append(comma(out), `"message":"`...), text...), '"')
	}
	if name := member(record, "eventName"); len(name) > 2 && member(append(out, '}'), "event.name") == nil {
		out = append(append(comma(out), `"event.name":`...), name...)
	}
	l.buf = append(out, '}')
	l.inner = l.record(l.buf, nil)
	p.into(l, false)
}

// span hands on the span of a request that a server received. Spans of clients are
// of their own requests, or of those that a server sent.
func (l *layer) span(p *Peeler, scope, span []byte) {
	if kind := string(scalar(member(span, "kind"))); kind == "3" || kind == "SPAN_KIND_CLIENT" {
		return
	}
	attributes := member(span, "attributes")
	t := traced{telemetry: sdkOf(scope), time: stamp(span, "endTimeUnixNano")}
	if code := string(scalar(member(span, "status", "code"))); code == "2" || code == "STATUS_CODE_ERROR" {
		t.failed = true
	}
	eachAttribute(attributes, func(k, v []byte) { t.see(k, scalar(plain(v))) })
	l.traced(p, &t, func(dst []byte) []byte { return appendAttributes(dst, attributes, 0) })
}

// stamp is a time in ns; 0 says that it is not known.
func stamp(record []byte, name string) []byte {
	if s := scalar(member(record, name)); len(s) > 1 {
		return s
	}
	return nil
}
