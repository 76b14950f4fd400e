// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
)

// version returns the version by which a side is reached while objects are moved.
func (s side) version() string {
	if s == inServer {
		return servedVersion
	}
	return copyVersion
}

// difference is what one side must change to be as the other one.
type difference struct {
	// source is what there must be; nil if it must be deleted. target is what there is; nil if it must be created.
	source, target *object
	what           string
}

func (d difference) String() string { return d.what }

// compare returns how the objects of a target differ from those of a source, and how many there are in the source.
func (m *Migration) compare(ctx context.Context, source, target side) (differences []difference, count int, err error) {
	want, err := m.read(ctx, source.version(), kinds()...)
	if err != nil {
		return nil, 0, err
	}
	have, err := m.read(ctx, target.version(), kinds()...)
	if err != nil {
		return nil, 0, err
	}
	for name, of := range want {
		if of.GetDeletionTimestamp() != nil {
			return nil, 0, fmt.Errorf("%s is being deleted, and a copy would not be: wait until it is gone", name)
		}
		is, exists := have[name]
		if !exists {
			differences = append(differences, difference{&of, nil, name + " is missing"})
			continue
		}
		if is.GetUID() == of.GetUID() {
			return nil, 0, fmt.Errorf("%s is the same object on both sides: a kube-apiserver still leads to "+
				"the former one", name)
		}
		if paths := differingPaths(content(of).Object, content(is).Object); len(paths) > 0 {
			differences = append(differences, difference{&of, &is, name + " differs in " + strings.Join(paths, ", ")})
		}
	}
	for name, is := range have {
		if _, wanted := want[name]; !wanted {
			differences = append(differences, difference{nil, &is, name + " is only there"})
		}
	}
	slices.SortFunc(differences, func(a, b difference) int { return strings.Compare(a.what, b.what) })
	return differences, len(want), nil
}

// maxRounds is how often objects are written until both sides are the same.
const maxRounds = 3

// copy makes the target as the source is. What the server has and the definitions do not is deleted or overwritten
// only if that is wanted.
func (m *Migration) copy(ctx context.Context, source, target side) error {
	for round := 1; ; round++ {
		differences, count, err := m.compare(ctx, source, target)
		if err != nil {
			return err
		}
		if len(differences) == 0 {
			m.say("compared %s: the same on both sides", counted(count, "object"))
			return nil
		}
		if err := m.refuseOthers(differences, target); err != nil && round == 1 {
			return err
		}
		if round > maxRounds {
			return fmt.Errorf("the two sides still differ: %s", enumerate.FirstFunc(maxNamed, differences, difference.String))
		}
		if err := m.writeAll(ctx, differences, target); err != nil {
			return err
		}
	}
}

