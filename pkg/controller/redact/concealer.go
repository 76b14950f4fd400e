// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Key makes digests. Two keys make different ones of the same value. With a nil Key, nothing is concealed.
type Key struct{ key [32]byte }

// NewKey returns a random key.
func NewKey() *Key {
	k := &Key{}
	_, _ = rand.Read(k.key[:]) // it never fails
	return k
}

// prefix begins each digest.
const prefix = "hidden-"

// digest returns the digest of a value.
func (k *Key) digest(value string) string {
	mac := hmac.New(sha256.New, k.key[:])
	_, _ = mac.Write([]byte(value))
	return prefix + hex.EncodeToString(mac.Sum(nil)[:12])
}

// Concealer conceals the values of the Secrets that it has seen, wherever they are in its input. It is not safe for
// concurrent use. A nil Concealer returns everything as it is.
type Concealer struct {
	key *Key
	// values are the values of Secrets, in their plain form, by their digests.
	values map[string]string
	// conceals is nil if values were added since it was made.
	conceals *strings.Replacer
}

// New returns a concealer that has seen nothing. That of a nil Key is nil.
func (k *Key) New() *Concealer {
	if k == nil {
		return nil
	}
	return &Concealer{key: k, values: map[string]string{}}
}

// shortest is the length in bytes from which a value is searched for outside Secrets. A shorter one would be found
// everywhere.
const shortest = 6

// Learn adds the values of the Secrets in a JSON document. It ignores input that is not valid JSON.
func (c *Concealer) Learn(raw []byte) {
	if c == nil || !MentionsSecret(raw) {
		return
	}
	var content any
	if utiljson.Unmarshal(raw, &content) == nil {
		walk(content, false, func(value string, encoded bool) string {
			c.add(plain(value, encoded))
			return value
		}, func(text string) string { return text })
	}
}

// Add adds values that are secret, wherever they are.
func (c *Concealer) Add(values ...string) {
	for _, value := range values {
		c.add(value)
	}
}

func (c *Concealer) add(value string) {
	if c != nil && value != "" {
		c.values[c.key.digest(value)] = value
		c.conceals = nil
	}
}

// JSON returns a JSON document in which digests replace all values of Secrets. In the data of a Secret, digests are
// base64-encoded like values so that hooks can decode them. JSON returns nil if the input is not valid JSON and may
// contain Secrets.
func (c *Concealer) JSON(raw []byte) []byte {
	c.Learn(raw)
	if c == nil || len(c.values) == 0 && !MentionsSecret(raw) {
		return raw
	}
	var content any
	if utiljson.Unmarshal(raw, &content) != nil {
		return nil
	}
	concealed, err := json.Marshal(walk(content, false, func(value string, encoded bool) string {
		digest := c.key.digest(plain(value, encoded))
		if encoded {
			return base64.StdEncoding.EncodeToString([]byte(digest))
		}
		return digest
	}, c.Text))
	if err != nil {
		return nil
	}
	return concealed
}

// Content returns a copy of a decoded object like JSON, with plain digests also in the data of a Secret.
func (c *Concealer) Content(content map[string]any) map[string]any {
	if c == nil {
		return maps.Clone(content)
	}
	digest := func(value string, encoded bool) string { return c.key.digest(plain(value, encoded)) }
	concealed, _ := walk(content, false, digest, c.Text).(map[string]any)
	return concealed
}

// Text returns a text with digests in the place of the values of the Secrets that were seen. A value that is
// very short is left.
func (c *Concealer) Text(text string) string {
	if c == nil || len(c.values) == 0 {
		return text
	}
	if c.conceals == nil {
		c.conceals = c.replacer()
	}
	return c.conceals.Replace(text)
}

// Reveal returns some JSON with the values in the place of their digests. The input is the answer of a hook that
// received the result of JSON.
func (c *Concealer) Reveal(raw []byte) []byte {
	if c == nil || len(c.values) == 0 {
		return raw
	}
	if !bytes.Contains(raw, []byte(prefix)) && !bytes.Contains(raw, []byte(encodedPrefix)) {
		return raw
	}
	pairs := make([]string, 0, 4*len(c.values))
	for digest, value := range c.values {
		quoted, _ := json.Marshal(value) // a string can always be marshaled
		pairs = append(pairs, digest, string(quoted[1:len(quoted)-1]),
			base64.StdEncoding.EncodeToString([]byte(digest)), base64.StdEncoding.EncodeToString([]byte(value)))
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(raw)))
}

