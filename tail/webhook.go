package tail

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Webhook delivers messages by HTTP POST, at least once: a message leaves the
// outbox when the receiver has answered with 2xx. The receiver knows a message that
// comes again by its Idempotency-Key.
type Webhook struct {
	URL       string
	Secret    []byte // signs the body: X-Isodetect-Signature: sha256=HEX; nil = not signed
	PerMinute int    // at most so many messages a minute; more wait
	Client    *http.Client
	Clock     Clock
	// Failed is told, once until a delivery works again, why one did not, and each time
	// that a message is put aside.
	Failed func(error)

	refused atomic.Int64 // messages that are kept aside
}

const (
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
	minute     = time.Minute

	// maxRefusals is how often a message is posted that the receiver refuses for good:
	// over some two minutes, as one that is just being set up may take.
	maxRefusals = 8
)

// refusal is an answer that will not change however often it is asked for.
type refusal struct{ status string }

func (r refusal) Error() string { return "the webhook answered " + r.status }

// Run delivers what the store's outbox holds until ctx ends. wake tells that there
// may be something new. A message that is refused for good again and again is put aside,
// so that those behind it come through.
func (w *Webhook) Run(ctx context.Context, s *Store, wake <-chan struct{}) {
	backoff := minBackoff
	var sent []time.Time // of the last minute
	failing, refusals := false, 0
	for ctx.Err() == nil {
		key, message, err := s.Oldest()
		if err == nil && message == nil {
			select {
			case <-ctx.Done():
			case <-wake:
			}
			continue
		}
		now := w.Clock.Now()
		for len(sent) > 0 && now.Sub(sent[0]) >= minute {
			sent = sent[1:]
		}
		if w.PerMinute > 0 && len(sent) >= w.PerMinute {
			w.Clock.Wait(ctx, minute-now.Sub(sent[0]))
			continue
		}
		if err == nil {
			sent = append(sent, now)
			if err = w.post(ctx, message); err == nil {
				err = s.Delivered(key)
			}
		}
		if err != nil {
			if !failing && ctx.Err() == nil && w.Failed != nil {
				w.Failed(err)
			}
			failing = true
			if r := (refusal{}); errors.As(err, &r) {
				refusals++
			}
			if refusals >= maxRefusals && w.putAside(s, key, message, err) {
				backoff, refusals = minBackoff, 0
				continue
			}
			w.Clock.Wait(ctx, backoff)
			backoff = min(2*backoff, maxBackoff)
			continue
		}
		backoff, failing, refusals = minBackoff, false, 0
	}
}

// putAside keeps a message where it holds nothing back, and reports whether it could.
func (w *Webhook) putAside(s *Store, key uint64, message []byte, why error) bool {
	if err := s.Refuse(key, why.Error()); err != nil {
		return false
	}
	w.refused.Add(1)
	if w.Failed != nil {
		name, _, _ := bytes.Cut(message, []byte("\n"))
		w.Failed(fmt.Errorf("%s: %w; it is kept aside after %d attempts, and --webhook-retry posts it again", name, why, maxRefusals))
	}
	return true
}

// maxAnswer bounds how much of an answer is read.
const maxAnswer = 4 << 10

func (w *Webhook) post(ctx context.Context, message []byte) error {
	key, body, _ := bytes.Cut(message, []byte("\n"))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cannot call the webhook: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", string(key))
	req.Header.Set("User-Agent", "isodetect")
	if len(w.Secret) > 0 {
		req.Header.Set("X-Isodetect-Signature", Signature(w.Secret, body))
	}
	resp, err := w.Client.Do(req)
	if err != nil {
		return fmt.Errorf("cannot call the webhook: %w", err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer))
	if c := resp.StatusCode; c/100 == 4 && c != http.StatusRequestTimeout && c != http.StatusTooManyRequests {
		return refusal{resp.Status}
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook answered %s", resp.Status)
	}
	return nil
}

// Signature signs a body: sha256= and the HMAC-SHA256 of it in hex.
func Signature(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// message is what an outbox holds: the idempotency key, a line feed, the body.
func message(key string, body []byte) []byte {
	return append([]byte(key+"\n"), body...)
}
