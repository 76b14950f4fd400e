// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// noise is text of at least so many bytes that cannot be compressed much.
func noise(size int) string {
	source := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for text.Len() < size {
		text.WriteString(strconv.FormatUint(source.Uint64(), 36))
	}
	return text.String()
}

func TestCompressedObjectsAreWhatTheyWere(t *testing.T) {
	t.Parallel()
	random := noise(5 * compressionThreshold)
	for name, test := range map[string]struct {
		text       string
		foreign    bool
		compressed bool
	}{
		"a small one stays":                     {text: strings.Repeat("x", compressionThreshold/2)},
		"one that repeats itself":               {text: strings.Repeat("x", compressionThreshold), compressed: true},
		"one as it was applied last":            {text: random + `","again":"` + random, compressed: true},
		"one that has nothing to compress":      {text: random},
		"one of the size a host allows":         {text: strings.Repeat("0123456789", 150_000), compressed: true},
		"one that is no child of dynamic apply": {text: strings.Repeat("x", compressionThreshold), foreign: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			annotation := LastAppliedAnnotation
			if test.foreign {
				annotation = "other"
			}
			raw := fmt.Sprintf(`{"kind":"ConfigMap","metadata":{"name":"a","annotations":{"%s":"{}"}},"data":{"text":"%s"}}`, annotation, test.text)
			parsed := mustParse(t, raw)
			reader := NewReader("")
			reader.Keep(parsed)
			reader.Keep(parsed)
			if compressed := len(parsed.json) < len(raw); compressed != test.compressed {
				t.Errorf("of %d bytes %d are kept", len(raw), len(parsed.json))
			}
			if cap(parsed.json) > len(parsed.json)*5/4 {
				t.Errorf("there is room for %d bytes, of which %d are used", cap(parsed.json), len(parsed.json))
			}
			if got := string(parsed.JSON()); got != raw {
				t.Errorf("it became %.200s", got)
			}
			if got := string(parsed.AppendJSON([]byte("before "))); got != "before "+raw {
				t.Errorf("appended it became %.200s", got)
			}
			if parsed.Size() != len(raw) {
				t.Errorf("its size is %d, want %d", parsed.Size(), len(raw))
			}
			if got := string(parsed.Lookup("metadata", "name")); got != `"a"` {
				t.Errorf("its name is %s", got)
			}
		})
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	raw := sample("ConfigMap", fmt.Sprintf(`"data":{"config":"%s"}`, strings.Repeat("key=value ", 300)))
	for _, compressed := range []bool{false, true} {
		b.Run(fmt.Sprintf("compressed=%t", compressed), func(b *testing.B) {
			parsed, err := Parse([]byte(raw))
			if err != nil {
				b.Fatal(err)
			}
			if compressed {
				NewReader("").Keep(parsed)
			}
			to := make([]byte, 0, parsed.Size())
			b.SetBytes(int64(parsed.Size()))
			b.ReportAllocs()
			for b.Loop() {
				to = parsed.AppendJSON(to[:0])
			}
		})
	}
}
