// Command image writes the container image of the Dockerfile as an OCI layout in a
// tar, without a daemon and without a registry: the same binary gives the same bytes.
//
//	CGO_ENABLED=0 go build -trimpath -o bin/isodetect ./cmd/isodetect
//	go run ./build/image -bin bin/isodetect -version 0.1.0 -out isodetect.oci.tar
//
// `docker load`, `podman load` and `skopeo copy oci-archive:isodetect.oci.tar …` read it.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var (
		bin     = flag.String("bin", "bin/isodetect", "the static Linux binary `FILE`")
		license = flag.String("license", "LICENSE", "`FILE` with the licence")
		version = flag.String("version", "", "`VERSION` that the image is tagged with")
		created = flag.Int64("created", 0, "`SECONDS` since 1970 that every file and the image are dated with")
		out     = flag.String("out", "isodetect.oci.tar", "`FILE` to write")
	)
	flag.Parse()
	if err := write(*bin, *license, *version, time.Unix(*created, 0).UTC(), *out); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func write(bin, license, version string, created time.Time, out string) error {
	program, err := os.ReadFile(bin)
	if err != nil {
		return fmt.Errorf("cannot read the binary: %w", err)
	}
	terms, err := os.ReadFile(license)
	if err != nil {
		return fmt.Errorf("cannot read the licence: %w", err)
	}
	arch, err := architecture(program)
	if err != nil {
		return fmt.Errorf("cannot use %s: %w", bin, err)
	}
	doc, err := layout(image{program: program, license: terms, arch: arch, version: version, created: created})
	if err != nil {
		return fmt.Errorf("cannot make the image: %w", err)
	}
	if err := os.WriteFile(out, doc, 0o666); err != nil {
		return fmt.Errorf("cannot write the image: %w", err)
	}
	return nil
}
