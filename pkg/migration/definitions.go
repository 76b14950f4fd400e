// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"embed"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"
)

// originals are the CustomResourceDefinitions of Metacontroller 4.17.
//
//go:embed crds/*.yaml
var originals embed.FS

// definition is a CustomResourceDefinition.
type definition struct{ *unstructured.Unstructured }

// original returns the definition of a kind as Metacontroller 4.17 has it.
func original(of kind) (definition, error) {
	text, err := originals.ReadFile("crds/" + of.resource + ".yaml")
	if err != nil {
		return definition{}, err
	}
	encoded, err := yaml.YAMLToJSON(text)
	if err != nil {
		return definition{}, err
	}
	read := &unstructured.Unstructured{}
	return definition{read}, read.UnmarshalJSON(encoded)
}

// versions returns the versions, which may be changed.
func (d definition) versions() []map[string]any {
	list, _, _ := unstructured.NestedFieldNoCopy(d.Object, "spec", "versions")
	items, _ := list.([]any)
	var versions []map[string]any
	for _, item := range items {
		if version, ok := item.(map[string]any); ok {
			versions = append(versions, version)
		}
	}
	return versions
}

func (d definition) setVersions(versions []map[string]any) {
	items := make([]any, len(versions))
	for i, version := range versions {
		items[i] = version
	}
	d.Object["spec"].(map[string]any)["versions"] = items
}

// version returns the version of a name; nil if there is none.
func (d definition) version(name string) map[string]any {
	for _, version := range d.versions() {
		if version["name"] == name {
			return version
		}
	}
	return nil
}

func (d definition) serves(name string) bool {
	version := d.version(name)
	return version != nil && version["served"] == true
}

// serve has a version served, or not. It reports whether that is a change.
func (d definition) serve(name string, served bool) bool {
	version := d.version(name)
	if version == nil || version["served"] == served {
		return false
	}
	version["served"] = served
	return true
}

// addCopyVersion adds the version by which objects are read when the other one leads to this server. It has the same schema. It
// reports whether that is a change.
func (d definition) addCopyVersion() bool {
	if d.version(copyVersion) != nil {
		return d.serve(copyVersion, true)
	}
	added := runtime.DeepCopyJSON(d.version(servedVersion))
	added["name"], added["storage"], added["served"] = copyVersion, false, true
	d.setVersions(append(d.versions(), added))
	return true
}

// removeCopyVersion removes it. It reports whether that is a change.
func (d definition) removeCopyVersion() bool {
	var left []map[string]any
	for _, version := range d.versions() {
		if version["name"] != copyVersion {
			left = append(left, version)
		}
	}
	changed := len(left) < len(d.versions())
	d.setVersions(left)
	return changed
}

// getDefinition returns the definition of a kind; nil in it if there is none.
func (m *Migration) getDefinition(ctx context.Context, of kind) (definition, error) {
	found, err := m.dynamic.Resource(definitions()).Get(ctx, of.definition(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return definition{}, nil
	}
	if err != nil {
		return definition{}, fmt.Errorf("read the CustomResourceDefinition %s: %w", of.definition(), err)
	}
	return definition{found}, nil
}

// changeDefinitions changes the definitions that there are, and reports whether there was anything to change. It returns when the
// cluster has taken the change over.
func (m *Migration) changeDefinitions(ctx context.Context, change func(definition) bool) (changed bool, err error) {
	for _, kind := range kinds() {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			found, err := m.getDefinition(ctx, kind)
			if err != nil || found.Unstructured == nil || !change(found) {
				return err
			}
			changed = true
			_, err = m.dynamic.Resource(definitions()).Update(ctx, found.Unstructured, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return changed, fmt.Errorf("change the CustomResourceDefinition %s: %w", kind.definition(), err)
		}
	}
	return changed, nil
}

// ensureDefinitions creates the definitions that there are not, without the version that everybody uses.
func (m *Migration) ensureDefinitions(ctx context.Context) error {
	for _, kind := range kinds() {
		missing, err := original(kind)
		if err != nil {
			return err
		}
		missing.addCopyVersion()
		missing.serve(servedVersion, false)
		_, err = m.dynamic.Resource(definitions()).Create(ctx, missing.Unstructured, metav1.CreateOptions{})
		if err == nil {
			m.say("created the CustomResourceDefinition %s", kind.definition())
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the CustomResourceDefinition %s: %w", kind.definition(), err)
		}
	}
	return nil
}

// addCopyVersions has the definitions that there are serve the version by which they can be read.
func (m *Migration) addCopyVersions(ctx context.Context) error {
	added, err := m.changeDefinitions(ctx, definition.addCopyVersion)
	if err != nil {
		return err
	}
	if added {
		m.say("the CustomResourceDefinitions serve the version %s, too", copyVersion)
	}
	return m.untilCopyVersionIsServed(ctx)
}

// untilCopyVersionIsServed waits until objects of all kinds can be read from the definitions.
func (m *Migration) untilCopyVersionIsServed(ctx context.Context) error {
	for _, kind := range kinds() {
		err := m.until(ctx, fmt.Sprintf("the serving of %s in version %s", kind.definition(), copyVersion), func(ctx context.Context) error {
			found, err := m.getDefinition(ctx, kind)
			if err != nil || found.Unstructured == nil {
				return err
			}
			_, err = m.dynamic.Resource(kind.in(copyVersion)).List(ctx, metav1.ListOptions{Limit: 1})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fits returns why objects of a definition cannot be copied; nil if they can.
func (d definition) fits(of kind) error {
	scope, _, _ := unstructured.NestedString(d.Object, "spec", "scope")
	conversion, _, _ := unstructured.NestedString(d.Object, "spec", "conversion", "strategy")
	stored := d.version(servedVersion)
	switch {
	case d.GetDeletionTimestamp() != nil:
		return errors.New("it is being deleted, and its objects with it")
	case conversion == "Webhook":
		return errors.New("it has a conversion webhook, so what is stored may differ from what is served: set spec.conversion to {strategy: None} if all versions have the same fields")
	case stored == nil:
		return fmt.Errorf("it has no version %s", servedVersion)
	case stored["storage"] != true:
		return fmt.Errorf("it stores objects in another version than %s", servedVersion)
	case (scope == "Namespaced") != of.namespaced:
		return fmt.Errorf("its scope is %s", scope)
	}
	for _, version := range d.versions() {
		if name := version["name"]; name != servedVersion && name != copyVersion {
			return fmt.Errorf("it has the version %v, which this server does not serve", name)
		}
	}
	return nil
}
