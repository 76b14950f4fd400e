// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/registration"
)

//go:embed crds
var manifests embed.FS

func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// definition is a CustomResourceDefinition of Metacontroller.
type definition struct{ *unstructured.Unstructured }

// original returns the definition of a kind as Metacontroller installs it.
func original(of kind) (definition, error) {
	text, err := manifests.ReadFile("crds/" + of.resource + ".yaml")
	if err != nil {
		return definition{}, err
	}
	read := &unstructured.Unstructured{}
	return definition{read}, yaml.Unmarshal(text, &read.Object)
}

// kind returns the kind that a definition defines.
func (d definition) kind() kind {
	all := kinds()
	return all[slices.IndexFunc(all, func(of kind) bool { return of.definition() == d.GetName() })]
}

func (d definition) versions() []any {
	list, _, _ := unstructured.NestedFieldNoCopy(d.Object, "spec", "versions")
	versions, _ := list.([]any)
	return versions
}

func (d definition) setVersions(versions []any) {
	d.Object["spec"].(map[string]any)["versions"] = versions
}

// version returns the version of a name, or nil.
func (d definition) version(name string) map[string]any {
	for _, item := range d.versions() {
		if version, ok := item.(map[string]any); ok && version["name"] == name {
			return version
		}
	}
	return nil
}

// serve sets whether a version is served. It reports whether that is a change.
func (d definition) serve(name string, served bool) bool {
	version := d.version(name)
	if version == nil || version["served"] == served {
		return false
	}
	version["served"] = served
	return true
}

// isHidden reports whether a definition does not serve the API.
func (d definition) isHidden() bool { return !registration.Serves(d.Unstructured, servedVersion) }

// addCopyVersion adds the copyVersion, with the schema of the served one.
func (d definition) addCopyVersion() bool {
	switch {
	case d.version(copyVersion) != nil:
		return d.serve(copyVersion, true)
	case d.version(servedVersion) == nil: // see unfit
		return false
	}
	added := runtime.DeepCopyJSON(d.version(servedVersion))
	added["name"], added["storage"], added["served"] = copyVersion, false, true
	d.setVersions(append(d.versions(), added))
	return true
}

// restore reverts a definition to its state before the migration.
func (d definition) restore() bool {
	all := len(d.versions())
	d.setVersions(slices.DeleteFunc(d.versions(), func(item any) bool {
		return item.(map[string]any)["name"] == copyVersion
	}))
	return d.serve(servedVersion, true) || len(d.versions()) < all
}

// unfit returns why this package cannot copy the objects of a definition; nil if it can.
func (d definition) unfit() error {
	stored := d.version(servedVersion)
	switch {
	case d.GetDeletionTimestamp() != nil:
		return fmt.Errorf("the CustomResourceDefinition %s is being deleted, and its objects with it", d.GetName())
	case stored == nil || stored["storage"] != true:
		return fmt.Errorf("the CustomResourceDefinition %s does not store objects in version %s", d.GetName(), servedVersion)
	}
	return nil
}

// open makes the definitions of the kinds serve the copyVersion. It creates missing definitions, which do not serve the
// API yet.
func (s *switcher) open(ctx context.Context, kinds []kind) error {
	for _, kind := range kinds {
		missing, err := original(kind)
		if err != nil {
			return err
		}
		missing.addCopyVersion()
		missing.serve(servedVersion, false)
		_, err = s.dynamic.Resource(definitions()).Create(ctx, missing.Unstructured, metav1.CreateOptions{})
		switch {
		case err == nil:
			s.say("created the CustomResourceDefinition %s", kind.definition())
		case !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("create the CustomResourceDefinition %s: %w", kind.definition(), err)
		}
	}
	if err := s.changeDefinitions(ctx, definition.addCopyVersion); err != nil {
		return err
	}
	return s.until(ctx, "the CustomResourceDefinitions to serve version "+copyVersion, func(ctx context.Context) error {
		return s.listed(ctx, copyVersion, kinds)
	})
}

func (s *switcher) openAll(ctx context.Context) error { return s.open(ctx, kinds()) }

// show makes the definitions serve the API. After hide, they no longer do, and clients that watch them list again at
// the server.
func (s *switcher) show(ctx context.Context) error {
	return s.changeDefinitions(ctx, func(of definition) bool { return of.serve(servedVersion, true) })
}

func (s *switcher) hide(ctx context.Context) error {
	return s.changeDefinitions(ctx, func(of definition) bool { return of.serve(servedVersion, false) })
}

func (s *switcher) restore(ctx context.Context) error {
	return s.changeDefinitions(ctx, definition.restore)
}

// changeDefinitions updates the existing definitions.
func (s *switcher) changeDefinitions(ctx context.Context, change func(definition) bool) error {
	for _, kind := range kinds() {
		err := s.change(ctx, definitions(), kind.definition(), func(of *unstructured.Unstructured) bool {
			return change(definition{of})
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// listed returns nil if all kinds can be listed in a version.
func (s *switcher) listed(ctx context.Context, version string, kinds []kind) (err error) {
	for _, kind := range kinds {
		_, failed := s.dynamic.Resource(kind.in(version)).List(ctx, metav1.ListOptions{Limit: 1})
		err = errors.Join(err, failed)
	}
	return err
}
