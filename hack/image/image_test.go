// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const materials = `{"bomFormat":"CycloneDX"}`

func TestTheImageHasNothingButTheProgramOfEachPlatform(t *testing.T) {
	programs := build(t)
	index := read(t, packed(t, programs))
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, descriptor := range manifest.Manifests[:2] {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(image); err != nil {
			t.Error(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		platforms = append(platforms, descriptor.Platform.String())
		if config.OS+"/"+config.Architecture != descriptor.Platform.String() {
			t.Errorf("the image for %s says that it is for %s/%s", descriptor.Platform, config.OS, config.Architecture)
		}
		if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/metacontroller-apiserver"}) {
			t.Errorf("the user is %q, the entry point %v", config.Config.User, config.Config.Entrypoint)
		}
		labels := config.Config.Labels
		if labels["org.opencontainers.image.version"] != "v1.2.3" || labels["org.opencontainers.image.revision"] != "abc" ||
			labels["org.opencontainers.image.created"] != "2026-01-02T03:04:05Z" || labels["org.opencontainers.image.licenses"] != "Apache-2.0" {
			t.Errorf("the labels are %v", labels)
		}
		want, err := os.ReadFile(programs[len(platforms)-1])
		if err != nil {
			t.Fatal(err)
		}
		files := filesOf(t, image)
		if content := files["metacontroller-apiserver"]; len(files) != 1 || !bytes.Equal(content, want) {
			t.Errorf("the image for %s has %d files, and %d bytes of a program of %d", descriptor.Platform, len(files), len(content), len(want))
		}
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("the platforms are %v", platforms)
	}
}

func TestEachPlatformHasItsBillOfMaterials(t *testing.T) {
	index := read(t, packed(t, build(t)))
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 4 {
		t.Fatalf("there are %d manifests, want two images and two statements", len(manifest.Manifests))
	}
	for i, descriptor := range manifest.Manifests[2:] {
		image := manifest.Manifests[i].Digest
		if descriptor.Platform.String() != "unknown/unknown" || descriptor.Annotations["vnd.docker.reference.digest"] != image.String() {
			t.Errorf("statement %d is for %s and about %s", i, descriptor.Platform, descriptor.Annotations["vnd.docker.reference.digest"])
		}
		attached, err := index.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		layers, err := attached.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%d layers, %v", len(layers), err)
		}
		content, err := layers[0].Compressed()
		if err != nil {
			t.Fatal(err)
		}
		var read statement
		if err := json.NewDecoder(content).Decode(&read); err != nil {
			t.Fatal(err)
		}
		if string(read.Predicate) != materials || read.Subject[0].Digest["sha256"] != image.Hex {
			t.Errorf("the statement is %+v", read)
		}
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	programs := build(t)
	one, err := os.ReadFile(packed(t, programs))
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(packed(t, programs))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Error("two archives differ")
	}
}

func TestWhatCannotBePackedIsNamed(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"-version=v1.2.3", "-revision=abc", "-created=2026-01-02T03:04:05Z", "-output=" + filepath.Join(t.TempDir(), "image.tar")}
	if err := run(append(arguments, text)); err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got the error %v, want one with the path", err)
	}
	if err := run(arguments); err == nil {
		t.Error("an image of nothing is packed")
	}
}

// build builds a small program for both platforms.
func build(t *testing.T) (programs []string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		path := filepath.Join(dir, arch)
		command := exec.CommandContext(t.Context(), "go", "build", "-o", path, source)
		command.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if err := os.WriteFile(path+".cdx.json", []byte(materials), 0o600); err != nil {
			t.Fatal(err)
		}
		programs = append(programs, path)
	}
	return programs
}

// packed packs programs as an archive.
func packed(t *testing.T, programs []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	err := run(append([]string{"-version=v1.2.3", "-revision=abc", "-created=2026-01-02T03:04:05Z", "-output=" + path}, programs...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// read returns the index in an archive.
func read(t *testing.T, archive string) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "tar", "-C", dir, "-xf", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	indexes, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := indexes.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	named := manifest.Manifests[0]
	if len(manifest.Manifests) != 1 || named.Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Fatalf("the archive has %d images, the first with %v", len(manifest.Manifests), named.Annotations)
	}
	index, err := indexes.ImageIndex(named.Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func filesOf(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, layer := range layers {
		reader, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for archive := tar.NewReader(reader); ; {
			header, err := archive.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if header.Typeflag != tar.TypeReg || header.Mode != 0o755 || header.Uid != 0 {
				t.Errorf("%s is a %c with mode %o of user %d", header.Name, header.Typeflag, header.Mode, header.Uid)
			}
			if files[header.Name], err = io.ReadAll(archive); err != nil {
				t.Fatal(err)
			}
		}
	}
	return files
}
