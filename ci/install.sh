#!/usr/bin/env bash
# Installs isodetect for action.yml: builds the action's own commit, or downloads a
# release and checks it. Reads VERSION, SHA256, DOWNLOAD_URL; gives the output path.
set -euo pipefail

stop() {
	printf '::error title=isodetect::%s\n' "$1"
	exit 2
}

# plain TEXT NAME: an input that becomes part of an address or a file's name is a plain word.
plain() { [[ $1 =~ ^[0-9A-Za-z][0-9A-Za-z.+-]*$ ]] || stop "$2 must be letters, digits, dots and dashes"; }

dir=$RUNNER_TEMP/isodetect
bin=$dir/isodetect
mkdir -p "$dir"

build() {
	command -v go >/dev/null || stop 'version: source needs Go on the runner; add actions/setup-go, or name a release'
	(cd "$GITHUB_ACTION_PATH" && CGO_ENABLED=0 go build -trimpath -o "$bin" ./cmd/isodetect) || stop 'isodetect could not be built'
}

sum() {
	if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

fetch() {
	curl --fail --silent --show-error --location --retry 3 --output "$2" -- "$1" || stop "the release could not be downloaded"
}

download() {
	local release=${VERSION#v} os arch name want
	case $(uname -s) in Linux) os=linux ;; Darwin) os=darwin ;; *) stop 'there are releases to download for Linux and macOS; use version: source' ;; esac
	case $(uname -m) in x86_64 | amd64) arch=amd64 ;; aarch64 | arm64) arch=arm64 ;; *) stop 'there is no release for this processor; use version: source' ;; esac
	name=isodetect_${release}_${os}_${arch}.tar.gz
	fetch "$DOWNLOAD_URL/v$release/$name" "$dir/$name"
	want=$SHA256
	if [ -z "$want" ]; then
		fetch "$DOWNLOAD_URL/v$release/checksums.txt" "$dir/checksums.txt"
		want=$(awk -v name="$name" '$2 == name { print $1 }' "$dir/checksums.txt")
		[ -n "$want" ] || stop "checksums.txt does not name $name"
	fi
	[ "$(sum "$dir/$name")" = "$want" ] || stop "$name is not what its checksum says; it was not run"
	tar -xzf "$dir/$name" -C "$dir" isodetect
}

plain "$VERSION" version
[ -z "$SHA256" ] || plain "$SHA256" sha256
if [ "$VERSION" = source ]; then build; else download; fi
"$bin" version
printf 'path=%s\n' "$bin" >>"$GITHUB_OUTPUT"
