# syntax=docker/dockerfile:1

# Images with one static binary and the certificates of public authorities, no shell, no root:
#   docker build --target braid .         the whole system in one process
#   docker build --target coordinator .
#   docker build --target worker .

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
# With .git: the binaries take their version from it.
COPY . .
ARG TARGETOS TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    mkdir -p /out /empty && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=auto -ldflags='-s -w' -o /out/ ./cmd/...

FROM scratch AS base
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /empty /tmp
USER 65532:65532

FROM base AS coordinator
COPY --from=build --chown=65532:65532 /empty /scratch
COPY --from=build /out/coordinator /coordinator
ENTRYPOINT ["/coordinator"]

FROM base AS worker
COPY --from=build /out/worker /worker
ENTRYPOINT ["/worker"]

FROM base AS braid
COPY --from=build --chown=65532:65532 /empty /data
COPY --from=build /out/braid /braid
ENV BRAID_DATA_DIR=/data
VOLUME /data
ENTRYPOINT ["/braid"]
