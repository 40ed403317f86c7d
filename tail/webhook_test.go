package tail

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// waits is a clock that notes how long is waited, and lets time pass at once.
type waits struct {
	mu   sync.Mutex
	now  time.Time
	list []time.Duration
}

func (c *waits) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *waits) Wait(_ context.Context, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.list = append(c.list, d)
}

// outbox is a store with messages to deliver.
func outbox(t *testing.T, bodies ...string) *Store {
	t.Helper()
	s, err := OpenStore(filepath.Join(t.TempDir(), "s.db"), "test", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	var messages [][]byte
	for i, b := range bodies {
		messages = append(messages, message(fmt.Sprintf("key-%d", i), []byte(b)))
	}
	if err := s.Tell(struct{}{}, messages); err != nil {
		t.Fatal(err)
	}
	return s
}

// delivered runs a webhook until the receiver got n messages, and returns what came.
func delivered(t *testing.T, w *Webhook, s *Store, n int, answer func(i int) int) (got []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	i := 0
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		code := answer(i)
		i++
		got = append(got, fmt.Sprintf("%d %s %s %s", code, r.Header.Get("Idempotency-Key"), body, r.Header.Get("X-Isodetect-Signature")))
		rw.WriteHeader(code)
		if len(got) == n {
			cancel()
		}
	}))
	defer srv.Close()
	w.URL, w.Client = srv.URL, srv.Client()
	w.Run(ctx, s, make(chan struct{}))
	return got
}

// What is refused comes again, later each time, and in order; it stays until it is taken.
func TestWebhookTriesAgain(t *testing.T) {
	s := outbox(t, "a", "b")
	clock := &waits{now: time.Unix(1e9, 0)}
	var failed []string
	w := &Webhook{Clock: clock, Secret: []byte("k"), Failed: func(err error) { failed = append(failed, err.Error()) }}
	got := delivered(t, w, s, 5, func(i int) int { return []int{500, 429, 200, 302, 204}[i] })
	sig := func(b string) string { return Signature([]byte("k"), []byte(b)) }
	want := []string{"500 key-0 a " + sig("a"), "429 key-0 a " + sig("a"), "200 key-0 a " + sig("a"), "302 key-1 b " + sig("b"), "204 key-1 b " + sig("b")}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if fmt.Sprint(clock.list[:3]) != "[1s 2s 1s]" {
		t.Errorf("waited %v", clock.list)
	}
	if len(failed) != 2 || !strings.Contains(failed[0], "answered 500") {
		t.Errorf("told %q", failed)
	}
}

// What is refused for good is put aside after a while and holds nothing back; it is
// kept with the reason, and comes again when that is asked for.
func TestWebhookPutsAside(t *testing.T) {
	s := outbox(t, "a", "b", "c")
	clock := &waits{now: time.Unix(1e9, 0)}
	var failed []string
	w := &Webhook{Clock: clock, Failed: func(err error) { failed = append(failed, err.Error()) }}
	codes := append([]int{408, 429}, slices.Repeat([]int{422}, maxRefusals)...)
	codes = append(codes, 200, 204)
	got := delivered(t, w, s, len(codes), func(i int) int { return codes[i] })
	if want := []string{"422 key-0 a ", "200 key-1 b ", "204 key-2 c "}; !slices.Equal(got[len(got)-3:], want) {
		t.Errorf("at last came %q, want %q", got[len(got)-3:], want)
	}
	list, err := s.Refused()
	if err != nil || len(list) != 1 || list[0].Key != "key-0" || !strings.Contains(list[0].Why, "422 Unprocessable Entity") || w.refused.Load() != 1 {
		t.Errorf("kept aside: %v (%v), counted %d", list, err, w.refused.Load())
	}
	if len(failed) != 2 || !strings.Contains(failed[1], "key-0: the webhook answered 422") {
		t.Errorf("told %q", failed)
	}
	if err := s.Retry(); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Refused(); err != nil || len(list) != 0 {
		t.Errorf("still aside: %v (%v)", list, err)
	}
	if got := delivered(t, w, s, 1, func(int) int { return 200 }); !slices.Equal(got, []string{"200 key-0 a "}) {
		t.Errorf("again came %q", got)
	}
}

// No more than so many a minute; the rest waits.
func TestWebhookIsBounded(t *testing.T) {
	s := outbox(t, "a", "b", "c", "d", "e")
	clock := &waits{now: time.Unix(1e9, 0)}
	got := delivered(t, &Webhook{Clock: clock, PerMinute: 2}, s, 5, func(int) int { return 200 })
	if len(got) != 5 || len(clock.list) < 2 || clock.list[0] != time.Minute || clock.list[1] != time.Minute {
		t.Errorf("%d came, waited %v", len(got), clock.list)
	}
}

func TestLabelValue(t *testing.T) {
	if got := labelValue("a\"b\\c\nd\xff"); got != `a\"b\\c\nd`+"\uFFFD" {
		t.Errorf("%q", got)
	}
}
