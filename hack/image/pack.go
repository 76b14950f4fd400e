// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// program is the path of the program in the image.
const program = "/metacontroller-apiserver"

// user is an unprivileged user, as in the images of distroless.
const user = "65532:65532"

// release is what all platforms of an image have in common.
type release struct {
	name, version, revision string
	created                 time.Time
}

// labels are those that https://github.com/opencontainers/image-spec/blob/main/annotations.md defines.
func (r release) labels() map[string]string {
	const prefix, source = "org.opencontainers.image.", "https://github.com/metacontroller/metacontroller-apiserver"
	return map[string]string{
		prefix + "title":         "metacontroller-apiserver",
		prefix + "description":   "Controllers for Kubernetes, written as webhooks and served by an API server",
		prefix + "url":           source,
		prefix + "source":        source,
		prefix + "documentation": source + "/tree/" + r.revision + "/docs",
		prefix + "licenses":      "Apache-2.0",
		prefix + "version":       r.version,
		prefix + "revision":      r.revision,
		prefix + "created":       r.created.UTC().Format(time.RFC3339),
	}
}

// pack returns an index with an image and a bill of materials for each program.
func pack(about release, programs []string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var described []mutate.IndexAddendum
	for _, path := range programs {
		platform, err := platformOf(path)
		if err != nil {
			return nil, err
		}
		image, err := imageOf(about, path, platform)
		if err != nil {
			return nil, fmt.Errorf("the image of %s: %w", path, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
		materials, err := attestation(about, path+".cdx.json", image)
		if err != nil {
			return nil, err
		}
		described = append(described, materials)
	}
	index = mutate.AppendManifests(index, described...)
	return mutate.Annotations(index, about.labels()).(v1.ImageIndex), nil
}

// platformOf returns the platform that a program was built for.
func platformOf(path string) (*v1.Platform, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what %s was built for: %w", path, err)
	}
	platform := &v1.Platform{}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "GOOS":
			platform.OS = setting.Value
		case "GOARCH":
			platform.Architecture = setting.Value
		}
	}
	if platform.OS == "" || platform.Architecture == "" {
		return nil, fmt.Errorf("%s does not say what it was built for", path)
	}
	return platform, nil
}

func imageOf(about release, path string, platform *v1.Platform) (v1.Image, error) {
	layer, err := layerOf(path, about.created)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{CreatedBy: "COPY metacontroller-apiserver " + program, Created: v1.Time{Time: about.created}},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Created: v1.Time{Time: about.created},
		Config: v1.Config{
			Entrypoint: []string{program}, User: user, WorkingDir: "/", Labels: about.labels(),
			ExposedPorts: map[string]struct{}{"6443/tcp": {}},
		},
		RootFS:  config.RootFS,
		History: config.History,
	})
}

// layerOf returns a layer with nothing but the program.
func layerOf(path string, modified time.Time) (v1.Layer, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	writer := tar.NewWriter(&layer)
	header := &tar.Header{
		Name: strings.TrimPrefix(program, "/"), Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content)), ModTime: modified, Format: tar.FormatPAX,
	}
	if err := writer.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := writer.Write(content); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}
