// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/hosted"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
)

// resources are the resources of the kinds of controllers.
var resources = map[string]string{"CompositeController": "compositecontrollers", "DecoratorController": "decoratorcontrollers"}

// newController returns an empty controller object of a kind.
func newController(kind string) hosted.ControllerObject {
	if kind == "CompositeController" {
		return &v1alpha1.CompositeController{}
	}
	return &v1alpha1.DecoratorController{}
}

// candidate returns the controller object that the author of the review would have if it were created
// with the candidate or, if it is stored, updated to it. It asks the own API to do that in a dry run, as
// the author: then the author's rights, the validation and all admission speak as they would.
func (r *reviewing) candidate(ctx context.Context, stored hosted.ControllerObject) (hosted.ControllerObject, error) {
	warned := &warnings{}
	client, err := r.clientOfAuthor(warned)
	if err != nil {
		return nil, err
	}
	result, before := hosted.ControllerObject(nil), hosted.ControllerObject(nil)
	if stored == nil {
		result, err = r.tryCreate(ctx, client)
	} else {
		result, before, err = r.tryUpdate(ctx, client, stored)
	}
	r.warnings = warned.texts
	if err != nil {
		return nil, aboutCandidate(err)
	}
	// An unchanged spec needs no rights, so its acceptance proves none. A changed spec has another generation.
	r.isAuthor = before == nil || result.GetGeneration() != before.GetGeneration()
	return result, nil
}

// mayUpdate returns an error unless the author of the review may update the stored controller object: by the roles and
// by the policies of the cluster, which know what is whose. A request of one's own tells the hook, with the credentials
// of the controller, what the controller does not.
func (r *reviewing) mayUpdate(ctx context.Context, stored hosted.ControllerObject) error {
	client, err := r.clientOfAuthor(&warnings{})
	if err != nil {
		return err
	}
	_, _, err = r.tryUpdate(ctx, client, stored)
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err
	}
	about := status.ErrStatus.DeepCopy()
	about.Message = "spec.request requires what an update of the controller requires: " + about.Message
	return &apierrors.StatusError{ErrStatus: *about}
}

func (r *reviewing) tryCreate(ctx context.Context, client rest.Interface) (hosted.ControllerObject, error) {
	manifest, err := r.newManifest()
	if err != nil {
		return nil, err
	}
	return r.send(ctx, client.Post(), manifest)
}

// tryUpdate tries to update the stored controller object. If its status was written after it was read, the update is a
// conflict: then the object is read again, and the update is tried again. Before is the object that it was tried with.
func (r *reviewing) tryUpdate(
	ctx context.Context, client rest.Interface, stored hosted.ControllerObject,
) (result, before hosted.ControllerObject, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		manifest, err := r.updatedManifest(stored)
		if err != nil {
			return err
		}
		result, err = r.send(ctx, client.Put().Name(stored.GetName()), manifest)
		if !apierrors.IsConflict(err) {
			return err
		}
		now := newController(r.spec.Controller.Kind)
		if err := client.Get().Resource(resources[r.spec.Controller.Kind]).Name(stored.GetName()).Do(ctx).Into(now); err != nil {
			return err
		}
		stored = now
		return err
	})
	return result, stored, err
}

// send sends a controller object in a dry run, and returns what would be stored. The author of the review tries again
// later if the API says so.
func (r *reviewing) send(ctx context.Context, request *rest.Request, manifest []byte) (hosted.ControllerObject, error) {
	result := newController(r.spec.Controller.Kind)
	err := request.MaxRetries(0).Resource(resources[r.spec.Controller.Kind]).
		Param("dryRun", metav1.DryRunAll).Param("fieldValidation", metav1.FieldValidationStrict).
		Body(manifest).Do(ctx).Into(result)
	return result, err
}

// clientOfAuthor returns a client of the own API that acts as the author of the review.
func (r *reviewing) clientOfAuthor(warned *warnings) (rest.Interface, error) {
	config := rest.CopyConfig(r.loopback)
	host.NameAuthors(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: r.author.Name, UID: r.author.UID, Groups: r.author.Groups, Extra: r.author.Extra}
	config.WarningHandler, config.WarningHandlerWithContext = nil, warned
	config.ContentType, config.QPS = "application/json", -1
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the own API: %w", err)
	}
	return client.MetacontrollerV1alpha1().RESTClient(), nil
}

// newManifest returns a new controller object with the candidate.
func (r *reviewing) newManifest() ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": r.spec.Controller.Kind,
		"metadata": map[string]any{"name": r.spec.Controller.Name}, "spec": json.RawMessage(r.spec.Candidate.Raw),
	})
}

// updatedManifest returns the stored controller object with the candidate, if there is one, in place of its spec.
func (r *reviewing) updatedManifest(stored hosted.ControllerObject) ([]byte, error) {
	stored.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(r.spec.Controller.Kind))
	raw, err := json.Marshal(stored)
	if err != nil || r.spec.Candidate == nil {
		return raw, err
	}
	return object.WithMember(raw, "spec", r.spec.Candidate.Raw)
}

// specField is a field of a spec in a message.
var specField = regexp.MustCompile(`\bspec\.`)

// aboutCandidate returns an error about a controller object as one about the candidate: it names the
// fields as they are in the review.
func aboutCandidate(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err
	}
	inReview := func(text string) string { return specField.ReplaceAllString(text, "spec.candidate.") }
	about := status.ErrStatus.DeepCopy()
	about.Message = inReview(about.Message)
	if about.Details != nil {
		for i := range about.Details.Causes {
			cause := &about.Details.Causes[i]
			cause.Message = inReview(cause.Message)
			if field, found := strings.CutPrefix(cause.Field, "spec"); found {
				cause.Field = "spec.candidate" + field
			}
		}
	}
	return &apierrors.StatusError{ErrStatus: *about}
}

// warnings collects the warnings of requests, each once.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	const fromServer = 299
	w.mu.Lock()
	defer w.mu.Unlock()
	if text = specField.ReplaceAllString(text, "spec.candidate."); code == fromServer && text != "" && !slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}
