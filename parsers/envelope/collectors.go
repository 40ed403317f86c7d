package envelope

import "bytes"

// record is an object that was a line of its own: what makes it a native event
// comes first again, where the order of its keys was lost. With a message, which
// stood beside it, what a collector added is left out.
func (l *layer) record(v, message []byte) []byte {
	native := member(v, "isodetect")
	if native == nil && message == nil {
		return v
	}
	out := append(l.object[:0], '{')
	if native != nil {
		out = append(append(out, `"isodetect":`...), native...)
	}
	if message != nil {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(out, `"message":`...), message...)
	}
	members(v, 0, func(k, v []byte) bool {
		if string(k) == "isodetect" || message != nil && (collected(k) || string(k) == "message") {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), k...), `":`...)
		out = append(out, v...)
		return true
	})
	l.object = append(out, '}')
	return l.object
}

// peelLoki reads {"labels":{},"line":"…","timestamp":"…"} (logcli output/jsonl.go,
// and the export of Grafana), and the answer of query_range on one line.
func peelLoki(p *Peeler, l *layer, _ []byte) outcome {
	f := &l.fields
	if text, ok := f.text(keyLine); ok && f.has(keyTimestamp) && (f.has(keyLabels) || f.has(keyFields)) {
		l.time = scalar(f.get(keyTimestamp))
		labels := f.get(keyLabels)
		if labels == nil {
			labels = f.get(keyFields)
		}
		l.labels(labels)
		l.inner = bytes.TrimRight(unescape(&l.buf, text), "\r\n")
		return whole
	}
	if !f.has(keyData) {
		return other
	}
	results := member(f.get(keyData), "result")
	found := false
	elements(results, func(r []byte) {
		stream := member(r, "stream")
		if stream == nil {
			return
		}
		found = true
		elements(member(r, "values"), func(v []byte) { l.lokiValue(p, stream, v) })
	})
	if !found {
		return other
	}
	return several
}

// lokiValue hands on ["ns","line"] of a stream.
func (l *layer) lokiValue(p *Peeler, stream, v []byte) {
	var pair [2][]byte
	n := 0
	elements(v, func(e []byte) {
		if n < len(pair) {
			pair[n] = e
		}
		n++
	})
	text, ok := quoted(pair[1])
	if n < 2 || !ok {
		return
	}
	l.labels(stream)
	l.time, l.many = scalar(pair[0]), true
	l.inner = bytes.TrimRight(unescape(&l.buf, text), "\r\n")
	p.into(l, false)
}

// labels reads whose line it is from the labels that collectors attach.
func (l *layer) labels(object []byte) {
	l.who, l.stream = place{}, nil
	w := &l.who
	var instance, service []byte
	members(object, 0, func(k, v []byte) bool {
		s := scalar(v)
		if len(s) == 0 {
			return true
		}
		switch string(k) {
		case "pod", "pod_name", "k8s_pod_name", "kubernetes_pod_name", "kubernetes.pod_name", "kubernetes.pod.name", "k8s.pod.name":
			w.pod = s
		case "container", "container_name", "k8s_container_name", "kubernetes_container_name", "kubernetes.container_name", "kubernetes.container.name", "k8s.container.name", "container.name":
			w.container = s
		case "namespace", "namespace_name", "k8s_namespace_name", "kubernetes_namespace_name", "kubernetes.namespace_name", "kubernetes.namespace", "kubernetes.pod_namespace", "k8s.namespace.name":
			w.namespace = s
		case "host", "hostname", "host.name", "node", "node_name":
			w.host = s
		case "container_id", "kubernetes.docker_id", "docker_id", "container.id", "kubernetes.container_id":
			w.id = s
		case "k8s.container.restart_count":
			w.restart = s
		case "pid", "process.pid":
			w.pid = s
		case "instance", "service_instance_id", "service.instance.id":
			instance = s
		case "job", "service", "service_name", "service.name", "app", "filename":
			service = s
		case "stream", "logstream", "iostream":
			l.stream = s
		}
		return true
	})
	switch {
	case w.pod == nil && w.container == nil && instance != nil:
		w.host, w.program = instance, nil
	case w.pod == nil && w.container == nil:
		w.program = service
	case w.pod == nil:
		w.pod = w.host // the containers of two hosts may have one name
	}
	w.container = bytes.TrimPrefix(w.container, []byte("/")) // Docker's names
	if k := bytes.LastIndexByte(w.id, '/'); k >= 0 {         // containerd://…
		w.id = w.id[k+1:]
	}
}

// peelVictoria reads a line of a VictoriaLogs answer. Where _msg is all that is
// said it is the line; else the line was taken apart, and its members stand beside it.
func peelVictoria(_ *Peeler, l *layer, b []byte) outcome {
	f := &l.fields
	msg, ok := f.text(keyMsg)
	if !ok && f.has(keyMsg) || !f.has(keyUnderTime) || !f.has(keyMsg) && !f.has(keyUnderStream) {
		return other
	}
	l.labels(b)
	l.time = f.name(keyUnderTime)
	if !ok {
		l.inner = l.record(b, []byte(`""`))
		return record
	}
	if !onlyCollected(b) {
		l.inner = l.record(b, f.get(keyMsg))
		return record
	}
	l.inner = bytes.TrimRight(unescape(&l.buf, msg), "\r\n")
	return whole
}

