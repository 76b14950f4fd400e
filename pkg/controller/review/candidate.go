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
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/parentcontroller"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// resources are the resources of the kinds of controllers.
var resources = map[string]string{"CompositeController": "compositecontrollers",
	"DecoratorController": "decoratorcontrollers"}

// newController returns an empty controller object of a kind.
func newController(kind string) parentcontroller.ControllerObject {
	if kind == "CompositeController" {
		return &v1alpha1.CompositeController{}
	}
	return &v1alpha1.DecoratorController{}
}

// ownAPI tries changes of the controller object in the API of this process, in dry runs as the author of a review.
type ownAPI struct {
	loopback *rest.Config
	author   rights.User
	spec     *v1alpha1.SyncReviewSpec
}

// candidate returns the controller object that the author of the review would have if it were created with the
// candidate or, if it is stored, updated to it, and reports whether that shows that the author may give it another
// spec. The API does that in a dry run, as the author: so the author's rights, the validation and all admission
// count. The warnings come from the API; they are returned with an error, too.
func (a *ownAPI) candidate(
	ctx context.Context, stored parentcontroller.ControllerObject,
) (result parentcontroller.ControllerObject, isAuthor bool, texts []string, err error) {
	warned := &warnings{}
	client, err := a.clientOfAuthor(warned)
	if err != nil {
		return nil, false, nil, err
	}
	var before parentcontroller.ControllerObject
	if stored == nil {
		result, err = a.tryCreate(ctx, client)
	} else {
		result, before, err = a.tryUpdate(ctx, client, stored)
	}
	if err != nil {
		return nil, false, warned.texts, aboutCandidate(err)
	}
	// An unchanged spec needs no rights, so its acceptance proves none. A changed spec has another generation.
	return result, before == nil || result.GetGeneration() != before.GetGeneration(), warned.texts, nil
}

// mayUpdate returns an error unless the author of the review may update the stored controller object: by the roles and
// by the policies of the cluster, which may depend on the owner. With a request from the author, the server sends the
// hook something that the controller does not send, with the credentials of the controller.
func (a *ownAPI) mayUpdate(ctx context.Context, stored parentcontroller.ControllerObject) error {
	client, err := a.clientOfAuthor(&warnings{})
	if err != nil {
		return err
	}
	_, _, err = a.tryUpdate(ctx, client, stored)
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err
	}
	about := status.ErrStatus.DeepCopy()
	about.Message = "spec.request requires the same permissions as an update of the controller: " + about.Message
	return &apierrors.StatusError{ErrStatus: *about}
}

func (a *ownAPI) tryCreate(ctx context.Context, client rest.Interface) (parentcontroller.ControllerObject, error) {
	manifest, err := a.newManifest()
	if err != nil {
		return nil, err
	}
	return a.send(ctx, client.Post(), manifest)
}

// tryUpdate tries to update the stored controller object. If its status was written after it was read, the update is a
// conflict: then the object is read again, and the update is tried again. Before is the object that it was tried with.
func (a *ownAPI) tryUpdate(
	ctx context.Context, client rest.Interface, stored parentcontroller.ControllerObject,
) (result, before parentcontroller.ControllerObject, err error) {
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		manifest, err := a.updatedManifest(stored)
		if err != nil {
			return err
		}
		result, err = a.send(ctx, client.Put().Name(stored.GetName()), manifest)
		if !apierrors.IsConflict(err) {
			return err
		}
		now := newController(a.spec.Controller.Kind)
		if err := client.Get().Resource(resources[a.spec.Controller.Kind]).Name(stored.GetName()).Do(ctx).Into(now); err != nil {
			return err
		}
		stored = now
		return err
	})
	return result, stored, err
}

// send sends a controller object in a dry run, and returns the object that would be stored. The author of the review
// tries again later if the API says so.
func (a *ownAPI) send(
	ctx context.Context, request *rest.Request, manifest []byte,
) (parentcontroller.ControllerObject, error) {
	result := newController(a.spec.Controller.Kind)
	err := request.MaxRetries(0).Resource(resources[a.spec.Controller.Kind]).
		Param("dryRun", metav1.DryRunAll).Param("fieldValidation", metav1.FieldValidationStrict).
		Body(manifest).Do(ctx).Into(result)
	return result, err
}

// clientOfAuthor returns a client of the own API that acts as the author of the review.
func (a *ownAPI) clientOfAuthor(warned *warnings) (rest.Interface, error) {
	config := rest.CopyConfig(a.loopback)
	host.NameAuthors(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: a.author.Name, UID: a.author.UID, Groups: a.author.Groups,
		Extra: a.author.Extra}
	config.WarningHandler, config.WarningHandlerWithContext = nil, warned
	config.ContentType, config.QPS = "application/json", -1
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for this server's API: %w", err)
	}
	return client.MetacontrollerV1alpha1().RESTClient(), nil
}

// newManifest returns a new controller object with the candidate.
func (a *ownAPI) newManifest() ([]byte, error) {
	return json.Marshal(map[string]any{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": a.spec.Controller.Kind,
		"metadata": map[string]any{"name": a.spec.Controller.Name}, "spec": json.RawMessage(a.spec.Candidate.Raw),
	})
}

// updatedManifest returns the stored controller object with the candidate, if there is one, in place of its spec.
func (a *ownAPI) updatedManifest(stored parentcontroller.ControllerObject) ([]byte, error) {
	stored.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(a.spec.Controller.Kind))
	raw, err := json.Marshal(stored)
	if err != nil || a.spec.Candidate == nil {
		return raw, err
	}
	return object.WithMember(raw, "spec", a.spec.Candidate.Raw)
}

// specField matches the beginning of the path of a spec's field in a message.
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
	if text = specField.ReplaceAllString(text, "spec.candidate."); code == fromServer && text != "" &&
		!slices.Contains(w.texts, text) {
		w.texts = append(w.texts, text)
	}
}
