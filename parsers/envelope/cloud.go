package envelope

import "bytes"

// peelGCP reads an entry of Google Cloud Logging (LogEntry): textPayload is a line,
// jsonPayload a line that was JSON.
func peelGCP(_ *Peeler, l *layer, _ []byte) outcome {
	f := &l.fields
	if !f.has(keyTextPayload) && !f.has(keyJSONPayload) || !f.has(keyTimestamp) || !f.has(keyInsertID) && !f.has(keyLogName) && !f.has(keyResource) {
		return other
	}
	l.time = f.name(keyTimestamp)
	labels := member(f.get(keyResource), "labels")
	at := func(name string) []byte { return scalar(member(labels, name)) }
	l.who = place{namespace: at("namespace_name"), pod: at("pod_name"), container: at("container_name")}
	if l.who.pod == nil {
		l.who = place{host: at("service_name"), program: at("revision_name")}
		if id := scalar(member(f.get(keyLabels), "instanceId")); id != nil {
			l.who.id = id[max(0, len(id)-12):] // they begin alike
		} else if id := at("instance_id"); id != nil {
			l.who.program = id
		}
	}
	if text, ok := f.text(keyTextPayload); ok {
		l.inner = bytes.TrimRight(unescape(&l.buf, text), "\r\n")
		return whole
	}
	if v := f.get(keyJSONPayload); len(v) > 0 && v[0] == '{' {
		l.inner = l.record(v, nil)
		return whole
	}
	return other
}

// peelCloudWatch reads the lines of aws logs tail, and the JSON of
// filter-log-events, of Insights and of subscriptions, each on one line.
func peelCloudWatch(p *Peeler, l *layer, b []byte) outcome {
	if b[0] != '{' {
		return tailed(l, b)
	}
	f := &l.fields
	switch {
	case f.has(keyLogEvents) && f.has(keyLogStream):
		stream := f.name(keyLogStream)
		elements(f.get(keyLogEvents), func(e []byte) { l.cloudEvent(p, stream, e) })
		return several
	case f.has(keyEvents) && bytes.Contains(f.get(keyEvents), []byte(`"message"`)) && bytes.Contains(f.get(keyEvents), []byte(`"timestamp"`)):
		elements(f.get(keyEvents), func(e []byte) { l.cloudEvent(p, scalar(member(e, "logStreamName")), e) })
		return several
	case f.has(keyResults) && bytes.Contains(f.get(keyResults), []byte(`"@message"`)):
		elements(f.get(keyResults), func(row []byte) { l.cloudRow(p, row) })
		return several
	case (f.has(keyLogStreamName) || f.has(keyIngestion)) && f.has(keyMessage) && f.has(keyTimestamp):
		l.cloudEvent(p, f.name(keyLogStreamName), b)
		return several
	case f.has(keyAtMessage) && f.has(keyAtTimestamp):
		text, ok := f.text(keyAtMessage)
		if !ok {
			return other
		}
		l.time, l.who.container = l.inUTC(f.name(keyAtTimestamp)), f.name(keyAtLogStream)
		l.inner = bytes.TrimRight(unescape(&l.buf, text), "\r\n")
		return whole
	}
	return other
}

// inUTC adds the zone to the times of Insights, which are always in UTC.
func (l *layer) inUTC(t []byte) []byte {
	if !shaped(t, "0000-00-00 00:00:00") {
		return t
	}
	l.object = append(append(l.object[:0], t...), 'Z')
	return l.object
}

// cloudRow hands on a row of an answer of Insights: a list of fields with their values.
func (l *layer) cloudRow(p *Peeler, row []byte) {
	var text []byte
	l.time, l.who, l.many = nil, place{}, true
	elements(row, func(field []byte) {
		v, _ := quoted(member(field, "value"))
		switch string(scalar(member(field, "field"))) {
		case "@message":
			text = v
		case "@timestamp":
			l.time = l.inUTC(v)
		case "@logStream":
			l.who.container = v
		}
	})
	if text == nil {
		return
	}
	l.inner = bytes.TrimRight(unescape(&l.buf, text), "\r\n")
	p.into(l, false)
}

func (l *layer) cloudEvent(p *Peeler, stream, e []byte) {
	text, ok := quoted(member(e, "message"))
	if !ok {
		return
	}
	l.time, l.who, l.many = scalar(member(e, "timestamp")), place{container: stream}, true
	l.inner = bytes.TrimRight(unescape(&l.buf, text), "\r\n")
	p.into(l, false)
}

// tailed reads "TIME STREAM TEXT". The names of streams hold a slash, as those of
// tasks and functions do; others are not told from a word of the text.
func tailed(l *layer, b []byte) outcome {
	n, _ := isoTime(b)
	if n == 0 || n >= len(b) || b[n] != ' ' {
		return other
	}
	rest := b[n+1:]
	end := word(rest[:min(len(rest), 600)])
	if end == 0 || end >= len(rest) || bytes.Count(rest[:end], []byte("/")) < 2 || rest[0] == '/' || !isDigit(rest[0]) && (rest[0] < 'a' || rest[0] > 'z') || bytes.ContainsAny(rest[:end], `"'(){}=:,`) {
		return other
	}
	l.time, l.who.container, l.inner = b[:n], rest[:end], rest[end+1:]
	return whole
}
