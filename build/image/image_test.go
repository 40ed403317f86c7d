package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// program builds a small static Linux binary that prints its arguments.
func program(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	source := "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(os.Args[1] + \"\\n\") }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", "program", "main.go")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build: %s\n%s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unpack reads a tar into memory.
func unpack(t *testing.T, data []byte) (files map[string][]byte, heads map[string]*tar.Header) {
	t.Helper()
	files, heads = map[string][]byte{}, map[string]*tar.Header{}
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files, heads
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		heads[h.Name] = h
	}
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("%s: %s", data, err)
	}
}

// follow fetches what a descriptor points to, and checks it.
func follow(t *testing.T, files map[string][]byte, d ociDescriptor) []byte {
	t.Helper()
	data, ok := files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	if !ok || len(data) != d.Size || digest(data) != d.Digest {
		t.Fatalf("%+v leads to %d bytes with %s", d, len(data), digest(data))
	}
	return data
}

func TestImage(t *testing.T) {
	img := image{program: program(t), license: []byte("terms"), arch: runtime.GOARCH, version: "1.2.3", created: time.Unix(1_700_000_000, 0).UTC()}
	doc, err := layout(img)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := layout(img); !bytes.Equal(doc, again) {
		t.Error("the same binary gives another image")
	}
	files, _ := unpack(t, doc)
	var index ociIndex
	decode(t, files["index.json"], &index)
	var manifest ociManifest
	decode(t, follow(t, files, index.Manifests[0]), &manifest)
	var config ociConfig
	decode(t, follow(t, files, manifest.Config), &config)
	packed := follow(t, files, manifest.Layers[0])
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil || digest(plain) != config.Root.Diffs[0] {
		t.Errorf("the layer is %s, the configuration says %s (%v)", digest(plain), config.Root.Diffs, err)
	}
	var docker []dockerImage
	decode(t, files["manifest.json"], &docker)
	if d := docker[0]; !bytes.Equal(files[d.Layers[0]], packed) || d.Config != blob(follow(t, files, manifest.Config)) || d.Tags[0] != "isodetect:1.2.3" {
		t.Errorf("docker load would find %+v", d)
	}
	if config.Config.User != user || config.Created != "2023-11-14T22:13:20Z" || config.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
		t.Errorf("%+v", config)
	}
	runLayer(t, plain, config.Config.Entrypoint[0])
}

// runLayer checks what is in the layer, and runs the program out of it.
func runLayer(t *testing.T, layer []byte, entrypoint string) {
	t.Helper()
	files, heads := unpack(t, layer)
	for _, name := range []string{"LICENSE", "isodetect", "tmp/", "data/"} {
		if h := heads[name]; h == nil || h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 1_700_000_000 {
			t.Errorf("%s: %+v", name, h)
		}
	}
	if len(heads) != 4 || heads["tmp/"].Mode != 0o1777 {
		t.Errorf("the layer holds %d files; /tmp has mode %o", len(heads), heads["tmp/"].Mode)
	}
	name := strings.TrimPrefix(entrypoint, "/")
	if runtime.GOOS != "linux" {
		return
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, files[name], heads[name].FileInfo().Mode()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, "runs").Output(); err != nil || string(out) != "runs\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestArchitecture(t *testing.T) {
	static := program(t)
	if arch, err := architecture(static); err != nil || arch != runtime.GOARCH {
		t.Errorf("%s, %v", arch, err)
	}
	f := func(program []byte, want string) {
		t.Helper()
		if _, err := architecture(program); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	f([]byte("#!/bin/sh\n"), "no Linux binary")
	f(static[:40], "no Linux binary")
	dynamic := bytes.Clone(static)
	header := binary.LittleEndian.Uint64(dynamic[32:]) // where the program headers begin
	binary.LittleEndian.PutUint32(dynamic[header:], 3) // PT_INTERP
	f(dynamic, "needs shared libraries")
	other := bytes.Clone(static)
	binary.LittleEndian.PutUint16(other[18:], 243) // e_machine: RISC-V
	f(other, "no image for EM_RISCV")
}

// The image of this program is the one of the last stage of the Dockerfile.
func TestImageIsThatOfTheDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	stages := strings.Split(strings.ReplaceAll(string(text), "\\\n", ""), "\nFROM ")
	last := stages[len(stages)-1]
	if !strings.HasPrefix(last, "scratch\n") {
		t.Errorf("the last stage is not from scratch: %s", last)
	}
	says := map[string]string{}
	for line := range strings.Lines(last) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		says[word] = strings.TrimSpace(rest)
	}
	f := func(word, want string) {
		t.Helper()
		if says[word] != want {
			t.Errorf("the Dockerfile says %s %s, the program %s", word, says[word], want)
		}
	}
	f("USER", user)
	f("WORKDIR", workdir)
	f("ENTRYPOINT", `["`+entrypoint+`"]`)
	f("CMD", `["`+command+`"]`)
	pairs := regexp.MustCompile(`([a-z.]+)="([^"]*)"`).FindAllStringSubmatch(says["LABEL"], -1)
	if len(pairs) != len(labels("")) {
		t.Errorf("the Dockerfile has %d labels", len(pairs))
	}
	for _, p := range pairs {
		if labels("")[p[1]] != p[2] {
			t.Errorf("label %s: the Dockerfile says %q, the program %q", p[1], p[2], labels("")[p[1]])
		}
	}
}