// refuseOthers returns an error about what the server has of its own, which a step would overwrite or leave behind.
func (m *Migration) refuseOthers(differences []difference, target side) error {
	var others []string
	for _, of := range differences {
		if of.target != nil && target == inServer && !m.config.DiscardOthers {
			others = append(others, of.what)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("the server has %s that differ from the definitions, whose objects count: %s\n"+
		"save what you need of them with kubectl get -o yaml while the server serves the API, then repeat this with "+
		"--discard-others",
		counted(len(others), "object"), enumerate.First(maxNamed, others))
}

// writeAll writes what differs, the kinds one after the other. It returns all errors, so that one reads of all
// objects that are refused.
func (m *Migration) writeAll(ctx context.Context, differences []difference, to side) error {
	var mu sync.Mutex
	var failed []error
	for _, kind := range kinds() {
		var group errgroup.Group
		group.SetLimit(parallel)
		for _, of := range differences {
			if of.kind() != kind {
				continue
			}
			group.Go(func() error {
				if err := m.write(ctx, of, to); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = append(failed, err)
				}
				return nil
			})
		}
		_ = group.Wait() // it returns no error
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	slices.SortFunc(failed, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(failed...)
}

func (d difference) kind() kind {
	if d.source != nil {
		return d.source.kind
	}
	return d.target.kind
}

// write makes one object of a side what it must be.
func (m *Migration) write(ctx context.Context, of difference, to side) error {
	if of.source == nil {
		return m.remove(ctx, *of.target, to)
	}
	client := m.client(*of.source, to)
	made := content(*of.source)
	full := body(made)
	made.SetAPIVersion(group + "/" + to.version())
	var err error
	if of.target == nil {
		made, err = client.Create(ctx, made, metav1.CreateOptions{FieldManager: manager})
	} else {
		made.SetResourceVersion(of.target.GetResourceVersion())
		made.SetUID(of.target.GetUID())
		made, err = client.Update(ctx, made, metav1.UpdateOptions{FieldManager: manager})
	}
	if err != nil {
		return fmt.Errorf("write %s to the %s: %w", of.source, to, err)
	}
	// Who applies the object on the source's side goes on to own its fields. A creation does not take owners over.
	metadata := map[string]any{"managedFields": of.source.GetManagedFields()}
	if to == inDefinitions {
		missing, err := keepFields(made, full)
		if err != nil {
			return err
		}
		if missing {
			metadata["annotations"] = map[string]any{fieldsAnnotation: made.GetAnnotations()[fieldsAnnotation]}
			m.say("%s has fields that Metacontroller does not know: %s", of.source,
				strings.Join(differingPaths(body(made), full), ", "))
		}
	}
	if err := patchMetadata(ctx, client, of.source.GetName(), metadata); err != nil {
		return fmt.Errorf("write the owners of the fields of %s to the %s: %w", of.source, to, err)
	}
	return nil
}

// patchMetadata patches an object without regard to its resourceVersion, which changes with the status that the
// server writes.
func patchMetadata(ctx context.Context, client dynamic.ResourceInterface, name string, metadata map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}

// remove deletes an object of a side at once: its finalizers are those of programs that deal with the other side.
func (m *Migration) remove(ctx context.Context, of object, from side) error {
	client := m.client(of, from)
	if len(of.GetFinalizers()) > 0 {
		err := patchMetadata(ctx, client, of.GetName(), map[string]any{"finalizers": nil})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the finalizers of %s from the %s: %w", of, from, err)
		}
	}
	err := client.Delete(ctx, of.GetName(), metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: ptr.To(of.GetUID())},
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s from the %s: %w", of, from, err)
	}
	return nil
}

func (m *Migration) client(of object, on side) dynamic.ResourceInterface {
	return m.dynamic.Resource(of.in(on.version())).Namespace(of.GetNamespace())
}

// cleanAll removes all objects from the server once the definitions have them, so that none comes alive there another
// time. It returns an error if the server has others.
func (m *Migration) cleanAll(ctx context.Context) error { return m.clean(ctx, m.refuseOthers) }

// cleanCopies removes from the server what the definitions have, and leaves what else it has.
func (m *Migration) cleanCopies(ctx context.Context) error {
	return m.clean(ctx, func([]difference, side) error { return nil })
}

func (m *Migration) clean(ctx context.Context, refuse func([]difference, side) error) error {
	differences, _, err := m.compare(ctx, inDefinitions, inServer)
	if err != nil {
		return err
	}
	if err := refuse(differences, inServer); err != nil {
		return err
	}
	left, err := m.read(ctx, servedVersion, kinds()...)
	if err != nil {
		return err
	}
	if !m.config.DiscardOthers {
		for _, of := range differences {
			if of.target != nil {
				m.say("the server keeps what it has of its own: %s", of)
				delete(left, of.target.String())
			}
		}
	}
	var copies []difference
	for _, of := range left {
		copies = append(copies, difference{target: &of})
	}
	if err := m.writeAll(ctx, copies, inServer); err != nil {
		return err
	}
	m.say("removed %s from the server, which the definitions have", counted(len(copies), "object"))
	return nil
}
