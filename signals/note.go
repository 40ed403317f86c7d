package signals

// NoteKind is one entry of the closed list of notes: worth knowing, no isolation failure, never in the exit code.
type NoteKind struct{ Name, Text string }

// Kinds of notes, as Note.Kind spells them (DETECTION §6).
const (
	NoteFallbackOwn            = "fallback_own"
	NoteImplicitSession        = "implicit_session"
	NoteUnknownSessionAccepted = "unknown_session_accepted"
	NoteCapabilityViolation    = "capability_violation"
	NoteInventedToken          = "invented_token"
	NoteBroadcastUpdate        = "broadcast_update"
	NoteSessionRekeyed         = "session_rekeyed"
	NoteRefusedDuplicate       = "refused_duplicate"
	NoteIDTypeFolded           = "id_type_folded"
	NoteSharedStoreSuspected   = "shared_store_suspected"
	NoteSameInputTwice         = "same_input_twice"
	NotePairedByID             = "paired_by_id"
)

// NoteKinds returns the closed list in the order of the constants.
func NoteKinds() []NoteKind {
	return []NoteKind{
		{NoteFallbackOwn, "A request without a session id was bound to its sender's own session, or no other session was live: no leak here, but the same code binds strangers."},
		{NoteImplicitSession, "A request without a session id was answered with a new one. Ids are assigned with the answer to initialize."},
		{NoteUnknownSessionAccepted, "A session id that was never issued in view was accepted; no other session was touched."},
		{NoteCapabilityViolation, "A client got a request for a capability that it did not declare, and nothing points to another client: the server does not check capabilities."},
		{NoteInventedToken, "Progress carries a token that no request gave."},
		{NoteBroadcastUpdate, "A resource update reached sessions although nobody is subscribed."},
		{NoteSessionRekeyed, "A live session was initialized again; what it declared is unknown from there on."},
		{NoteRefusedDuplicate, "A duplicate id in flight was refused. That is the defence against crossed answers."},
		{NoteIDTypeFolded, "An answer gave back an id with another type, such as \"7\" for 7. Ids were compared as text."},
		{NoteSharedStoreSuspected, "A session issued at one endpoint is used at another: they may share a session store. Join them with --domain if they do."},
		{NoteSameInputTwice, "An input with the same bytes was read already and is skipped."},
		{NotePairedByID, "This recording was paired by request id after the fact. It cannot show crossed answers."},
	}
}

// NoteText returns the text of a kind of note, and "" for a kind that is not in the list.
func NoteText(kind string) string {
	for _, k := range NoteKinds() {
		if k.Name == kind {
			return k.Text
		}
	}
	return ""
}
