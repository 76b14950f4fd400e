// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/act"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// absentUID stands for the UID of a parent that does not exist. Children that refer to it are accepted by the host
// in a dry run.
const absentUID = "00000000-0000-0000-0000-000000000000"

// Reach returns where parents can be: for each of their types, the namespace or, if it is empty, all namespaces
// of the controller. With a namespace, it leaves out cluster-scoped types.
func (p *Previewer) Reach(namespace string) (all []rights.Object) {
	within := p.Namespaces.Names()
	if namespace != "" {
		within = []string{namespace}
	}
	for _, of := range p.Parents {
		if namespace == "" || of.Namespaced {
			all = append(all, rights.ObjectsOf(of.GroupResource(), of.Namespaced, within)...)
		}
	}
	return all
}

// VersionOf returns the apiVersion in which the controller handles a kind; the group alone of a kind
// that it does not handle.
func (p *Previewer) VersionOf(kind schema.GroupKind) string {
	for _, of := range slices.Concat(p.Children, p.Parents) {
		if of.GroupKind() == kind {
			return of.GroupVersion().String()
		}
	}
	return kind.Group
}

// All returns the parents that the caches show, ordered by kind, namespace and name.
func (p *Previewer) All() []*object.Object {
	parents := p.Planner.Observer.Parents()
	slices.SortFunc(parents, func(a, b *object.Object) int { return CompareKeys(object.KeyOf(a), object.KeyOf(b)) })
	return parents
}

// CompareKeys orders keys by kind, namespace and name.
func CompareKeys(a, b object.Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name))
}

// Get returns the parent of a name; nil if the caches show none.
func (p *Previewer) Get(key object.Key) *object.Object { return p.Planner.Observer.Get(key) }

// GivenParent is a parent that need not exist.
type GivenParent struct {
	*object.Object
	// Exists is true if there is a parent of its name.
	Exists bool
	// Notes describe what is unknown about the parent, and contain the warnings of the host's dry run.
	Notes []string
}

// AsParent returns a parent as it would be if it were created like that or, if it exists, updated to that. It sends a
// dry-run request to the host with the permissions of the controller, so the result has defaults and the changes of
// admission. Before, mayWrite returns an error unless the user of the preview may store an object of this type and
// namespace.
func (p *Previewer) AsParent(
	ctx context.Context, raw []byte, mayWrite func(of object.Type, namespace string, exists bool) error,
) (*GivenParent, error) {
	given, err := object.Parse(raw)
	if err != nil {
		return nil, err
	}
	of, err := p.typeOfParent(given)
	if err != nil {
		return nil, err
	}
	live, err := p.Actor.Writer.Get(ctx, of, given.Key())
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("read %s: %w", given, err)
	}
	if err := mayWrite(of, given.Namespace, live != nil); err != nil {
		return nil, err
	}
	var content map[string]any
	if err := utiljson.Unmarshal(raw, &content); err != nil {
		return nil, err
	}
	if live == nil {
		asCreated(content)
	} else if err := asUpdated(content, live, of); err != nil {
		return nil, err
	}
	parent := &GivenParent{Exists: live != nil}
	if parent.Object, err = parse(content); err != nil {
		return nil, err
	}
	return parent, p.tryParent(ctx, of, parent)
}

// tryParent asks the host to store a parent in a dry run. An error means that it would refuse it.
func (p *Previewer) tryParent(ctx context.Context, of object.Type, parent *GivenParent) error {
	writer := p.Actor.Writer.DryRun()
	ctx, warnings := host.CollectWarnings(ctx)
	var stored *object.Object
	var err error
	if parent.Exists {
		stored, err = writer.Update(ctx, of, parent.Key(), parent.JSON())
	} else {
		stored, err = writer.Create(ctx, of, parent.Namespace, parent.JSON())
	}
	switch {
	case act.LacksRight(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err):
		parent.Notes = append(parent.Notes, fmt.Sprintf("the dry run that defaults and admits the object failed: %v", err))
		return nil
	case err != nil:
		return err
	}
	for _, text := range warnings.Texts() {
		parent.Notes = append(parent.Notes, "the cluster returned a warning about the object: "+text)
	}
	content, err := stored.Decode()
	if err != nil {
		return err
	}
	if !parent.Exists {
		asCreated(content)
	}
	parent.Object, err = parse(content)
	return err
}

// parse returns decoded JSON as an object.
func parse(content map[string]any) (*object.Object, error) {
	canonical, err := object.Canonical(content)
	if err != nil {
		return nil, err
	}
	return object.Parse(canonical)
}

// typeOfParent returns the type of parents that an object is of.
func (p *Previewer) typeOfParent(given *object.Object) (object.Type, error) {
	types := p.Parents
	i := slices.IndexFunc(types, func(of object.Type) bool { return of.GroupVersionKind() == given.GroupVersionKind() })
	switch {
	case i < 0:
		names := make([]string, len(types))
		for i, of := range types {
			names[i] = fmt.Sprintf("%s of %s", of.Kind, of.GroupVersion())
		}
		return object.Type{}, fmt.Errorf("it is %q of %q, but the controller handles %s", given.Kind, given.APIVersion,
			strings.Join(names, ", "))
	case given.Name == "":
		return object.Type{}, fmt.Errorf("it has no metadata.name")
	case types[i].Namespaced != (given.Namespace != ""):
		if types[i].Namespaced {
			return object.Type{}, fmt.Errorf("%s is namespaced: set metadata.namespace", types[i])
		}
		return object.Type{}, fmt.Errorf("%s is cluster-scoped: remove metadata.namespace %q", types[i], given.Namespace)
	}
	return types[i], nil
}

// asCreated adds to a new object the fields that the host would add, as far as syncs depend on them.
func asCreated(content map[string]any) {
	created := unstructured.Unstructured{Object: content}
	created.SetUID(absentUID)
	created.SetGeneration(1)
	created.SetResourceVersion("")
	created.SetDeletionTimestamp(nil)
	created.SetManagedFields(nil)
}

// asUpdated sets the fields of an object that an update does not change.
func asUpdated(content map[string]any, live *object.Object, of object.Type) error {
	have, err := live.Decode()
	if err != nil {
		return err
	}
	metadata, _ := content["metadata"].(map[string]any)
	had, _ := have["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, name := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		if value, there := had[name]; there {
			metadata[name] = value
		} else {
			delete(metadata, name)
		}
	}
	for _, name := range []string{"finalizers", "ownerReferences"} {
		if _, given := metadata[name]; !given && had[name] != nil {
			metadata[name] = had[name] // manifests usually leave these to controllers
		}
	}
	content["metadata"] = metadata
	if _, given := content["status"]; of.StatusSubresource || !given {
		delete(content, "status")
		if status, there := have["status"]; there {
			content["status"] = status
		}
	}
	return raiseGeneration(content, have, live)
}

// raiseGeneration raises the generation if the host would, because the content changes.
func raiseGeneration(content, had map[string]any, live *object.Object) error {
	before, err := contentHash(had)
	if err != nil {
		return err
	}
	after, err := contentHash(content)
	if err == nil && live.Generation > 0 && before != after {
		of := unstructured.Unstructured{Object: content}
		of.SetGeneration(live.Generation + 1)
	}
	return err
}

// contentHash returns the hash of an object without its metadata and status. The hash does not depend on the order of
// the fields.
func contentHash(content map[string]any) (uint64, error) {
	parsed, err := parse(content)
	if err != nil {
		return 0, err
	}
	return parsed.ContentHash(), nil
}
