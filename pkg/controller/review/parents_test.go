// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"encoding/base64"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

func TestContinueNamesTheLastParent(t *testing.T) {
	last := object.Key{GroupKind: schema.GroupKind{Group: "ctl.example", Kind: "Web"}, NamespacedName: types.NamespacedName{Namespace: "shop", Name: "a"}}
	got, err := decodeContinue(encodeContinue(last))
	if err != nil || *got != last {
		t.Errorf("after %v comes %v, %v", last, got, err)
	}
	if got, err := decodeContinue(""); got != nil || err != nil {
		t.Errorf("the first answer comes after %v, %v", got, err)
	}
}

func TestContinueIsThatOfAnAnswer(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	for name, token := range map[string]string{
		"no base64": "%", "no JSON": encode([]byte("x")), "no name": encode([]byte(`{"k":"Web"}`)), "no kind": encode([]byte(`{"n":"a"}`)),
	} {
		if got, err := decodeContinue(token); err == nil {
			t.Errorf("%s: it is read as %v", name, got)
		}
	}
}