// HasDigest reports whether some JSON has a digest, in its plain form or in base64. After Reveal, that
// is one of a value that was not seen, or of another key.
func HasDigest(raw []byte) bool { return anyDigest.Match(raw) }

var anyDigest = regexp.MustCompile(`\b` + prefix + `[0-9a-f]{24}\b|\b` + encodedPrefix + `[0-9A-Za-z+/]{34}==`)

// encodedPrefix begins each digest in base64. The last letters of prefix depend on what follows.
var encodedPrefix = base64.StdEncoding.EncodeToString([]byte(prefix[:6]))

// replacer returns a replacer of values in their plain form and in base64.
func (c *Concealer) replacer() *strings.Replacer {
	type replaced struct{ form, digest string }
	var all []replaced
	for digest, value := range c.values {
		if len(value) >= shortest {
			all = append(all, replaced{value, digest}, replaced{base64.StdEncoding.EncodeToString([]byte(value)), digest})
		}
	}
	// A long value may contain a short one.
	slices.SortFunc(all, func(a, b replaced) int {
		return cmp.Or(cmp.Compare(len(b.form), len(a.form)), strings.Compare(a.form, b.form))
	})
	pairs := make([]string, 0, 2*len(all))
	for _, one := range all {
		pairs = append(pairs, one.form, one.digest)
	}
	return strings.NewReplacer(pairs...)
}

// plain returns a value of a Secret in its plain form. It returns a value with an invalid encoding unchanged.
func plain(value string, encoded bool) string {
	if !encoded {
		return value
	}
	if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
		return string(decoded)
	}
	return value
}

// walk returns a copy of a JSON value: it replaces each value of a Secret with the result of ofSecret, and each other
// text with the result of ofText. It also walks texts that are JSON themselves, such as an annotation with the last
// applied configuration. Every item of a list of Secrets counts as a Secret, even if it names another kind.
func walk(value any, isSecret bool, ofSecret func(value string, encoded bool) string, ofText func(string) string) any {
	switch value := value.(type) {
	case map[string]any:
		kind := kindOfContent(value)
		isSecret = isSecret || kind == secretKind
		result := make(map[string]any, len(value))
		for name, below := range value {
			if isSecret && isSecretField(name) {
				result[name] = ofData(below, func(text string) string { return ofSecret(text, name == "data") })
			} else {
				result[ofText(name)] = walk(below, kind == secretListKind && name == "items", ofSecret, ofText)
			}
		}
		return result
	case []any:
		result := make([]any, len(value))
		for i, item := range value {
			result[i] = walk(item, isSecret, ofSecret, ofText)
		}
		return result
	case string:
		return walkText(value, ofSecret, ofText)
	default:
		return value
	}
}

// walkText is walk for a text.
func walkText(text string, ofSecret func(value string, encoded bool) string, ofText func(string) string) string {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") && MentionsSecret([]byte(trimmed)) {
		var content any
		if utiljson.Unmarshal([]byte(trimmed), &content) == nil {
			if walked, err := json.Marshal(walk(content, false, ofSecret, ofText)); err == nil {
				return string(walked)
			}
		}
	}
	return ofText(text)
}

// ofData replaces all texts in the data of a Secret.
func ofData(data any, replace func(string) string) any {
	switch data := data.(type) {
	case string:
		return replace(data)
	case map[string]any:
		result := make(map[string]any, len(data))
		for name, value := range data {
			result[name] = ofData(value, replace)
		}
		return result
	case []any:
		result := make([]any, len(data))
		for i, item := range data {
			result[i] = ofData(item, replace)
		}
		return result
	default:
		return data
	}
}

// kindOfContent returns the kind of an object of the core group, or "". An object without an apiVersion counts as one
// of that group.
func kindOfContent(content map[string]any) string {
	if version, there := content["apiVersion"]; there && version != "v1" {
		return ""
	}
	kind, _ := content["kind"].(string)
	return kind
}
