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

// version returns the version that accesses a side during a move.
func (s side) version() string {
	if s == inServer {
		return servedVersion
	}
	return copyVersion
}

// difference is a change that makes one side equal to the other one.
type difference struct {
	// source is the wanted object; nil if target must be deleted. target is the present object; nil if it must be created.
	source, target *object
	what           string
}

func (d difference) String() string { return d.what }

// copier copies the objects from one side to the other.
type copier struct {
	*cluster
	definitions *definitionClient
}

// compare returns the differences of a target from a source, and the number of objects in the source.
func (c *copier) compare(ctx context.Context, source, target side) (differences []difference, count int, err error) {
	want, err := c.read(ctx, source.version(), kinds()...)
	if err != nil {
		return nil, 0, err
	}
	have, err := c.read(ctx, target.version(), kinds()...)
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
			return nil, 0, fmt.Errorf(
				"%s is the same object on both sides: a kube-apiserver still serves the previous side", name)
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

// maxRounds bounds the rounds in which objects are written until both sides are the same.
const maxRounds = 3

// copy makes the target equal to the source. It deletes or overwrites other objects of the server only if DiscardOthers
// is set.
func (c *copier) copy(ctx context.Context, source, target side) error {
	for round := 1; ; round++ {
		differences, count, err := c.compare(ctx, source, target)
		if err != nil {
			return err
		}
		if len(differences) == 0 {
			c.say("compared %s: the same on both sides", counted(count, "object"))
			return nil
		}
		if err := c.refuseOthers(differences, target); err != nil && round == 1 {
			return err
		}
		if round > maxRounds {
			return fmt.Errorf("the two sides still differ: %s", enumerate.FirstFunc(maxNamed, differences, difference.String))
		}
		if err := c.writeAll(ctx, differences, target); err != nil {
			return err
		}
	}
}

// refuseOthers returns an error if the server has objects of its own, which a step would overwrite or leave behind.
func (c *copier) refuseOthers(differences []difference, target side) error {
	var others []string
	for _, of := range differences {
		if of.target != nil && target == inServer && !c.config.DiscardOthers {
			others = append(others, of.what)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("the server has %s that differ from the definitions, which are authoritative: %s\n"+
		"save what you need with kubectl get -o yaml while the server serves the API, then repeat this with "+
		"--discard-others",
		counted(len(others), "object"), enumerate.First(maxNamed, others))
}

// writeAll writes the differences, one kind after the other. It returns all errors, so that users see all objects that
// are refused.
func (c *copier) writeAll(ctx context.Context, differences []difference, to side) error {
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
				if err := c.write(ctx, of, to); err != nil {
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

// write creates, updates or deletes one object of a side.
func (c *copier) write(ctx context.Context, of difference, to side) error {
	if of.source == nil {
		return c.remove(ctx, *of.target, to)
	}
	client := c.client(*of.source, to)
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
	// The field managers at the source keep their fields. A create request ignores managedFields.
	metadata := map[string]any{"managedFields": of.source.GetManagedFields()}
	if to == inDefinitions {
		missing, err := keepFields(made, full)
		if err != nil {
			return err
		}
		if missing {
			metadata["annotations"] = map[string]any{fieldsAnnotation: made.GetAnnotations()[fieldsAnnotation]}
			c.say("%s has fields that Metacontroller does not know: %s", of.source,
				strings.Join(differingPaths(body(made), full), ", "))
		}
	}
	if err := patchMetadata(ctx, client, of.source.GetName(), metadata); err != nil {
		return fmt.Errorf("write the owners of the fields of %s to the %s: %w", of.source, to, err)
	}
	return nil
}

// patchMetadata patches an object without its resourceVersion, which changes whenever the server writes the status.
func patchMetadata(ctx context.Context, client dynamic.ResourceInterface, name string, metadata map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	return err
}

// remove deletes an object of a side without waiting for finalizers: the programs behind them watch the other side.
func (c *copier) remove(ctx context.Context, of object, from side) error {
	client := c.client(of, from)
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

func (c *copier) client(of object, on side) dynamic.ResourceInterface {
	return c.dynamic.Resource(of.in(on.version())).Namespace(of.GetNamespace())
}

// cleanAll deletes all objects of the server, so that none reappears when it serves the API again. It returns an error
// if the server has objects that the definitions do not have.
func (c *copier) cleanAll(ctx context.Context) error { return c.clean(ctx, c.refuseOthers) }

// cleanCopies deletes the objects of the server that the definitions have, and keeps others.
func (c *copier) cleanCopies(ctx context.Context) error {
	return c.clean(ctx, func([]difference, side) error { return nil })
}

func (c *copier) clean(ctx context.Context, refuse func([]difference, side) error) error {
	differences, _, err := c.compare(ctx, inDefinitions, inServer)
	if err != nil {
		return err
	}
	if err := refuse(differences, inServer); err != nil {
		return err
	}
	left, err := c.read(ctx, servedVersion, kinds()...)
	if err != nil {
		return err
	}
	if !c.config.DiscardOthers {
		for _, of := range differences {
			if of.target != nil {
				c.say("the server keeps its own object: %s", of)
				delete(left, of.target.String())
			}
		}
	}
	var copies []difference
	for _, of := range left {
		copies = append(copies, difference{target: &of})
	}
	if err := c.writeAll(ctx, copies, inServer); err != nil {
		return err
	}
	c.say("removed %s from the server that the definitions have", counted(len(copies), "object"))
	return nil
}
