package signals

import "embed"

// examples holds, for each signal, the finding that its sample shows, as the text
// report prints it at 80 columns. A test of the docs keeps it true.
//
//go:embed examples
var examples embed.FS

// Witness is a worked example: the finding that the sample of a signal shows; ""
// where there is no sample.
func (s *Signal) Witness() string {
	text, err := examples.ReadFile("examples/" + s.Name + ".txt")
	if err != nil {
		return ""
	}
	return string(text)
}
