// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const (
	// previewPage is the number of parents of one preview, and previewSeconds its timeout.
	previewPage    = 100
	previewSeconds = 30
	// maxPrinted bounds the writes and failures that are printed.
	maxPrinted = 30
)

// preview collects the writes that the controllers of the server would make if they ran now.
type preview struct {
	// parents is the number of previewed parents, and writes that of writes to children.
	parents, writes int
	// problems are the writes to children, and failures. expected are writes to parents and their revisions.
	problems, expected []string
}

// preview calls the hooks of the controllers, and prints the writes that the controllers of the server would make. It
// returns an error if the user does not accept them.
func (m *Migration) preview(ctx context.Context) error {
	controllers, err := m.copier.read(ctx, servedVersion, kinds()[1:])
	if err != nil {
		return err
	}
	p := &preview{}
	for _, of := range controllers {
		if err := m.previewController(ctx, of, p); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			p.problems = append(p.problems, fmt.Sprintf("%s: %s", of, err))
		}
	}
	m.say("previewed %s: %s to children", counted(p.parents, "parent"), counted(p.writes, "write"))
	m.list(p.problems)
	if len(p.expected) > 0 {
		m.say("expected writes to parents and revisions:")
		m.list(p.expected)
	}
	if len(p.problems) > 0 && !m.config.AcceptWrites {
		return errors.New("the controllers of the server would write children, or fail, as listed above: correct that, or " +
			"repeat this with --accept-writes")
	}
	return nil
}

// list prints some lines.
func (m *Migration) list(lines []string) {
	slices.Sort(lines)
	for _, line := range lines[:min(len(lines), maxPrinted)] {
		m.say("  %s", strings.ReplaceAll(line, "\n", "\n    "))
	}
	if more := len(lines) - maxPrinted; more > 0 {
		m.say("  and %d more", more)
	}
}

// previewController previews all parents of a controller.
func (m *Migration) previewController(ctx context.Context, of object, p *preview) error {
	parents := &v1alpha1.SyncReviewParents{Limit: ptr.To[int32](previewPage)}
	for {
		answer, err := m.own.SyncReviews().Create(ctx, &v1alpha1.SyncReview{Spec: v1alpha1.SyncReviewSpec{
			Controller: v1alpha1.SyncReviewController{Kind: of.name, Name: of.GetName()},
			Until:      v1alpha1.SyncReviewUntilPlan, Details: v1alpha1.SyncReviewDetailsSteps,
			TimeoutSeconds: ptr.To[int32](previewSeconds), Parents: parents,
		}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		for _, sync := range answer.Status.Syncs {
			p.add(of, sync)
		}
		if parents.Continue = answer.Status.Continue; parents.Continue == "" {
			return nil
		}
	}
}

// add adds the result of the sync of a parent.
func (p *preview) add(of object, sync v1alpha1.ReviewedSync) {
	p.parents++
	about := fmt.Sprintf("%s, %s: ", of, namedIn(sync.Parent))
	if sync.Error != "" {
		p.problems = append(p.problems, about+sync.Error)
	}
	for _, refused := range sync.Refused {
		p.problems = append(p.problems, about+refused)
	}
	for _, step := range sync.Steps {
		line := fmt.Sprintf("%s%s %s: %s", about, step.Operation, namedIn(step.ReviewedObject), step.Why)
		isRevision := step.Kind == "ControllerRevision" && step.APIVersion == v1alpha1.SchemeGroupVersion.String()
		if isRevision || step.ReviewedObject == sync.Parent {
			p.expected = append(p.expected, line)
			continue
		}
		p.writes++
		p.problems = append(p.problems, line)
	}
}

func namedIn(of v1alpha1.ReviewedObject) string { return named(of.Kind, of.Namespace, of.Name) }
