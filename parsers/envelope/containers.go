package envelope

import "bytes"

// dockerPart is where Docker cuts a line.
const dockerPart = 16 << 10

// peelDocker reads {"log":"TEXT\n","stream":"stdout","time":"…"} (moby
// daemon/logger/jsonfilelog). Every line ends with its newline, and one that was
// cut at 16 KiB has none but in its last part.
func peelDocker(p *Peeler, l *layer, b []byte) outcome {
	f := &l.fields
	text, ok := f.text(keyLog)
	if !ok || !f.has(keyTime) {
		return other
	}
	stream := f.name(keyStream)
	if n := 3; f.members != n && !(f.has(keyAttrs) && f.members == n+1) || !standard(stream) {
		return other
	}
	if l.time, ok = f.text(keyTime); !ok {
		return other
	}
	l.stream = stream
	if l.depth == 0 {
		l.who = p.path
	}
	l.inner = unescape(&l.buf, text)
	if n := len(l.inner); n > 0 && l.inner[n-1] == '\n' {
		l.ended = true
		l.inner = bytes.TrimRight(l.inner, "\r\n")
		return whole
	}
	if l.ended || len(l.inner) >= dockerPart {
		return part
	}
	return whole // written by something else, which drops the newline
}

func standard(stream []byte) bool { return string(stream) == "stdout" || string(stream) == "stderr" }

// peelCRI reads "TIME stdout F TEXT" (kubernetes pkg/kubelet/kuberuntime/logs): P
// marks a part, F the last one.
func peelCRI(p *Peeler, l *layer, b []byte) outcome {
	n, _ := isoTime(b)
	if n == 0 || n+9 > len(b) || b[n] != ' ' {
		return other
	}
	l.time, l.stream = b[:n], b[n+1:n+7]
	if !standard(l.stream) || b[n+7] != ' ' {
		return other
	}
	tag := b[n+8 : n+8+word(b[n+8:])]
	if len(tag) == 0 || tag[0] != 'F' && tag[0] != 'P' || len(tag) > 1 && tag[1] != ':' {
		return other
	}
	if rest := b[n+8+len(tag):]; len(rest) > 0 {
		l.inner = rest[1:]
	} else {
		l.inner = rest
	}
	if l.depth == 0 {
		l.who = p.path
	}
	if tag[0] == 'P' {
		return part
	}
	return whole
}

// peelKubectl reads "[pod/POD/CONTAINER] TEXT".
func peelKubectl(_ *Peeler, l *layer, b []byte) outcome {
	if !bytes.HasPrefix(b, []byte("[pod/")) {
		return other
	}
	end := bytes.IndexByte(b[:min(len(b), 600)], ']')
	if end < 0 {
		return other
	}
	pod, container, ok := bytes.Cut(b[len("[pod/"):end], []byte("/"))
	if !ok || !label(pod) || !label(container) {
		return other
	}
	l.who = place{pod: pod, container: container}
	l.inner = stamped(l, bytes.TrimPrefix(b[end+1:], []byte(" ")))
	return whole
}

// stamped takes the time off that a tool puts in front of a line when asked to. A
// time in front of text may be the program's own: it stays there as well.
func stamped(l *layer, b []byte) []byte {
	n, fraction := isoTime(b)
	if n == 0 || n >= len(b) || b[n] != ' ' || n+8 < len(b) && standard(b[n+1:n+7]) {
		return b
	}
	if fraction == 9 || object(b[n+1:]) || n+1 == len(b) {
		l.time = b[:n]
		return b[n+1:]
	}
	return b
}

// peelCompose reads "NAME-1  | TEXT", the name padded and coloured (docker compose
// pkg formatter/logs.go).
func peelCompose(_ *Peeler, l *layer, b []byte) outcome {
	b = colour(b)
	n := word(b[:min(len(b), 128)])
	name := b[:n]
	if n < 3 || !isDigit(name[n-1]) || bytes.IndexByte(name, '-') < 0 || !label(name) || shaped(name, "0000-00-00") {
		return other
	}
	rest := bytes.TrimLeft(b[n:], " ")
	if len(rest) == 0 || rest[0] != '|' || len(rest) == len(b[n:]) {
		return other
	}
	rest = colour(rest[1:])
	if len(rest) > 0 {
		if rest[0] != ' ' {
			return other
		}
		rest = rest[1:]
	}
	l.who.container = name
	l.inner = stamped(l, rest)
	return whole
}

// peelStern reads "POD CONTAINER TEXT" and "NAMESPACE POD CONTAINER TEXT". Nothing
// marks such a line, so that the name of the pod must be one that Kubernetes made, or a
// time or an object must follow.
func peelStern(_ *Peeler, l *layer, b []byte) outcome {
	coloured := b[0] == 0x1b
	b = colour(b)
	var words [3][]byte
	rest := b
	for i := range words {
		n := word(rest[:min(len(rest), 256)])
		if n == 0 || n >= len(rest) || rest[n] != ' ' {
			return other
		}
		words[i] = trimColour(rest[:n])
		next := colour(rest[n+1:])
		if i == 1 && podName(words[0]) > 0 {
			return sternLine(l, place{pod: words[0], container: words[1]}, podName(words[0]), coloured, next)
		}
		if i == 2 && podName(words[1]) > 0 {
			return sternLine(l, place{namespace: words[0], pod: words[1], container: words[2]}, podName(words[1]), coloured, next)
		}
		if !dnsLabel(words[i]) {
			return other
		}
		rest = next
	}
	return other
}

