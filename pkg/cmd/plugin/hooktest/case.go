// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Case is one test: what exists, and what is expected of a sync.
type Case struct {
	// Controller is the one whose sync is tested: its name, or cc/NAME or dec/NAME. It may be left out if only one of the suite
	// is for the parent.
	Controller string `json:"controller,omitempty"`
	// Parent is the parent.
	Parent Given `json:"parent"`
	// Deleted is true if the parent is being deleted, so that it is finalized.
	Deleted bool `json:"deleted,omitempty"`
	// Children are those of the parent, as the controller has made them.
	Children []Given `json:"children,omitempty"`
	// Others are all other objects that exist, such as those that a customize hook asks for.
	Others []Given `json:"others,omitempty"`
	// Revisions are earlier versions of the parent that children are still at, during a rolling update.
	Revisions []Revision `json:"revisions,omitempty"`
	// Expect is what is expected; nil if that is not written yet.
	Expect *Expected `json:"expect,omitempty"`

	// Name is the name of the file without its extension, and Path the path of it.
	Name string `json:"-"`
	Path string `json:"-"`
}

// Revision is an earlier version of the parent.
type Revision struct {
	// Parent are the fields that were different then.
	Parent map[string]any `json:"parent"`
	// Children are the names of the children that are at this version, by their kinds.
	Children map[string][]string `json:"children,omitempty"`
}

// Expected is what is expected of a sync. What is not there is not looked at, except that a sync must not fail, must leave out no
// child and must give no warning if that is not expected.
type Expected struct {
	// Exact is true if everything has to be exactly so. Otherwise fields of objects that are not named are not looked at.
	Exact bool `json:"exact,omitempty"`
	// Result is Changed, Unchanged or Failed.
	Result any `json:"result,omitempty"`
	// Error is a part of the error that the sync fails with.
	Error string `json:"error,omitempty"`
	// Refused are parts of why children are left out.
	Refused []string `json:"refused,omitempty"`
	// Status, Labels, Annotations, Children, Finalized and ResyncAfter are what the sync or finalize hook answers.
	Status      any `json:"status,omitempty"`
	Labels      any `json:"labels,omitempty"`
	Annotations any `json:"annotations,omitempty"`
	Children    any `json:"children,omitempty"`
	Finalized   any `json:"finalized,omitempty"`
	ResyncAfter any `json:"resyncAfter,omitempty"`
	// Related are the rules that the customize hook answers.
	Related any `json:"related,omitempty"`
	// Steps are the writes that follow, in their order: each as text such as "create Pod web", or as an object.
	Steps any `json:"steps,omitempty"`
	// Events are what the hook wants to be told, and Warnings what is probably a mistake.
	Events   any `json:"events,omitempty"`
	Warnings any `json:"warnings,omitempty"`
	// Rollout is how far a rolling update is.
	Rollout any `json:"rollout,omitempty"`
}

// readCase reads a case.
func readCase(path string) (*Case, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read := &Case{Path: path, Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))}
	if err := yaml.UnmarshalStrict(raw, read); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if read.Parent.isEmpty() {
		return nil, fmt.Errorf("%s: %w", path, errors.New("it has no parent"))
	}
	return read, nil
}
