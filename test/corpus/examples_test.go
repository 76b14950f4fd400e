// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// The examples lead to no errors and no warnings.
func TestThereIsNothingToSayAboutTheExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(hostcluster.RepositoryRoot(), "artifacts", "examples", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d examples: %v", len(files), err)
	}
	decoder, documents := decoder(t), regexp.MustCompile(`(?m)^---$`)
	for _, file := range files {
		t.Run(filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file)), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, document := range documents.Split(string(text), -1) {
				data, err := yaml.YAMLToJSON([]byte(document))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Contains(data, []byte(`"apiVersion":"metacontroller.k8s.io/`)) {
					continue
				}
				object, err := runtime.Decode(decoder, data)
				if err != nil {
					t.Fatal(err)
				}
				if errs, warnings := validate(object); len(errs)+len(warnings) > 0 {
					t.Errorf("errors %v, warnings %q", errs, warnings)
				}
			}
		})
	}
}
