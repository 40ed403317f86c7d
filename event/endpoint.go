package event

// EndpointPath returns the path of an announced endpoint: of a URI reference
// without query, with one trailing slash dropped.
func EndpointPath(uri string) string {
	for i := 0; i < len(uri); i++ {
		if uri[i] == '?' || uri[i] == '#' {
			uri = uri[:i]
			break
		}
	}
	for i := 0; i+2 < len(uri); i++ {
		if uri[i:i+3] == "://" {
			rest := uri[i+3:]
			for j := 0; j < len(rest); j++ {
				if rest[j] == '/' {
					uri = rest[j:]
					break
				}
			}
			break
		}
	}
	if len(uri) == 0 || uri[0] != '/' {
		return ""
	}
	if len(uri) > 1 && uri[len(uri)-1] == '/' {
		uri = uri[:len(uri)-1]
	}
	return uri
}
