# A static isodetect in an empty image. `go run ./build/image` makes the same one
# without a daemon and without a registry.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.release=${VERSION}" -o /out/isodetect ./cmd/isodetect \
 && mkdir -m 1777 /out/tmp

FROM scratch
COPY --from=build /out/ /
COPY LICENSE /LICENSE
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/isodetect"]
CMD ["--help"]
LABEL org.opencontainers.image.title="isodetect" \
      org.opencontainers.image.description="finds isolation failures between sessions of MCP servers in logs and traces" \
      org.opencontainers.image.source="https://github.com/isodetect/isodetect" \
      org.opencontainers.image.licenses="Apache-2.0"
