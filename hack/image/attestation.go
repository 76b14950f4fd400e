// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// inTotoMediaType is that of statements about what was built: https://github.com/in-toto/attestation.
	inTotoMediaType types.MediaType = "application/vnd.in-toto+json"
	// bomPredicate says that a statement is a bill of materials in the form of CycloneDX.
	bomPredicate = "https://cyclonedx.org/bom"
)

type statement struct {
	Type          string          `json:"_type"`
	PredicateType string          `json:"predicateType"`
	Subject       []subject       `json:"subject"`
	Predicate     json.RawMessage `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// attestation returns a bill of materials beside an image, as BuildKit puts it into an index
// (https://github.com/moby/buildkit/blob/master/docs/attestations/attestation-storage.md). It is for no platform, so
// that nothing takes it for an image.
func attestation(about release, path string, image v1.Image) (mutate.IndexAddendum, error) {
	none := mutate.IndexAddendum{}
	materials, err := os.ReadFile(path)
	if err != nil {
		return none, err
	}
	digest, err := image.Digest()
	if err != nil {
		return none, err
	}
	content, err := json.Marshal(statement{
		Type: "https://in-toto.io/Statement/v0.1", PredicateType: bomPredicate, Predicate: materials,
		Subject: []subject{{Name: about.name, Digest: map[string]string{digest.Algorithm: digest.Hex}}},
	})
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	attached := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	attached, err = mutate.Append(attached, mutate.Addendum{
		Layer:       static.NewLayer(content, inTotoMediaType),
		Annotations: map[string]string{"in-toto.io/predicate-type": bomPredicate},
	})
	if err != nil {
		return none, err
	}
	return mutate.IndexAddendum{Add: attached, Descriptor: v1.Descriptor{
		Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"},
		Annotations: map[string]string{
			"vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": digest.String(),
		},
	}}, nil
}
