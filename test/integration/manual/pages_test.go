// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package manual

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// pages returns the pages that no other test follows.
func pages(t *testing.T) (all []*manual.Page) {
	t.Helper()
	paths, err := manual.Pages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if page := read(t, path); page.FollowedBy == "" && !strings.HasPrefix(path, "artifacts/examples/") {
			all = append(all, page)
		}
	}
	return all
}

// The commands of each page are run in a folder like that of the repository. Pages have the same example, so they
// are followed one after the other.
func TestTheCommandsOfThePagesWork(t *testing.T) {
	t.Parallel()
	t.Run(onPages, func(t *testing.T) { follow(t, onPages) })
	t.Run("metrics", hasEachMetric)
	for _, page := range pages(t) {
		t.Run(page.Path, func(t *testing.T) {
			reader := readerIn(t, "")
			anotherPort(t, reader, "8080")
			anotherPort(t, reader, "8081")
			reader.Folder = checkout(t, reader)
			reader.Follow(t, page)
		})
	}
}

// bases are objects that blocks have parts of.
var bases = map[string]string{
	"CompositeController": `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: part}, spec: {generateSelector: true,
		parentResource: {apiVersion: v1, resource: configmaps}, childResources: [], hooks: {sync: {version: v2, webhook: {url: "http://127.0.0.1/sync"}}}}}`,
	"ClusterRole": `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: part}}`,
}

// The cluster accepts the manifests of each page, and knows each of their fields.
func TestTheClusterAcceptsTheManifestsOfThePages(t *testing.T) {
	applied := 0
	for _, page := range pages(t) {
		for _, block := range page.Blocks {
			if block.Language != "yaml" || block.NotRun != "" || block.RunBy != "" || len(block.Files) > 0 {
				continue
			}
			applied++
			manifest := block.Text
			if block.PartOf != "" {
				manifest = complete(t, page.Where(block), block)
			}
			apply := env.Host.KubectlCommand(context.WithoutCancel(t.Context()), "apply", "--dry-run=server", "--validate=strict", "-f", "-")
			apply.Stdin = strings.NewReader(manifest)
			if out, err := apply.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", page.Where(block), err, out)
			}
		}
	}
	if applied < 5 {
		t.Errorf("only %d manifests were applied", applied)
	}
}

// complete returns an object that a block has a part of.
func complete(t *testing.T, where string, block *manual.Block) string {
	t.Helper()
	base, known := bases[block.PartOf]
	if !known {
		t.Fatalf("%s: add an object of kind %s for its parts", where, block.PartOf)
	}
	whole, err := yaml.YAMLToJSON([]byte(base))
	if err != nil {
		t.Fatal(err)
	}
	part, err := yaml.YAMLToJSON([]byte(block.Text))
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	merged, err := jsonpatch.MergePatch(whole, part)
	if err != nil || !json.Valid(merged) {
		t.Fatalf("%s: %v", where, err)
	}
	return string(merged)
}
