package receiver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The signature is that of `printf %s BODY | openssl dgst -sha256 -hmac hush`.
const (
	finding = `{"signal":"token_collision"}`
	signed  = "sha256=f8c157bb56915218cb1918c146f8c026308d6da95eab4578262106bba70fb6b8"
)

func TestReceiver(t *testing.T) {
	var got []string
	var down error
	h := Handler([]byte("hush"), func(body []byte) error {
		if down == nil {
			got = append(got, string(body))
		}
		return down
	})
	f := func(body, signature, key string, wantStatus, wantFindings int) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("X-Isodetect-Signature", signature)
		r.Header.Set("Idempotency-Key", key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != wantStatus || len(got) != wantFindings {
			t.Errorf("%s, %s, %s: status %d, %d findings; want %d, %d", body, signature, key, w.Code, len(got), wantStatus, wantFindings)
		}
	}
	f(finding, "", "a-probable", 401, 0)
	f(finding, "sha256=", "a-probable", 401, 0)
	f(finding, strings.ToUpper(signed), "a-probable", 401, 0)
	f(finding+" ", signed, "a-probable", 401, 0)
	down = errors.New("full")
	f(finding, signed, "a-probable", 503, 0)
	down = nil
	f(finding, signed, "a-probable", 204, 1) // posted again
	f(finding, signed, "a-probable", 204, 1)
	f(finding, signed, "a-confirmed", 204, 2)
	f(strings.Repeat("x", 2<<20), signed, "b-confirmed", 401, 2)
}
