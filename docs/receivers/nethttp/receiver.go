// Package receiver takes what isodetect tail posts: http.Handle("/isodetect", receiver.Handler(secret, each)).
package receiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"sync"
)

// Handler hands each finding on once, if it is signed with the secret.
func Handler(secret []byte, each func(finding []byte) error) http.Handler {
	var mu sync.Mutex
	seen := map[string]bool{} // a real one keeps it where it survives
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		want := "sha256=" + hex.EncodeToString(mac.Sum(nil))
		if err != nil || !hmac.Equal([]byte(want), []byte(r.Header.Get("X-Isodetect-Signature"))) {
			http.Error(w, "not signed", http.StatusUnauthorized)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if key := r.Header.Get("Idempotency-Key"); !seen[key] {
			if err := each(body); err != nil {
				http.Error(w, "not taken", http.StatusServiceUnavailable) // it is posted again
				return
			}
			seen[key] = true
		}
		w.WriteHeader(http.StatusNoContent)
	})
}
