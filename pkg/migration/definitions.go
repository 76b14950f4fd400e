// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"
)

//go:embed crds
var manifests embed.FS

func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// definition is a CustomResourceDefinition of Metacontroller. It has no object if there is no such definition.
type definition struct{ *unstructured.Unstructured }

// original returns the definition of a kind as Metacontroller installs it.
func original(of kind) (definition, error) {
	text, err := manifests.ReadFile("crds/" + of.resource + ".yaml")
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

func (d definition) versions() []any {
	list, _, _ := unstructured.NestedFieldNoCopy(d.Object, "spec", "versions")
	versions, _ := list.([]any)
	return versions
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

// addCopyVersion adds the copyVersion, with the schema of the served one.
func (d definition) addCopyVersion() bool {
	if d.version(copyVersion) != nil {
		return d.serve(copyVersion, true)
	}
	added := runtime.DeepCopyJSON(d.version(servedVersion))
	added["name"], added["storage"], added["served"] = copyVersion, false, true
	d.Object["spec"].(map[string]any)["versions"] = append(d.versions(), added)
	return true
}

// restore reverts a definition to its state before the migration.
func (d definition) restore() bool {
	changed := d.serve(servedVersion, true)
	var left []any
	for _, item := range d.versions() {
		if version, ok := item.(map[string]any); ok && version["name"] == copyVersion {
			changed = true
			continue
		}
		left = append(left, item)
	}
	d.Object["spec"].(map[string]any)["versions"] = left
	return changed
}

// unfit returns why this package cannot copy the objects of a definition; nil if it can.
func (d definition) unfit() error {
	conversion, _, _ := unstructured.NestedString(d.Object, "spec", "conversion", "strategy")
	stored := d.version(servedVersion)
	switch {
	case d.GetDeletionTimestamp() != nil:
		return errors.New("it is being deleted, and its objects with it")
	case conversion == "Webhook":
		return errors.New("it has a conversion webhook, so what is stored may differ from what is served: set " +
			"spec.conversion to {strategy: None}")
	case stored == nil || stored["storage"] != true:
		return fmt.Errorf("it does not store objects in version %s", servedVersion)
	}
	return nil
}

// definitionClient reads and changes the definitions in the cluster.
type definitionClient struct{ *cluster }

func (c *definitionClient) get(ctx context.Context, of kind) (definition, error) {
	found, err := c.dynamic.Resource(definitions()).Get(ctx, of.definition(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return definition{}, nil
	}
	if err != nil {
		return definition{}, fmt.Errorf("read the CustomResourceDefinition %s: %w", of.definition(), err)
	}
	return definition{found}, nil
}

// change updates the existing definitions.
func (c *definitionClient) change(ctx context.Context, change func(definition) bool) error {
	for _, kind := range kinds() {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			found, err := c.get(ctx, kind)
			if err != nil || found.Unstructured == nil || !change(found) {
				return err
			}
			_, err = c.dynamic.Resource(definitions()).Update(ctx, found.Unstructured, metav1.UpdateOptions{})
			return err
		})
		if err != nil {
			return fmt.Errorf("change the CustomResourceDefinition %s: %w", kind.definition(), err)
		}
	}
	return nil
}

// open makes the definitions serve the copyVersion. If create is true, it creates missing definitions, which do not
// serve the API yet.
func (c *definitionClient) open(ctx context.Context, create bool) error {
	for _, kind := range kinds() {
		found, err := c.get(ctx, kind)
		if err != nil {
			return err
		}
		if found.Unstructured != nil || !create {
			continue
		}
		missing, err := original(kind)
		if err != nil {
			return err
		}
		missing.addCopyVersion()
		missing.serve(servedVersion, false)
		_, err = c.dynamic.Resource(definitions()).Create(ctx, missing.Unstructured, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the CustomResourceDefinition %s: %w", kind.definition(), err)
		}
		c.say("created the CustomResourceDefinition %s", kind.definition())
	}
	if err := c.change(ctx, definition.addCopyVersion); err != nil {
		return err
	}
	return c.until(ctx, fmt.Sprintf("the CustomResourceDefinitions to serve version %s", copyVersion),
		func(ctx context.Context) error {
			for _, kind := range kinds() {
				found, err := c.get(ctx, kind)
				if err != nil {
					return err
				}
				if found.Unstructured == nil {
					continue
				}
				if _, err := c.dynamic.Resource(kind.in(copyVersion)).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
					return err
				}
			}
			return nil
		})
}

// reminderInterval is the interval at which untilDeleted annotates a definition that is being deleted, which makes
// kube-apiserver retry: it does not retry by itself if it could not list the objects when the deletion began.
const reminderInterval = 5 * time.Second

// untilDeleted waits until a definition that is being deleted is gone.
func (c *definitionClient) untilDeleted(ctx context.Context, of kind) error {
	reminded := time.Now()
	return c.until(ctx, "the deletion of the CustomResourceDefinition "+of.definition(), func(ctx context.Context) error {
		found, err := c.get(ctx, of)
		if err != nil || found.Unstructured == nil {
			return err
		}
		if time.Since(reminded) > reminderInterval {
			reminded = time.Now()
			found.SetAnnotations(map[string]string{group + "/deletion-reminder": reminded.UTC().Format(time.RFC3339)})
			_, err := c.dynamic.Resource(definitions()).Update(ctx, found.Unstructured, metav1.UpdateOptions{})
			if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return errors.New("it is still there")
	})
}
