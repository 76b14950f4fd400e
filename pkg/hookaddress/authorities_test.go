// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

import (
	"slices"
	"testing"

	"k8s.io/utils/ptr"
)

func TestCASources(t *testing.T) {
	type ref struct{}
	for name, test := range map[string]struct {
		inline            *string
		secret, configMap *ref
		want              []string
	}{
		"none":                        {nil, nil, nil, nil},
		"an empty text counts as set": {ptr.To(""), nil, nil, []string{"inline"}},
		"a Secret":                    {nil, &ref{}, nil, []string{"secretRef"}},
		"a ConfigMap":                 {nil, nil, &ref{}, []string{"configMapRef"}},
		"all":                         {ptr.To("pem"), &ref{}, &ref{}, []string{"inline", "secretRef", "configMapRef"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CASources(test.inline, test.secret, test.configMap); !slices.Equal(got, test.want) {
				t.Errorf("sources are %q, want %q", got, test.want)
			}
		})
	}
}
