package exchange

import "errors"

// encoded is a response body with a content-encoding while it comes in. A decoder
// cannot be put away: what came is kept instead, as far as a Builder is to be
// resumed and it is not too much, and decoded again where it was restored.
type encoded struct {
	coding string   // as the response names it; "" = none that has to be undone
	dec    *decoder `snapshot:"-"`
	came   []byte
	lacks  bool // not all that came is kept
	again  bool // what came is decoded again, and was read already
}

const (
	maxCame = 256 << 10 // bytes kept of one body
	maxKept = 16 << 20  // of all bodies of a Builder
)

func (e *encoded) push(piece []byte, r *response) error {
	dec, err := e.decoder(r)
	if err != nil {
		return err
	}
	e.keep(piece, r.x.b)
	return dec.push(piece)
}

func (e *encoded) close(r *response) error {
	if r.mode == modeSkip && e.dec == nil {
		return nil
	}
	dec, err := e.decoder(r)
	if err != nil {
		return err
	}
	return dec.close()
}

// decoder returns the decoder, which is made anew where the Builder was restored.
func (e *encoded) decoder(r *response) (*decoder, error) {
	if e.dec != nil {
		return e.dec, nil
	}
	if e.lacks {
		return nil, errors.New("more of it came before the program was started anew than is kept")
	}
	dec, err := newDecoder(e.coding, r)
	if err != nil {
		return nil, err
	}
	e.dec, e.again = dec, true
	err = dec.push(e.came)
	e.again = false
	return dec, err
}

func (e *encoded) keep(piece []byte, b *Builder) {
	switch {
	case !b.Resumable || e.lacks:
		e.lacks = true
	case len(e.came)+len(piece) > maxCame || b.kept+len(piece) > maxKept:
		e.forget(b)
	default:
		e.came = append(e.came, piece...)
		b.kept += len(piece)
	}
}

func (e *encoded) forget(b *Builder) {
	b.kept -= len(e.came)
	e.came, e.lacks = nil, true
}
