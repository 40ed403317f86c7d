package signals

// All returns the catalogue in the order in which reports list it. The slice is
// the caller's; the signals behind it are shared and never change.
func All() []*Signal {
	return []*Signal{
		FallbackResolution, CapabilityDrift, TokenCollision, CancellationCrosstalk, SubscriptionBleed, ResponseCrossing,
		SharedSession,
	}
}

// ByName returns the signal of that name, as reports and flags spell it, and nil if there is none.
func ByName(name string) *Signal {
	for _, s := range All() {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Names returns the names of all signals in the order of All.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// Variant returns the variant of that name, and false if the signal has none such.
func (s *Signal) Variant(name string) (Variant, bool) {
	for _, v := range s.Variants {
		if v.Name == name {
			return v, true
		}
	}
	return Variant{}, false
}

// FamilyOf returns the family of a variant: its own, else the signal's. An
// empty or unknown name gives the signal's.
func (s *Signal) FamilyOf(variant string) Family {
	if v, ok := s.Variant(variant); ok && v.Family != "" {
		return v.Family
	}
	return s.Family
}

// The inputs that Look.Input names.
const (
	InCapture = "capture"       // pcap and pcapng
	InHAR     = "HAR"           // browser or proxy export
	InWire    = "wire JSONL"    // isodetect/wire/v1
	InLog     = "log"           // structured or text server and access logs
	InNative  = "native events" // lines whose first key is "isodetect"
)

// version that brought the first signals.
const first = "0.1.0"
