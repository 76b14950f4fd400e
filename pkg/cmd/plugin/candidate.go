// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
)

// reviewer returns what answers the reviews of a controller. Warnings and errors about a controller of a file name the file and
// the fields there, and not those of the review that is made of it.
func (c *cluster) reviewer(of *lookup.Controller) (reviews.Reviewer, error) {
	config, err := c.config()
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

// candidateReviewer answers reviews with a candidate.
type candidateReviewer struct {
	reviews.Reviewer
	file candidateFile
}

// Create implements reviews.Reviewer.
func (r *candidateReviewer) Create(ctx context.Context, review *v1alpha1.SyncReview, options metav1.CreateOptions) (*v1alpha1.SyncReview, error) {
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
		text = w.file.String() + ": " + inFile
	}
	w.WarningHandler.HandleWarningHeader(code, agent, text)
}

// candidateFile is the path of the file that has the candidate; "-" is standard input.
type candidateFile string

func (f candidateFile) String() string {
	if f == "-" {
		return "standard input"
	}
	return string(f)
}

// candidateField is the field of a review that has the spec of the controller in the file.
var candidateField = regexp.MustCompile(`\bspec\.candidate\b`)

// inFile returns a text with the fields as they are in the file.
func (f candidateFile) inFile(text string) string {
	return candidateField.ReplaceAllString(text, "spec")
}

// explain returns an error about the candidate as one about the file. Other errors remain as they are.
func (f candidateFile) explain(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || f.inFile(status.ErrStatus.Message) == status.ErrStatus.Message {
		return err
	}
	about := status.ErrStatus.DeepCopy()
	about.Message = f.inFile(about.Message)
	return fmt.Errorf("%s: %w", f, &apierrors.StatusError{ErrStatus: *about})
}
