// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Values of Secrets are blanks in a recorded answer, and digests in a review, also in objects of other kinds.
func TestTheValuesOfSecretsAreNotADifference(t *testing.T) {
	const digest = "hidden-0123456789abcdef01234567"
	for name, test := range map[string]struct{ then, now, want string }{
		"a Secret": {
			`{"children":[{"kind":"Secret","data":{"p":"xxxxx"}}]}`, `{"children":[{"kind":"Secret","data":{"p":"aGlk"}}]}`, "",
		},
		"a Secret with another key": {
			`{"children":[{"kind":"Secret","data":{"p":"xxxxx"}}]}`,
			`{"children":[{"kind":"Secret","data":{"q":"aGlk"}}]}`, "q:",
		},
		"a value in another object": {
			`{"children":[{"kind":"ConfigMap","data":{"url":"http://u:xxxxx@db"}}]}`,
			`{"children":[{"kind":"ConfigMap","data":{"url":"http://u:` + digest + `@db"}}]}`, "",
		},
		"a value in the status": {
			`{"status":{"p":"xxxxx"},"children":[]}`, `{"status":{"p":"` + digest + `"},"children":[]}`, "",
		},
		"the text beside a value": {
			`{"attachments":[{"kind":"ConfigMap","data":{"url":"http://u:xxxxx@db"}}]}`,
			`{"attachments":[{"kind":"ConfigMap","data":{"url":"http://u:` + digest + `@other"}}]}`, "@other",
		},
	} {
		t.Run(name, func(t *testing.T) {
			call := &v1alpha1.HookCall{Spec: v1alpha1.HookCallSpec{Hook: "sync"}}
			call.Status.Response = &v1alpha1.HookCallBody{Object: &runtime.RawExtension{Raw: []byte(test.then)}}
			got, err := answerDifference(call, &v1alpha1.ReviewedSync{Calls: []v1alpha1.ReviewedCall{
				{Hook: "sync", Response: &runtime.RawExtension{Raw: []byte(test.now)}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			const same = "The answer has not changed."
			if test.want == "" && got != same || test.want != "" && (got == same || !strings.Contains(got, test.want)) {
				t.Errorf("the answers differ: %s", got)
			}
		})
	}
}