// collected reports a member that a collector adds to a line.
func collected(k []byte) bool {
	if len(k) == 0 || k[0] == '_' || k[0] == '@' {
		return true
	}
	for _, begin := range [...]string{"kubernetes", "k8s", "container", "docker", "pod", "node", "namespace", "host", "agent.", "log.", "input.", "ecs.", "file", "cloud."} {
		if bytes.HasPrefix(k, []byte(begin)) {
			return true
		}
	}
	switch string(k) {
	case "stream", "source_type", "logtag", "date", "tag", "job", "service", "service_name", "app", "cluster", "priority", "facility", "severity":
		return true
	}
	return false
}

// peelElastic reads documents of Elasticsearch and Filebeat events. A line that a
// logger wrote in ECS itself is no envelope: its message is what the program said,
// while that of Filebeat is the line as it stood in the file.
func peelElastic(_ *Peeler, l *layer, b []byte) outcome {
	f := &l.fields
	if v := f.get(keyUnderSource); len(v) > 2 && v[0] == '{' {
		if member(v, "layers") != nil { // packets, as tshark writes them
			return other
		}
		l.inner = v
		return whole
	}
	if f.has(keyEcs) && f.has(keyAtTimestamp) && !f.has(keyAgent) && !f.has(keyInput) && member(f.get(keyLog), "offset") == nil {
		return l.ecs(b)
	}
	text, ok := f.text(keyMessage)
	if !ok || !f.has(keyAtTimestamp) || !(f.has(keyAgent) && member(f.get(keyAgent), "type") != nil || f.has(keyInput) || member(f.get(keyLog), "offset") != nil) {
		return other
	}
	l.time = f.name(keyAtTimestamp)
	l.labels(f.get(keyKubernetes))
	w := place{}
	if k := f.get(keyKubernetes); k != nil {
		w.namespace, w.pod, w.container = scalar(member(k, "namespace")), scalar(member(k, "pod", "name")), scalar(member(k, "container", "name"))
	}
	if c := member(b, "container"); c != nil {
		w.id = scalar(member(c, "id"))
		if w.pod == nil {
			w.container = scalar(member(c, "name"))
		}
	}
	if w.pod == nil && w.container == nil {
		w.host = scalar(member(f.get(keyHost), "name"))
		w.program = scalar(member(f.get(keyLog), "file", "path"))
	}
	l.who, l.stream = w, f.name(keyStream)
	l.inner = bytes.TrimRight(unescape(&l.buf, text), "\r\n")
	return whole
}

// ecs reads a line that a logger wrote in ECS with nested keys: it is the record,
// and names its process in objects of its own.
func (l *layer) ecs(b []byte) outcome {
	at := func(path ...string) []byte { return scalar(member(b, path...)) }
	l.time = l.fields.name(keyAtTimestamp)
	l.who = place{host: at("host", "name"), program: at("service", "name"), pid: at("process", "pid"), id: at("container", "id")}
	if node := at("service", "node", "name"); node != nil {
		l.who.program = node
	}
	if l.who.host == nil && l.who.program == nil {
		return other
	}
	l.inner = b
	return record
}

// peelFluent reads records of Fluent Bit, Fluentd, the fluentd driver of Docker and
// Vector, and "TIME TAG {record}" with tabs.
func peelFluent(_ *Peeler, l *layer, b []byte) outcome {
	if b[0] != '{' {
		return forwarded(l, b)
	}
	f := &l.fields
	from := keyLog
	if !f.has(from) {
		from = keyMessage
	}
	text, ok := f.text(from)
	if !ok {
		return other
	}
	k8s := f.get(keyKubernetes)
	switch {
	case len(k8s) > 0 && k8s[0] == '{' && (from == keyLog || f.has(keyStream) || f.has(keySourceType)):
	case f.has(keySourceType) && from == keyMessage && (f.has(keyTimestamp) || f.has(keyHost)):
	case from == keyLog && standard(f.name(keyStream)) && onlyCollected(b):
	case from == keyLog && f.has(keyContainerID) && (f.has(keyContainerName) || f.has(keySource)):
	case from == keyLog && f.has(keyDate) && f.members == 2:
	default:
		return other
	}
	for _, k := range [...]key{keyTime, keyDate, keyAtTimestamp, keyTimestamp} {
		if t := scalar(f.get(k)); t != nil {
			l.time = t
			break
		}
	}
	if k8s != nil {
		l.labels(k8s)
	} else {
		l.labels(b)
		l.who.pid = nil
	}
	if l.stream = f.name(keyStream); l.stream == nil {
		l.stream = f.name(keySource)
	}
	l.inner = bytes.TrimRight(unescape(&l.buf, text), "\r\n")
	if tag := f.name(keyPartial); string(tag) == "P" || string(f.name(keyLogTag)) == "P" {
		return part
	}
	return whole
}

// onlyCollected reports a record that holds a line and what a collector adds,
// nothing that a program said beside it.
func onlyCollected(b []byte) bool {
	only := true
	members(b, 0, func(k, _ []byte) bool {
		only = collected(k) || string(k) == "log" || string(k) == "time" || string(k) == "timestamp"
		return only
	})
	return only
}

// forwarded reads TIME⇥TAG⇥{record}, as out_file of Fluentd writes it.
func forwarded(l *layer, b []byte) outcome {
	n, _ := isoTime(b)
	if n == 0 || n >= len(b) || b[n] != '\t' {
		return other
	}
	tag, record, ok := bytes.Cut(b[n+1:], []byte("\t"))
	if !ok || !label(tag) || !object(record) {
		return other
	}
	l.time, l.inner = b[:n], record
	return whole
}
