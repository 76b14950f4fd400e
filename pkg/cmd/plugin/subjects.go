// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
)

// subject is what one review, or one row of them, is about.
type subject struct {
	controller *lookup.Controller
	// parent or object is the only parent; both are nil for all.
	parent *v1alpha1.SyncReviewParent
	object []byte
	// found is true if the controller was not named, but is one of those that are for the type of the parent.
	found bool
	// optional is true if the controller need not have the parent, because another may.
	optional bool
}

// isOne reports whether there is one review of the subject, whatever is in the cluster.
func (s *subject) isOne() bool { return !s.found && (s.parent != nil || s.object != nil) }

// subjects returns what arguments and files are about. The first argument may be a controller, the others are
// parents. Controllers and parents in files take the place of those that are stored.
func (p *preview) subjects(ctx context.Context, args []string) ([]subject, error) {
	find, err := p.lookup()
	if err != nil {
		return nil, err
	}
	given, err := p.manifests(find)
	if err != nil {
		return nil, err
	}
	if len(given.controllers) == 0 {
		controller, parents, err := find.Split(ctx, args)
		if err != nil {
			return nil, err
		}
		if args = parents; controller != nil {
			given.controllers = []*lookup.Controller{controller}
		}
	}
	if len(given.controllers) > 0 {
		return p.subjectsOf(find, given, args)
	}
	return p.subjectsOfAny(ctx, find, given.objects, args)
}

// subjectsOf returns what is previewed if the controllers are known.
func (p *preview) subjectsOf(find *lookup.Lookup, given *given, parents []string) (all []subject, err error) {
	ignored := len(given.objects)
	for _, controller := range given.controllers {
		before := len(all)
		for _, argument := range parents {
			parent, err := find.ParentOf(controller, argument)
			if err != nil {
				return nil, err
			}
			all = append(all, subject{controller: controller, parent: parent})
		}
		for _, object := range given.objects {
			if controller.IsFor(object.of) {
				all = append(all, subject{controller: controller, object: object.raw})
				ignored--
			}
		}
		if len(all) == before {
			all = append(all, subject{controller: controller})
		}
	}
	if ignored > 0 {
		_, err = fmt.Fprintf(p.streams.ErrOut, "note: %d of the objects in the files are not for these controllers, and are ignored\n", ignored)
	}
	return all, err
}

// subjectsOfAny returns what is previewed of parents, by each controller that is for their types.
func (p *preview) subjectsOfAny(ctx context.Context, find *lookup.Lookup, objects []givenObject, parents []string) (all []subject, err error) {
	add := func(of schema.GroupResource, parent *v1alpha1.SyncReviewParent, object []byte) error {
		controllers, err := find.ControllersOf(ctx, of)
		for _, controller := range controllers {
			all = append(all, subject{controller: controller, parent: parent, object: object, found: true, optional: len(controllers) > 1})
		}
		return err
	}
	for _, argument := range parents {
		parent, err := find.Parent(argument)
		if err != nil {
			return nil, err
		}
		if err := add(parent.Mapping.Resource.GroupResource(), parent.InReview(), nil); err != nil {
			return nil, err
		}
	}
	for _, object := range objects {
		if err := add(object.of, nil, object.raw); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// given is what the files have.
type given struct {
	controllers []*lookup.Controller
	objects     []givenObject
}

// givenObject is an object that is no controller.
type givenObject struct {
	of  schema.GroupResource
	raw []byte
}

// manifests reads the files. Objects without a namespace are in that of the options.
func (p *preview) manifests(find *lookup.Lookup) (*given, error) {
	read, err := lookup.Read(p.filenames, p.streams.In)
	if err != nil {
		return nil, err
	}
	if len(p.filenames) > 0 && len(read) == 0 {
		return nil, fmt.Errorf("there are no objects in %s", strings.Join(p.filenames, ", "))
	}
	all := &given{}
	for i := range read {
		controller, err := read[i].Controller()
		if err != nil {
			return nil, err
		}
		if controller != nil {
			all.controllers = append(all.controllers, controller)
		}
	}
	read = slices.DeleteFunc(read, func(one lookup.Manifest) bool { return one.GroupVersionKind().Group == v1alpha1.GroupName })
	for i := range read {
		of, err := find.Complete(read[i].Unstructured)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", read[i].Path, err)
		}
		raw, err := json.Marshal(read[i].Object)
		if err != nil {
			return nil, err
		}
		all.objects = append(all.objects, givenObject{of, raw})
	}
	return all, nil
}
