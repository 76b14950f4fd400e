// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller/preview"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// parents returns the parents that are reviewed, and whether there are more. The author may get them. Before it
// selects, parents checks the right to list all objects that it selects from: otherwise an answer would reveal to users
// who may not list whether an object has a label or a name.
func (r *reviewing) parents(ctx context.Context) (parents []*object.Object, more bool, err error) {
	controller, _, err := r.subject.controller(ctx)
	if err != nil {
		return nil, false, err
	}
	if r.spec.Parent != nil {
		parents, err = r.named(ctx, controller)
		return parents, false, err
	}
	selector := labels.Everything()
	if r.spec.Parents.LabelSelector != nil {
		if selector, err = metav1.LabelSelectorAsSelector(r.spec.Parents.LabelSelector); err != nil {
			return nil, false, invalid("spec.parents.labelSelector", err)
		}
	}
	after, err := decodeContinue(r.spec.Parents.Continue)
	if err != nil {
		return nil, false, invalid("spec.parents.continue", err)
	}
	if err := r.permit.check(ctx, toSelect(controller.Reach(r.spec.Parents.Namespace))); err != nil {
		return nil, false, err
	}
	parents = slices.DeleteFunc(controller.All(), func(parent *object.Object) bool {
		return r.spec.Parents.Namespace != "" && parent.Namespace != r.spec.Parents.Namespace ||
			!selector.Matches(labels.Set(parent.Labels)) ||
			after != nil && preview.CompareKeys(object.KeyOf(parent), *after) <= 0
	})
	if more = len(parents) > r.limit; more {
		parents = parents[:r.limit]
	}
	return parents, more, r.mayGet(ctx, controller, parents)
}

// named returns the one parent that the spec names.
func (r *reviewing) named(ctx context.Context, controller *preview.Previewer) ([]*object.Object, error) {
	of, err := typeOf(controller, r.spec.Parent)
	if err != nil {
		return nil, invalid("spec.parent", err)
	}
	key := object.Key{GroupKind: of.GroupKind(), NamespacedName: types.NamespacedName{Namespace: r.spec.Parent.Namespace,
		Name: r.spec.Parent.Name}}
	if err := r.permit.check(ctx, []rights.Required{toGet(of, key.Namespace)}); err != nil {
		return nil, err
	}
	parent := controller.Get(key)
	if parent == nil {
		notFound := apierrors.NewNotFound(of.GroupResource(), key.Path())
		notFound.ErrStatus.Message = fmt.Sprintf("the controller does not handle %s: the object does not exist, or the "+
			"controller does not select it", key)
		return nil, notFound
	}
	return []*object.Object{parent}, nil
}

// typeOf returns the type of parents that a name is for.
func typeOf(controller *preview.Previewer, named *v1alpha1.SyncReviewParent) (object.Type, error) {
	var found []object.Type
	var names []string
	for _, of := range controller.Parents {
		names = append(names, fmt.Sprintf("%s of %s", of.Kind, of.GroupVersion()))
		if (named.Kind == "" || named.Kind == of.Kind) && (named.APIVersion == "" ||
			named.APIVersion == of.GroupVersion().String()) {
			found = append(found, of)
		}
	}
	switch {
	case len(found) == 0:
		return object.Type{}, fmt.Errorf("the controller handles %s", strings.Join(names, ", "))
	case len(found) > 1:
		return object.Type{}, fmt.Errorf("the controller handles %s: set kind and apiVersion", strings.Join(names, ", "))
	case found[0].Namespaced != (named.Namespace != ""):
		if found[0].Namespaced {
			return object.Type{}, fmt.Errorf("set namespace: %s is namespaced", found[0])
		}
		return object.Type{}, fmt.Errorf("leave out namespace: %s is cluster-scoped", found[0])
	}
	return found[0], nil
}

// mayGet returns an error unless the author may get the parents.
func (r *reviewing) mayGet(ctx context.Context, controller *preview.Previewer, parents []*object.Object) error {
	var required []rights.Required
	for _, parent := range parents {
		for _, of := range controller.Parents {
			if one := toGet(of, parent.Namespace); of.GroupKind() == parent.GroupVersionKind().GroupKind() &&
				!slices.Contains(required, one) {
				required = append(required, one)
			}
		}
	}
	return r.permit.check(ctx, required)
}

// toSelect returns the rights to select parents among objects.
func toSelect(among []rights.Object) []rights.Required {
	required := make([]rights.Required, len(among))
	for i, of := range among {
		required[i] = rights.Required{Right: rights.Right{Verb: "list", Object: of}, For: "spec.parents"}
	}
	return required
}

func toGet(of object.Type, namespace string) rights.Required {
	return rights.Required{Right: rights.Right{Verb: "get",
		Object: rights.Object{GroupResource: of.GroupResource(), Namespace: namespace}}, For: "the parent"}
}

// continued is the content of a continue token: the last parent of the previous answer.
type continued struct {
	Group     string `json:"g,omitempty"`
	Kind      string `json:"k"`
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"n"`
}

func encodeContinue(last object.Key) string {
	raw, _ := json.Marshal(continued{last.Group, last.Kind, last.Namespace, last.Name}) // texts can always be marshaled
	return base64.RawURLEncoding.EncodeToString(raw)
}

// decodeContinue returns the last parent of the answer before; nil if there is none.
func decodeContinue(token string) (*object.Key, error) {
	if token == "" {
		return nil, nil
	}
	var last continued
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || json.Unmarshal(raw, &last) != nil || last.Kind == "" || last.Name == "" {
		return nil, errors.New("must be the status.continue of an earlier review")
	}
	key := &object.Key{NamespacedName: types.NamespacedName{Namespace: last.Namespace, Name: last.Name}}
	key.Group, key.Kind = last.Group, last.Kind
	return key, nil
}

// invalid returns the error of a field of the spec that only the controller can judge.
func invalid(field string, err error) error {
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return err
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%s: %v", field, err))
}
