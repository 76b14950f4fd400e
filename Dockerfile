# The image as `make image` packs it, for whoever has a container engine:
#
#   docker build --build-arg VERSION=v1.2.3 --build-arg COMMIT="$(git rev-parse HEAD)" -t metacontroller/metacontroller-apiserver:v1.2.3 .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=v0.0.0-docker COMMIT=
RUN package=github.com/metacontroller/metacontroller-apiserver/pkg/version && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH GOFLAGS=-buildvcs=false go build -trimpath \
    -ldflags "-s -w -X $package.gitVersion=$VERSION -X $package.gitCommit=$COMMIT" -o /metacontroller-apiserver ./cmd/metacontroller-apiserver

FROM scratch
COPY --from=build /metacontroller-apiserver /metacontroller-apiserver
USER 65532:65532
EXPOSE 6443
ENTRYPOINT ["/metacontroller-apiserver"]
