package envelope

import (
	"path"
	"strings"
)

// placeOf reads whose log a file is where a container runtime named it
// (kubernetes pkg/kubelet/kuberuntime/helpers.go): /var/log/pods/NS_POD_UID/CONTAINER/N.log,
// /var/log/containers/POD_NS_CONTAINER-ID.log, /var/lib/docker/containers/ID/ID-json.log.
func placeOf(name string) place {
	dir, base := path.Split(strings.ReplaceAll(name, "\\", "/"))
	if id, _, ok := strings.Cut(base, "-json.log"); ok && hexID(id) {
		return place{container: []byte(id[:12])}
	}
	stem, _, _ := strings.Cut(base, ".log")
	dirs := strings.Split(strings.Trim(dir, "/"), "/")
	if n := len(dirs); n >= 2 && number(stem) {
		if w := strings.Split(dirs[n-2], "_"); len(w) == 3 && len(w[2]) >= 32 {
			return place{namespace: []byte(w[0]), pod: []byte(w[1]), container: []byte(dirs[n-1]), restart: []byte(stem)}
		}
	}
	if k := strings.LastIndexByte(stem, '-'); k > 0 && hexID(stem[k+1:]) {
		if w := strings.Split(stem[:k], "_"); len(w) == 3 {
			return place{namespace: []byte(w[1]), pod: []byte(w[0]), container: []byte(w[2]), id: []byte(stem[k+1:])}
		}
	}
	return place{}
}

func hexID(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

func number(s string) bool {
	return s != "" && len(s) < 10 && strings.Trim(s, "0123456789") == ""
}
