// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ofParent is a child of a parent as a host shows it.
func ofParent(parent, child int) []byte { return ofParentWith("", parent, child) }

// ofParentWith is such a child with more metadata.
func ofParentWith(metadata string, parent, child int) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{%[3]s"name":"web-%[1]d-%[2]d","namespace":"default","uid":"8f6a0b1e-3c1f-4f6e-9a52-%06[1]d%06[2]d",`+
		`"resourceVersion":"%[1]d%[2]d","creationTimestamp":"2026-03-04T05:06:07Z","labels":{"app":"web-%[1]d","tier":"front"},`+
		`"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"web-%[1]d","uid":"d2c9b1e3-3c1f-4f6e-9a52-%012[1]d","controller":true,"blockOwnerDeletion":true}]},`+
		`"data":{"key":"value"}}`, parent, child, metadata)
}

func TestObjectsShareWhatTheyHaveAlike(t *testing.T) {
	reader := NewReader(FieldManager)
	parsed := func(parent, child int) *Object {
		t.Helper()
		o, err := reader.Parse(ofParent(parent, child))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	a, b, other := parsed(1, 1), parsed(1, 2), parsed(2, 1)
	for what, of := range map[string]func(*Object) any{
		"apiVersion": func(o *Object) any { return unsafe.StringData(o.APIVersion) },
		"kind":       func(o *Object) any { return unsafe.StringData(o.Kind) },
		"namespace":  func(o *Object) any { return unsafe.StringData(o.Namespace) },
		"labels":     func(o *Object) any { return reflect.ValueOf(o.Labels).Pointer() },
		"owners":     func(o *Object) any { return &o.OwnerReferences[0] },
	} {
		if of(a) != of(b) {
			t.Errorf("two children of a parent have %s of their own", what)
		}
	}
	if diff := cmp.Diff(mustParse(t, string(ofParent(2, 1))), other, cmp.AllowUnexported(Object{})); diff != "" {
		t.Errorf("a child of another parent (-want +got):\n%s", diff)
	}
}

// More labels than are remembered, some of them in the same place, are never mixed up.
func TestAReaderReadsWhatParseReads(t *testing.T) {
	reader := NewReader("")
	var reading sync.WaitGroup
	for range 4 {
		reading.Go(func() {
			for i := range 3000 {
				metadata := ""
				if i%3 == 0 {
					metadata = managedFields
				}
				raw := ofParentWith(metadata, i/2, i%2)
				want, err := Parse(raw)
				got, readErr := reader.Parse(raw)
				taken, takeErr := reader.Take(raw)
				if err := errors.Join(err, readErr, takeErr); err != nil || !reflect.DeepEqual(want, got) || !reflect.DeepEqual(want, taken) {
					t.Errorf("error %v, object (-want +got):\n%s, taken (-want +got):\n%s", err, cmp.Diff(want, got, cmp.AllowUnexported(Object{})),
						cmp.Diff(want, taken, cmp.AllowUnexported(Object{})))
					return
				}
			}
		})
	}
	reading.Wait()
}

const managedFields = `"managedFields":[{"manager":"m","fieldsV1":{"f:data":{}}}],`

func TestAnObjectThatIsKeptHasItsBytesToItself(t *testing.T) {
	for name, raw := range map[string]string{
		"a small one":                    `{"kind":"ConfigMap","metadata":{` + managedFields + `"name":"a"}}`,
		"one without managed fields":     `{"kind":"ConfigMap","metadata":{"name":"a"}}`,
		"one that is compressed":         `{"kind":"ConfigMap","metadata":{` + managedFields + `"annotations":{"` + LastAppliedAnnotation + `":"{}"}},"data":{"a":"` + strings.Repeat("x", compressionThreshold) + `"}}`,
		"one that cannot be made small":  `{"kind":"ConfigMap","metadata":{` + managedFields + `"annotations":{"` + LastAppliedAnnotation + `":"{}"}},"data":{"a":"` + noise(compressionThreshold) + `"}}`,
		"one that is not worth the time": `{"kind":"Thing","metadata":{` + managedFields + `"name":"a"},"spec":{"a":"` + strings.Repeat("x", compressionThreshold) + `"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			input := []byte(raw)
			reader := NewReader("")
			want := mustParse(t, raw)
			taken, err := reader.Take(input)
			if err != nil {
				t.Fatal(err)
			}
			if &taken.json[0] != &input[0] {
				t.Error("its bytes were copied")
			}
			reader.Keep(taken)
			clear(input)
			if got := string(taken.JSON()); got != string(want.JSON()) {
				t.Errorf("it became %.200s, want %.200s", got, want.JSON())
			}
			if diff := cmp.Diff(want, taken, cmp.AllowUnexported(Object{}), cmpopts.IgnoreFields(Object{}, "json", "size")); diff != "" {
				t.Errorf("what was read of it (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAReaderRefusesTheSameEachTime(t *testing.T) {
	reader := NewReader("")
	for raw, want := range map[string]string{
		`{"kind":5}`:                                   "kind: expected a string, found 5",
		`{"metadata":{"labels":{"a":1}}}`:              "metadata.labels[a]: expected a string, found 1",
		`{"metadata":{"ownerReferences":[{"uid":5}]}}`: "metadata.ownerReferences: a JSON number is not allowed here",
	} {
		for range 2 {
			if _, err := reader.Parse([]byte(raw)); err == nil || err.Error() != want {
				t.Errorf("%s: error %v, want %s", raw, err, want)
			}
		}
	}
}

// held returns how many bytes each of many objects in a cache takes in addition to its JSON.
func held(t testing.TB) int {
	const parents, children = 2000, 4
	objects := make([]*Object, 0, parents*children)
	reader := NewReader(FieldManager)
	before, size := heap(), 0
	for parent := range parents {
		for child := range children {
			o, err := reader.Parse(ofParent(parent, child))
			if err != nil {
				t.Fatal(err)
			}
			objects, size = append(objects, o), size+cap(o.json)
		}
	}
	all := heap() - before
	runtime.KeepAlive(objects)
	runtime.KeepAlive(reader)
	return (all - size) / len(objects)
}

// heap is how many bytes there are that are in use.
func heap() int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // the first may leave what pools hold
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// BenchmarkHeld shows what an object holds beside its JSON.
func BenchmarkHeld(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(held(b)), "B/object")
	}
}

// The object itself is 352 bytes, its name, UID and resource version are some 80. The rest is its
// part of the labels and owners of four children, and by what the size of its JSON is rounded
// up. Without sharing it were 994.
func TestWhatAnObjectHolds(t *testing.T) {
	if got, most := held(t), 630; got > most {
		t.Errorf("each object holds %d bytes beside its JSON, want %d at most", got, most)
	}
}

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