func sternLine(l *layer, who place, sure int, coloured bool, text []byte) outcome {
	n, _ := isoTime(text)
	if !dnsLabel(who.container) || sure < 2 && !coloured && !object(text) && n == 0 {
		return other
	}
	l.who, l.inner = who, stamped(l, text)
	return whole
}

// trimColour drops a colour code at the end.
func trimColour(b []byte) []byte {
	if k := bytes.IndexByte(b, 0x1b); k >= 0 {
		return b[:k]
	}
	return b
}

func dnsLabel(b []byte) bool {
	if len(b) == 0 || len(b) > 253 || b[0] == '-' || b[len(b)-1] == '-' {
		return false
	}
	for _, c := range b {
		if !('a' <= c && c <= 'z' || isDigit(c) || c == '-' || c == '.') {
			return false
		}
	}
	return true
}

// podName says how sure a word is the name of a pod: 2 = of a deployment, by the
// letters that Kubernetes takes its random names from (apimachinery util/rand); 1 =
// it may be one; 0 = no.
func podName(b []byte) int {
	k := bytes.LastIndexByte(b, '-')
	if k <= 0 || !dnsLabel(b) {
		return 0
	}
	tail, head := b[k+1:], b[:k]
	if len(tail) != 5 || !random(tail) {
		if len(tail) <= 4 && isDigit(tail[0]) && isDigit(tail[len(tail)-1]) {
			return 1 // of a stateful set
		}
		return 0
	}
	if k = bytes.LastIndexByte(head, '-'); k > 0 && len(head)-k-1 >= 6 && len(head)-k-1 <= 10 && random(head[k+1:]) {
		return 2
	}
	return 1
}

func random(b []byte) bool {
	for _, c := range b {
		if bytes.IndexByte([]byte("bcdfghjklmnpqrstvwxz2456789"), c) < 0 {
			return false
		}
	}
	return true
}

// peelSternJSON reads what stern writes with -o json and -o extjson.
func peelSternJSON(_ *Peeler, l *layer, _ []byte) outcome {
	f := &l.fields
	pod, short := f.name(keyPodName), false
	container := f.name(keyContainerName)
	if pod == nil {
		pod, short = f.name(keyPodShort), true
		container = f.name(keyContainer)
	}
	message := f.get(keyMessage)
	if len(pod) == 0 || len(container) == 0 || message == nil || short && f.members > 4 || f.has(keyAtTimestamp) {
		return other
	}
	l.who = place{namespace: f.name(keyNamespace), pod: pod, container: container}
	if text, ok := quoted(message); ok {
		l.inner = stamped(l, bytes.TrimRight(unescape(&l.buf, text), "\r\n"))
		return whole
	}
	if message[0] != '{' {
		return other
	}
	l.inner = message // extjson keeps what is JSON
	return whole
}

// peelActions reads the log of a GitHub Actions job: a time with seven digits of
// fraction. Lines that begin with ## are its own.
func peelActions(_ *Peeler, l *layer, b []byte) outcome {
	n, fraction := isoTime(b)
	if n != 28 || fraction != 7 || b[n-1] != 'Z' || n >= len(b) || b[n] != ' ' {
		return other
	}
	l.time, l.inner = b[:n], b[n+1:]
	if bytes.HasPrefix(l.inner, []byte("##[")) {
		return bare
	}
	return whole
}

// fromGrafana reports what stands behind a time and a tab where Grafana writes lines as
// text. Loggers and gateways that write so have a level there.
func fromGrafana(rest []byte) bool {
	n := bytes.IndexAny(rest, " \t")
	if n < 0 || rest[0] == 0x1b || rest[0] == ' ' || rest[n] == '\t' {
		return false
	}
	return !level(rest[:n])
}

// peelTimestamp reads "TIME TEXT" where the time is a tool's: with the nine digits
// of docker logs -t, or in front of an object. A level behind it says that it is
// the program's own, unless the lines before had a tool's.
func peelTimestamp(p *Peeler, l *layer, b []byte) outcome {
	n, fraction := isoTime(b)
	if n == 0 {
		return peelTs(l, b)
	}
	if n >= len(b) || b[n] != ' ' && b[n] != '\t' {
		return other
	}
	rest := b[n+1:]
	if len(rest) == 0 {
		return bare
	}
	if l.last > 0 && p.envelopes[l.last-1].Name == "timestamps" && fraction == 9 && b[n] == ' ' {
		l.time, l.inner = b[:n], rest
		return whole
	}
	if b[n] == '\t' && fromGrafana(rest) {
		l.time, l.inner = b[:n], rest
		return whole
	}
	if !object(rest) && (fraction != 9 || rest[0] == ' ' || b[n] == '\t' || level(rest[:word(rest)]) && rest[word(rest)-1] != ':') {
		return other
	}
	l.time, l.inner = b[:n], rest
	return whole
}

// peelTs reads "Jul 19 22:20:43 TEXT", as ts of moreutils writes it; what has a host
// and a program behind the time is syslog and was peeled before.
func peelTs(l *layer, b []byte) outcome {
	n := bsdTime(b)
	if n == 0 || n >= len(b) || b[n] != ' ' {
		return other
	}
	l.time, l.inner = b[:n], b[n+1:]
	if len(l.inner) == 0 {
		return bare
	}
	return whole
}
