// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
)

// subject is the controller and the parents of one review, or of several pages of it.
type subject struct {
	controller *lookup.Controller
	// parent or object is the only parent; both are nil for all parents.
	parent *v1alpha1.SyncReviewParent
	object []byte
	// found is true if the controller was not named, but found by the type of the parent.
	found bool
	// optional is true if another controller may handle the parent instead.
	optional bool
}

// isOne reports whether there is exactly one review of the subject, regardless of the cluster.
func (s *subject) isOne() bool { return !s.found && (s.parent != nil || s.object != nil) }

// subjects returns the subjects of arguments and files. The first argument may be a controller, the others are parents.
// Controllers and parents in files replace stored ones.
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
		controller, parents, err := p.split(ctx, find, args)
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

// subjectsOf returns the subjects if the controllers are known.
func (p *preview) subjectsOf(find *lookup.Lookup, given *given, parents []string) (all []subject, err error) {
	ignored := len(given.objects)
	for _, controller := range given.controllers {
		before := len(all)
		for _, argument := range parents {
			parent, err := find.ParentIn(controller, argument)
			if err != nil {
				return nil, err
			}
			all = append(all, subject{controller: controller, parent: parent.InReview()})
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
		_, err = fmt.Fprintf(p.streams.ErrOut,
			"note: ignored %d objects in the files, because they are not parents of these controllers\n", ignored)
	}
	return all, err
}

// subjectsOfAny returns the subjects for parents without a controller: one for each controller of their type.
func (p *preview) subjectsOfAny(ctx context.Context, find *lookup.Lookup, objects []givenObject,
	parents []string) (all []subject, err error) {
	add := func(of schema.GroupResource, parent *v1alpha1.SyncReviewParent, object []byte) error {
		controllers, err := find.ControllersOf(ctx, of)
		for _, controller := range controllers {
			all = append(all, subject{controller: controller, parent: parent, object: object, found: true,
				optional: len(controllers) > 1})
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

// given has the objects of the files.
type given struct {
	controllers []*lookup.Controller
	objects     []givenObject
}

// givenObject is an object that is not a controller.
type givenObject struct {
	of  schema.GroupResource
	raw []byte
}

// manifests reads the files. Objects without a namespace get the one of the flags.
func (p *preview) manifests(find *lookup.Lookup) (*given, error) {
	read, err := lookup.Read(p.files)
	if err != nil {
		return nil, err
	}
	if len(read) == 0 && p.files.RequireFilenameOrKustomize() == nil {
		return nil, errors.New("no objects found in the files")
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
	read = slices.DeleteFunc(read, func(one lookup.Manifest) bool {
		return one.GroupVersionKind().Group == v1alpha1.GroupName
	})
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

// reviewer returns the Reviewer for a controller. If the controller is from a file, warnings and errors name the file
// and its fields instead of fields of the review.
func (c *cluster) reviewer(of *lookup.Controller) (reviews.Reviewer, error) {
	config, err := c.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	file := candidateFile(of.Path)
	if of.Candidate != nil {
		config.WarningHandler = &candidateWarnings{c.warnings, file}
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	answering := client.MetacontrollerV1alpha1().SyncReviews()
	if of.Candidate == nil {
		return answering, nil
	}
	return &candidateReviewer{answering, file}, nil
}

// candidateReviewer sends reviews with a candidate.
type candidateReviewer struct {
	reviews.Reviewer
	file candidateFile
}

// Create implements reviews.Reviewer.
func (r *candidateReviewer) Create(
	ctx context.Context, review *v1alpha1.SyncReview, options metav1.CreateOptions,
) (*v1alpha1.SyncReview, error) {
	answered, err := r.Reviewer.Create(ctx, review, options)
	return answered, r.file.explain(err)
}

// candidateWarnings passes on warnings about a review with a candidate.
type candidateWarnings struct {
	rest.WarningHandler
	file candidateFile
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *candidateWarnings) HandleWarningHeader(code int, agent, text string) {
	if inFile := w.file.inFile(text); inFile != text {
		text = string(w.file) + ": " + inFile
	}
	w.WarningHandler.HandleWarningHeader(code, agent, text)
}

// candidateFile is the path of the file that has the candidate.
type candidateFile string

// candidateField is the field of a review with the spec of the controller in the file.
var candidateField = regexp.MustCompile(`\bspec\.candidate\b`)

// inFile replaces names of fields of the review in a text by the names of the fields in the file.
func (f candidateFile) inFile(text string) string {
	return candidateField.ReplaceAllString(text, "spec")
}

// explain turns an error about the candidate into one about the file. It returns other errors unchanged.
func (f candidateFile) explain(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || f.inFile(status.ErrStatus.Message) == status.ErrStatus.Message {
		return err
	}
	about := status.ErrStatus.DeepCopy()
	about.Message = f.inFile(about.Message)
	return fmt.Errorf("%s: %w", f, &apierrors.StatusError{ErrStatus: *about})
}
