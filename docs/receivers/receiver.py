"""Takes what isodetect tail posts and prints each finding once: python3 receiver.py 8080 SECRET-FILE"""
import hashlib, hmac, http.server, sys

secret, seen = open(sys.argv[2], "rb").read().strip(), set()  # a real one keeps seen where it survives

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), 1 << 20))
        want = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
        signed = hmac.compare_digest(want.encode(), self.headers.get("X-Isodetect-Signature", "").encode())
        key = self.headers.get("Idempotency-Key")
        if signed and key not in seen:
            print(body.decode(), flush=True)
            seen.add(key)  # after the work: what fails here is posted again
        self.send_response(204 if signed else 401)
        self.end_headers()

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
