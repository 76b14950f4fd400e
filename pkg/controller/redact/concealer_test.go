// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

const (
	password = "open sesame"
	encoded  = "b3BlbiBzZXNhbWU="
)

// secret is a Secret with the password, and with more metadata.
func secret(more string) string {
	return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"` + more + `},"data":{"password":"` + encoded + `"}}`
}

func TestNoFormOfASecretIsShown(t *testing.T) {
	applied, _ := json.Marshal(`{"apiVersion":"v1","kind":"Secret","stringData":{"password":"` + password + `"}}`)
	for name, raw := range map[string]string{
		"a Secret":                          secret(""),
		"plain data":                        `{"kind":"Secret","stringData":{"password":"` + password + `"}}`,
		"a list of Secrets":                 `{"apiVersion":"v1","kind":"SecretList","items":[{"data":{"password":"` + encoded + `"}}]}`,
		"a Secret in a request":             `{"parent":{"kind":"Web"},"children":{"Secret.v1":{"s":` + secret("") + `}}}`,
		"what was last applied":             `{"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{"applied":` + string(applied) + `}}}`,
		"a value in another object":         `{"a":` + secret("") + `,"b":{"kind":"ConfigMap","data":{"url":"http://u:` + password + `@db"}}}`,
		"an encoded value elsewhere":        `{"a":` + secret("") + `,"b":{"kind":"ConfigMap","data":{"env":"P=` + encoded + `"}}}`,
		"a value as the key of an object":   `{"a":` + secret("") + `,"b":{"` + password + `":1}}`,
		"a Secret inside of another object": `{"kind":"SealedSecret","apiVersion":"x/v1","spec":{"template":` + secret("") + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			shown := string(NewKey().New().JSON([]byte(raw)))
			if strings.Contains(shown, password) || strings.Contains(shown, encoded) {
				t.Errorf("it is shown: %s", shown)
			}
			if !json.Valid([]byte(shown)) {
				t.Errorf("it is no JSON: %s", shown)
			}
		})
	}
}

func TestEqualValuesHaveEqualDigests(t *testing.T) {
	key := NewKey()
	plainly := key.New().Content(map[string]any{"kind": "Secret", "data": map[string]any{"password": encoded}})
	other := key.New().Content(map[string]any{"kind": "Secret", "stringData": map[string]any{"password": password}})
	digest := plainly["data"].(map[string]any)["password"]
	if digest != other["stringData"].(map[string]any)["password"] || !strings.HasPrefix(digest.(string), prefix) {
		t.Errorf("the digests are %v and %v", plainly, other)
	}
	if another := NewKey().New().Content(map[string]any{"kind": "Secret", "data": map[string]any{"password": encoded}}); another["data"].(map[string]any)["password"] == digest {
		t.Error("another key makes the same digest")
	}
	if changed := key.New().Content(map[string]any{"kind": "Secret", "data": map[string]any{"password": "b3RoZXI="}}); changed["data"].(map[string]any)["password"] == digest {
		t.Error("another value has the same digest")
	}
}

func TestHooksCanReadTheDataOfConcealedSecrets(t *testing.T) {
	var shown struct{ Data map[string][]byte }
	if err := json.Unmarshal(NewKey().New().JSON([]byte(secret(""))), &shown); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(shown.Data["password"]), prefix) {
		t.Errorf("the value is %s", shown.Data["password"])
	}
}

// A hook outside of the server makes its answer of what it is shown.
func TestAnswersMadeOfDigestsAreRevealed(t *testing.T) {
	concealer := NewKey().New()
	var shown struct{ Data map[string]string }
	if err := json.Unmarshal(concealer.JSON([]byte(secret(""))), &shown); err != nil {
		t.Fatal(err)
	}
	digest, err := base64.StdEncoding.DecodeString(shown.Data["password"])
	if err != nil {
		t.Fatal(err)
	}
	answer := `{"children":[{"kind":"Secret","data":{"a":"` + shown.Data["password"] + `"},"stringData":{"b":"` + string(digest) + `"}}]}`
	want := `{"children":[{"kind":"Secret","data":{"a":"` + encoded + `"},"stringData":{"b":"` + password + `"}}]}`
	revealed := concealer.Reveal([]byte(answer))
	if string(revealed) != want {
		t.Errorf("the answer is %s, want %s", revealed, want)
	}
	if again := string(concealer.JSON(revealed)); strings.Contains(again, password) || strings.Contains(again, encoded) {
		t.Errorf("it is shown: %s", again)
	}
}

func TestWhatMentionsNoSecretStaysAsItIs(t *testing.T) {
	const raw = `{"kind":"ConfigMap", "data":{"a":1.50}}`
	if shown := string(NewKey().New().JSON([]byte(raw))); shown != raw {
		t.Errorf("it became %s", shown)
	}
	if shown := NewKey().New().JSON([]byte("Secret, and no JSON")); shown != nil {
		t.Errorf("shown is %s", shown)
	}
}

// The plugin tests hooks with Secrets from files of the user, so it shows them as they are.
func TestWithoutAKeyNothingIsConcealed(t *testing.T) {
	var key *Key
	concealer := key.New()
	raw := secret("")
	concealer.Learn([]byte(raw))
	concealer.Add(password)
	content := map[string]any{"kind": "Secret", "data": map[string]any{"password": encoded}}
	shown := concealer.Content(content)
	if string(concealer.JSON([]byte(raw))) != raw || string(concealer.Reveal([]byte(raw))) != raw || concealer.Text(password) != password ||
		shown["data"].(map[string]any)["password"] != encoded {
		t.Errorf("it is concealed: %v", shown)
	}
}

func TestDigestsAreFound(t *testing.T) {
	concealed := NewKey().New()
	for name, test := range map[string]struct {
		text string
		want bool
	}{
		"in a Secret":         {string(concealed.JSON([]byte(secret("")))), true},
		"in a text":           {`{"url":"http://u:` + concealed.Text(password) + `@db"}`, true},
		"not in others":       {`{"class":"hidden-menu","data":"aGlkZGVuLW1lbnU="}`, false},
		"not in what is open": {secret(""), false},
	} {
		if got := HasDigest([]byte(test.text)); got != test.want {
			t.Errorf("%s: there is one: %v, want %v: %s", name, got, test.want, test.text)
		}
	}
}
