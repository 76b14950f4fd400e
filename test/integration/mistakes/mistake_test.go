// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

type object = harness.Object

// mistake is a file of testdata: what somebody does. Words such as $NAME are replaced in it; see
// scenario.Scenario, and newRun for more of them.
//
// The controller is a CompositeController unless there is a patch for a DecoratorController. The
// hook, the controller and then the parent come into being, and the mistake is in one of them. With
// Before, they come into being without the mistake, and Answers, Change or ParentChange make it. Then
// the parent is also touched, so that it is synced.
type mistake struct {
	// Mistake says in a sentence what is wrong, Remedy what a reader of the golden file should understand to do.
	Mistake, Remedy string
	// Composite, Decorator and Parent are JSON merge patches to the objects of the files
	// defaults/*.yaml.
	Composite, Decorator, Parent object
	// Namespace is a merge patch to the namespace of the parent.
	Namespace object
	// Objects are there before all others.
	Objects []object
	// HTTPS has the hook served by https.
	HTTPS bool
	// Answers are those of the hook, by path.
	Answers map[string]answer
	// Before are the answers before the mistake, after which everything is healthy.
	Before map[string]answer
	// Change is a merge patch to the controller, ParentChange to the parent.
	Change, ParentChange object
	// Delete deletes the parent.
	Delete bool
	// Seen are words that kubectl must show in any case.
	Seen []string
	// Within is how soon the mistake must be seen, such as "40s", and Because is why it takes longer
	// than five seconds.
	Within, Because string
	// Settles is how long kubectl's output still changes after that. Only -update uses it.
	Settles string

	name string // of the file
}

// readMistakes returns the table.
func readMistakes(t *testing.T) []mistake {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []mistake
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := mistake{name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
		if err := yaml.UnmarshalStrict(content, &m); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if m.Mistake == "" || m.Remedy == "" || len(m.Seen) == 0 || (m.Within == "") != (m.Because == "") {
			t.Fatalf("%s: a mistake has Mistake, Remedy and Seen, and both or none of Within and Because", file)
		}
		all = append(all, m)
	}
	return all
}

func (m mistake) within() time.Duration  { return duration(m.Within, 5*time.Second) }
func (m mistake) settles() time.Duration { return duration(m.Settles, 4*time.Second) }

func duration(text string, otherwise time.Duration) time.Duration {
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return otherwise
	}
	return parsed
}

// engines are the engines with which the mistake is made. A flag of the server sets that of attachments.
func (m mistake) engines() []v1alpha1.ChildApplyStrategy {
	if m.Decorator != nil {
		return []v1alpha1.ChildApplyStrategy{v1alpha1.ChildApplyDynamic}
	}
	return harness.Engines()
}

// versions are those of the hook protocol.
var versions = []string{"v1", "v2"}

// variants are the ways in which the mistake is made.
func (m mistake) variants() []string {
	var all []string
	for _, engine := range m.engines() {
		for _, version := range versions {
			all = append(all, variantOf(engine, version))
		}
	}
	return all
}

func variantOf(engine v1alpha1.ChildApplyStrategy, version string) string {
	return fmt.Sprint(engine, " ", version)
}

// controller returns the manifest of the controller.
func (m mistake) controller() (object, error) {
	if m.Decorator != nil {
		return patched("decorator", m.Decorator)
	}
	return patched("composite", m.Composite)
}

// patched returns a default with a merge patch.
func patched(name string, patch object) (object, error) {
	content, err := os.ReadFile(filepath.Join("testdata", "defaults", name+".yaml"))
	if err != nil {
		return nil, err
	}
	var manifest object
	if err := yaml.UnmarshalStrict(content, &manifest); err != nil {
		return nil, fmt.Errorf("read the default %s: %w", name, err)
	}
	return merged(manifest, patch)
}

// merged returns an object with a merge patch.
func merged(before, patch object) (object, error) {
	if patch == nil {
		return before, nil
	}
	documents := [2][]byte{}
	for i, value := range []object{before, patch} {
		document, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		documents[i] = document
	}
	result, err := jsonpatch.MergePatch(documents[0], documents[1])
	if err != nil {
		return nil, err
	}
	var after object
	return after, json.Unmarshal(result, &after)
}
