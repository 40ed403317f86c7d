package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// image is what goes into the container image.
type image struct {
	program, license []byte
	arch             string // as Go names it
	version          string
	created          time.Time
}

// What the last stage of the Dockerfile says; a test holds the two together.
const (
	user       = "65532:65532"
	workdir    = "/data"
	entrypoint = "/isodetect"
	command    = "--help"
)

func labels(version string) map[string]string {
	l := map[string]string{
		"org.opencontainers.image.title":       "isodetect",
		"org.opencontainers.image.description": "finds isolation failures between sessions of MCP servers in logs and traces",
		"org.opencontainers.image.source":      "https://github.com/isodetect/isodetect",
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
	if version != "" {
		l["org.opencontainers.image.version"] = version
	}
	return l
}

// architecture reads which machine a binary is for, and refuses one that an empty
// image could not run.
func architecture(program []byte) (string, error) {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return "", fmt.Errorf("it is no Linux binary: %w", err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "", errors.New("it needs shared libraries; build it with CGO_ENABLED=0")
		}
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	}
	return "", fmt.Errorf("there is no image for %s", f.Machine)
}

// layer is the file system of the image. /tmp is for standard input that has to be read twice.
func (img *image) layer() ([]byte, error) {
	return archive(img.created, []entry{
		{name: "LICENSE", mode: 0o644, data: img.license},
		{name: "isodetect", mode: 0o755, data: img.program},
		{name: "tmp/", mode: 0o1777},
		{name: "data/", mode: 0o755},
	})
}

type entry struct {
	name string // a directory ends with /
	mode int64
	data []byte
}

// archive writes a tar of files that belong to root and are as old as the image.
func archive(at time.Time, entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), ModTime: at, Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		if e.name[len(e.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// layout makes the OCI layout: layer, configuration, manifest and index, and the list
// by which older versions of docker load find the same blobs.
func layout(img image) ([]byte, error) {
	plain, err := img.layer()
	if err != nil {
		return nil, err
	}
	packed, err := compress(plain)
	if err != nil {
		return nil, err
	}
	config := marshal(configuration(&img, digest(plain)))
	manifest := marshal(ociManifest{
		Schema: 2, Type: "application/vnd.oci.image.manifest.v1+json",
		Config: described("application/vnd.oci.image.config.v1+json", config),
		Layers: []ociDescriptor{described("application/vnd.oci.image.layer.v1.tar+gzip", packed)},
	})
	tag := img.version
	if tag == "" {
		tag = "devel"
	}
	root := described("application/vnd.oci.image.manifest.v1+json", manifest)
	root.Platform = &ociPlatform{img.arch, "linux"}
	root.Annotations = map[string]string{"org.opencontainers.image.ref.name": tag}
	index := marshal(ociIndex{Schema: 2, Type: "application/vnd.oci.image.index.v1+json", Manifests: []ociDescriptor{root}})
	docker := marshal([]dockerImage{{blob(config), []string{"isodetect:" + tag}, []string{blob(packed)}}})
	return archive(img.created, []entry{
		{name: "oci-layout", mode: 0o644, data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{name: "index.json", mode: 0o644, data: index},
		{name: "manifest.json", mode: 0o644, data: docker},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
		{name: blob(config), mode: 0o644, data: config},
		{name: blob(manifest), mode: 0o644, data: manifest},
		{name: blob(packed), mode: 0o644, data: packed},
	})
}

func blob(data []byte) string { return fmt.Sprintf("blobs/sha256/%x", sha256.Sum256(data)) }

func described(kind string, data []byte) ociDescriptor {
	return ociDescriptor{Type: kind, Digest: digest(data), Size: len(data)}
}

func configuration(img *image, diff string) ociConfig {
	at := img.created.Format(time.RFC3339)
	c := ociConfig{Created: at, Arch: img.arch, OS: "linux", History: []ociHistory{{at, "build/image"}}}
	c.Config = ociRun{User: user, Entrypoint: []string{entrypoint}, Command: []string{command}, Workdir: workdir, Labels: labels(img.version)}
	c.Root.Type, c.Root.Diffs = "layers", []string{diff}
	return c
}

func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return data
}
