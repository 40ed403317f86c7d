package tail

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
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
	// Failed is told, once until a delivery works again, why one did not.
	Failed func(error)
}

const (
	minBackoff = time.Second
	maxBackoff = 5 * time.Minute
	minute     = time.Minute
)

// Run delivers what the store's outbox holds until ctx ends. wake tells that there
// may be something new.
func (w *Webhook) Run(ctx context.Context, s *Store, wake <-chan struct{}) {
	backoff := minBackoff
	var sent []time.Time // of the last minute
	failing := false
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
			w.Clock.Wait(ctx, backoff)
			backoff = min(2*backoff, maxBackoff)
			continue
		}
		backoff, failing = minBackoff, false
	}
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
