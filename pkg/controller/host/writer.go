// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/managedfields"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// Writer changes objects of the host. It bounds how many writes are under way at a time.
type Writer struct {
	client *Client
	slots  *slots
	// owner is the controller that the writes are for.
	owner string
	// user is the user that requests are made as; empty is the server itself.
	user string
	// dryRun makes the host store nothing.
	dryRun bool
}

// NewWriter returns a writer that runs at most parallel writes at a time. The process has one. See For for the writers
// of its controllers.
func NewWriter(client *Client, parallel int) *Writer {
	return &Writer{client: client, slots: newSlots(parallel)}
}

// For returns a writer for the writes of one controller. It shares the bound with the other writers
// fairly: a controller starts a write only while it has fewer under way than there are free
// slots, so one whose writes are slow leaves room for the others.
func (w *Writer) For(controller string) *Writer {
	of := *w
	of.owner = controller
	return &of
}

// As returns a writer that makes all its requests as an account. It shares the connections and the
// bound with the other writers.
func (w *Writer) As(account Account) *Writer {
	of := *w
	of.user = account.username()
	return &of
}

// DryRun returns a writer that asks the host to do everything but store the results. Its requests have a
// share of the bound of their own.
func (w *Writer) DryRun() *Writer {
	of := *w
	of.owner, of.dryRun = w.owner+" (dry run)", true
	return &of
}

// Managers returns the field managers of the writer.
func (w *Writer) Managers() managedfields.Managers {
	return managedfields.Managers{Update: FieldManager, Apply: w.client.applier}
}

// Get reads an object from the host itself, past all caches.
func (w *Writer) Get(ctx context.Context, of object.Type, name types.NamespacedName) (*object.Object, error) {
	return w.client.parse(impersonate(named(w.client.rest.Get(), of, name), w.user).Do(ctx))
}

// Metadata reads the metadata of an object from the host itself, with the managedFields that
// objects from caches lack.
func (w *Writer) Metadata(ctx context.Context, of object.Type, name types.NamespacedName) (*metav1.ObjectMeta, error) {
	body, err := bodyOf(impersonate(named(w.client.rest.Get(), of, name), w.user).Do(ctx))
	if err != nil {
		return nil, err
	}
	metadata := &metav1.ObjectMeta{}
	if err := json.Unmarshal(object.Lookup(body, "metadata"), metadata); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return metadata, nil
}

// Create creates an object from its JSON.
func (w *Writer) Create(ctx context.Context, of object.Type, namespace string, body []byte) (*object.Object, error) {
	return w.write(ctx, w.create(of, namespace, body))
}

// TryCreate is a dry run of Create: it returns the result and changes nothing. A write that follows has the same
// warnings, so these are dropped.
func (w *Writer) TryCreate(ctx context.Context, of object.Type, namespace string, body []byte) (*object.Object, error) {
	return w.DryRun().write(withoutWarnings(ctx), w.create(of, namespace, body))
}

func (w *Writer) create(of object.Type, namespace string, body []byte) *rest.Request {
	return at(w.client.rest.Post(), of.GroupVersionResource, namespace).SetHeader("Content-Type", jsonMediaType).Body(body)
}

// Update replaces an object with its JSON, which has the resource version that it is based on.
func (w *Writer) Update(
	ctx context.Context, of object.Type, name types.NamespacedName, body []byte,
) (*object.Object, error) {
	return w.write(ctx, named(w.client.rest.Put(), of, name).SetHeader("Content-Type", jsonMediaType).Body(body))
}

// UpdateStatus replaces the status of an object, through the subresource if the type has one.
func (w *Writer) UpdateStatus(
	ctx context.Context, of object.Type, name types.NamespacedName, body []byte,
) (*object.Object, error) {
	request := named(w.client.rest.Put(), of, name)
	if of.StatusSubresource {
		request = request.SubResource("status")
	}
	return w.write(ctx, request.SetHeader("Content-Type", jsonMediaType).Body(body))
}

// Patch changes an object with a JSON merge patch.
func (w *Writer) Patch(
	ctx context.Context, of object.Type, name types.NamespacedName, patch []byte,
) (*object.Object, error) {
	return w.write(ctx, named(w.client.rest.Patch(types.MergePatchType), of, name).Body(patch))
}

// PatchJSON changes an object with a JSON patch.
func (w *Writer) PatchJSON(
	ctx context.Context, of object.Type, name types.NamespacedName, patch []byte,
) (*object.Object, error) {
	return w.write(ctx, named(w.client.rest.Patch(types.JSONPatchType), of, name).Body(patch))
}

// Apply merges a configuration, in JSON, into an object by server-side apply. The host creates the
// object if it does not exist. Apply takes over fields that other managers own.
func (w *Writer) Apply(
	ctx context.Context, of object.Type, name types.NamespacedName, configuration []byte,
) (*object.Object, error) {
	return w.send(ctx, w.apply(of, name, configuration))
}

// TryApply is a dry run of Apply: it returns the result and changes nothing. Its warnings are dropped, as in
// TryCreate.
func (w *Writer) TryApply(
	ctx context.Context, of object.Type, name types.NamespacedName, configuration []byte,
) (*object.Object, error) {
	return w.DryRun().send(withoutWarnings(ctx), w.apply(of, name, configuration))
}

func (w *Writer) apply(of object.Type, name types.NamespacedName, configuration []byte) *rest.Request {
	return named(w.client.rest.Patch(types.ApplyYAMLPatchType), of, name).
		Param("fieldManager", w.client.applier).Param("force", "true").Body(configuration)
}

// Delete deletes the object if it has this UID. The host deletes its dependents in the background.
func (w *Writer) Delete(ctx context.Context, of object.Type, name types.NamespacedName, uid types.UID) error {
	options := &metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &metav1.Preconditions{UID: &uid},
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	}
	if w.dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return err
	}
	if err := w.slots.acquire(ctx, w.owner); err != nil {
		return err
	}
	defer w.slots.release(w.owner)
	request := named(w.client.rest.Delete(), of, name).SetHeader("Content-Type", jsonMediaType).Body(body)
	if w.dryRun {
		request = request.Param("dryRun", metav1.DryRunAll) // for those who read logs; the host reads the body
	}
	return impersonate(request, w.user).Do(ctx).Error()
}

func (w *Writer) write(ctx context.Context, request *rest.Request) (*object.Object, error) {
	return w.send(ctx, request.Param("fieldManager", FieldManager))
}

func (w *Writer) send(ctx context.Context, request *rest.Request) (*object.Object, error) {
	if err := w.slots.acquire(ctx, w.owner); err != nil {
		return nil, err
	}
	defer w.slots.release(w.owner)
	if w.dryRun {
		request = request.Param("dryRun", metav1.DryRunAll)
	}
	return w.client.parse(impersonate(request, w.user).Do(ctx))
}
