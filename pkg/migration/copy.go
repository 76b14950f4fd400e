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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// version returns the version that accesses a side during a move.
func (s side) version() string {
	if s == inServer {
		return servedVersion
	}
	return copyVersion
}

// copier copies the objects from one side to the other.
type copier struct{ *cluster }

// read lists all objects of some kinds in a version.
func (c *copier) read(ctx context.Context, version string, kinds []kind) (objects, error) {
	all := objects{}
	for _, kind := range kinds {
		list, err := c.dynamic.Resource(kind.in(version)).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("read the %s in version %s: %w", kind.resource, version, err)
		}
		for i := range list.Items {
			of := object{kind, &list.Items[i]}
			all[of.String()] = of
		}
	}
	return all, nil
}

// difference is a change that makes one side equal to the other one.
type difference struct {
	// source is the wanted object; nil if target must be deleted. target is the present object; nil if it must be created.
	source, target *object
	what           string
}

func (d difference) String() string { return d.what }

// compare returns the differences of a target from a source, and the number of objects in the source.
func (c *copier) compare(ctx context.Context, source, target side) (differences []difference, count int, err error) {
	want, err := c.read(ctx, source.version(), kinds())
	if err == nil {
		err = want.deleting() // a copy would not be deleted
	}
	if err != nil {
		return nil, 0, err
	}
	have, err := c.read(ctx, target.version(), kinds())
	if err != nil {
		return nil, 0, err
	}
	for name, of := range want {
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

func (c *copier) copyToServer(ctx context.Context) error {
	return c.copy(ctx, inDefinitions, inServer, c.refuseOthers)
}

func (c *copier) copyToDefinitions(ctx context.Context) error {
	return c.copy(ctx, inServer, inDefinitions, func([]difference) error { return nil })
}

// copy makes the target equal to the source, unless the differences are refused.
func (c *copier) copy(ctx context.Context, source, target side, refuse func([]difference) error) error {
	differences, _, err := c.compare(ctx, source, target)
	if err == nil {
		err = refuse(differences)
	}
	if err == nil {
		err = c.write(ctx, differences, target)
	}
	if err != nil {
		return err
	}
	left, count, err := c.compare(ctx, source, target)
	switch {
	case err != nil:
		return err
	case len(left) > 0:
		return fmt.Errorf("the two sides still differ: %s", text.JoinFirstFunc(maxNamed, left, difference.String))
	}
	c.say("compared %s: the same on both sides", counted(count, "object"))
	return nil
}

// refuseOthers returns an error if the server has objects of its own, which a step would overwrite or leave behind,
// unless DiscardOthers is set.
func (c *copier) refuseOthers(differences []difference) error {
	others := slices.DeleteFunc(slices.Clone(differences), func(of difference) bool { return of.target == nil })
	if len(others) == 0 || c.config.DiscardOthers {
		return nil
	}
	return fmt.Errorf("the server has %s that differ from the definitions, which are authoritative: %s\n"+
		"save what you need with kubectl get -o yaml while the server serves the API, then repeat this with "+
		"--discard-others",
		counted(len(others), "object"), text.JoinFirstFunc(maxNamed, others, difference.String))
}

// write makes differences go. It returns all errors so that users see all objects that are refused.
func (c *copier) write(ctx context.Context, differences []difference, to side) error {
	failed := make([]error, len(differences))
	workqueue.ParallelizeUntil(ctx, parallel, len(differences), func(i int) {
		of := differences[i]
		if of.target != nil {
			failed[i] = c.remove(ctx, *of.target, to)
		}
		if of.source != nil && failed[i] == nil {
			failed[i] = c.create(ctx, *of.source, to)
		}
	})
	return errors.Join(append(failed, ctx.Err())...)
}

// create creates a copy of an object on a side.
func (c *copier) create(ctx context.Context, of object, on side) error {
	client := c.client(of, on)
	made := content(of)
	full := body(made)
	made.SetAPIVersion(group + "/" + on.version())
	made, err := client.Create(ctx, made, metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		return fmt.Errorf("write %s to the %s: %w", of, on, err)
	}
	// The field managers at the source keep their fields. A create request ignores managedFields.
	metadata := map[string]any{"managedFields": of.GetManagedFields()}
	if dropped := differingPaths(body(made), full); on == inDefinitions && len(dropped) > 0 {
		kept, err := json.Marshal(fields{full, body(made)})
		if err != nil {
			return err
		}
		metadata["annotations"] = map[string]any{fieldsAnnotation: string(kept)}
		c.say("%s has fields that Metacontroller does not know: %s", of, strings.Join(dropped, ", "))
	}
	if err := patchMetadata(ctx, client, of.GetName(), metadata); err != nil {
		return fmt.Errorf("write the owners of the fields of %s to the %s: %w", of, on, err)
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
	var err error
	if len(of.GetFinalizers()) > 0 {
		err = patchMetadata(ctx, client, of.GetName(), map[string]any{"finalizers": nil})
	}
	if err == nil {
		err = client.Delete(ctx, of.GetName(), metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: ptr.To(of.GetUID())},
			PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
		})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s from the %s: %w", of, from, err)
	}
	return nil
}

func (c *copier) client(of object, on side) dynamic.ResourceInterface {
	return c.dynamic.Resource(of.in(on.version())).Namespace(of.GetNamespace())
}

// clean deletes the objects of the server that the definitions have, so that none reappears when the server serves the
// API again. Others stay unless DiscardOthers is set.
func (c *copier) clean(ctx context.Context) error {
	differences, _, err := c.compare(ctx, inDefinitions, inServer)
	if err != nil {
		return err
	}
	all, err := c.read(ctx, servedVersion, kinds())
	if err != nil {
		return err
	}
	for _, of := range differences {
		if of.target != nil && !c.config.DiscardOthers {
			c.say("the server keeps its own object: %s", of)
			delete(all, of.target.String())
		}
	}
	var copies []difference
	for _, of := range all {
		copies = append(copies, difference{target: &of})
	}
	if err := c.write(ctx, copies, inServer); err != nil {
		return err
	}
	c.say("removed the copies of %s from the server", counted(len(copies), "object"))
	return nil
}
