"""isodetect native events from an ASGI server: app = Events(app). Needs Python 3.9 and nothing else.

HTTP shows which session a request and its answer name. Which one the server took, and how it
found it, only its own lookup can add: scope["isodetect"].update(session=ID, source="fallback").
"""
import hashlib, itertools, json, os, socket, sys, time
from datetime import datetime, timezone

LIMIT = 65536  # bytes of a request body that are looked at; a longer one passes unread


class Events:
    def __init__(self, app, path="/mcp", out=sys.stdout):
        self.app, self.path, self.out, self.seq = app, path, out, itertools.count(1)
        self.emit("isodetect.meta", {"isodetect.mode": "stateful", "isodetect.emitter": "asgi/1"})

    def emit(self, name, keys):
        line = {"isodetect": "1", "time": datetime.now(timezone.utc).isoformat(timespec="microseconds"), "event.name": name,
                "severity": "INFO", "service.instance.id": f"{socket.gethostname()}:{os.getpid()}", "isodetect.seq": next(self.seq)}
        self.out.write(json.dumps(line | {k: v for k, v in keys.items() if v is not None}, separators=(",", ":")) + "\n")
        self.out.flush()

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or not scope["path"].startswith(self.path):
            return await self.app(scope, receive, send)
        head = {k.lower(): v.decode("latin-1") for k, v in scope["headers"]}
        asked, peer, start = head.get(b"mcp-session-id"), scope.get("client") or (None, None), time.monotonic()
        body, rpc, status, told = b"", {}, 0, scope.setdefault("isodetect", {})

        def tell(name, **more):
            id = rpc.get("id")
            self.emit(name, {"isodetect.session.hash": hashed(told.get("session")), "isodetect.session.header_present": asked is not None,
                "isodetect.session.presented": hashed(asked), "mcp.method.name": text(rpc.get("method")), "jsonrpc.request.id": text(id),
                "isodetect.rpc.id_type": text(id) and ("string" if isinstance(id, str) else "number"), "network.transport": "tcp",
                "client.address": peer[0], "client.port": peer[1], "user_agent.original": text(head.get(b"user-agent"))} | more)

        async def read():
            nonlocal body, rpc
            event = await receive()
            if event["type"] == "http.request" and len(body) <= LIMIT:
                body += event.get("body", b"")[:LIMIT + 1]
                if not event.get("more_body"):
                    rpc = message(body)
                    if call(rpc):
                        tell("mcp.request.started")
            return event

        async def write(event):
            nonlocal status
            if event["type"] == "http.response.start":
                status, begins = event["status"], rpc.get("method") == "initialize"
                named = (v.decode("latin-1") for k, v in event.get("headers", ()) if k.lower() == b"mcp-session-id")
                told.setdefault("session", next(named, None))
                if status < 400 and begins and told["session"]:
                    tell("mcp.session.created", **client(rpc.get("params")))
                if status < 400:
                    source = told.get("source") or ("header" if asked else "initialize" if begins else "none")
                    tell("mcp.session.resolved", **{"isodetect.session.source": source})
                if status < 400 and scope["method"] == "DELETE" and asked:
                    self.emit("mcp.session.closed", {"isodetect.session.hash": hashed(asked), "isodetect.session.end": "delete"})
            elif event["type"] == "http.response.body" and not event.get("more_body") and call(rpc):
                tell("mcp.request.finished", **{"http.response.status_code": status, "isodetect.outcome": "error" if status >= 400 else None,
                     "isodetect.duration_ms": round((time.monotonic() - start) * 1000, 3)})
            await send(event)

        await self.app(scope, read, write)


def hashed(id):  # session ids work like passwords: return id itself only where the log is kept like one
    return id and "sha256:" + hashlib.sha256(id.encode()).hexdigest()[:16]


def text(value):
    return str(value)[:200] or None if type(value) in (str, int, float) else None


def call(rpc):
    return text(rpc.get("id")) and text(rpc.get("method"))


def message(body):  # one JSON-RPC message; anything else says nothing
    try:
        value = json.loads(body) if len(body) <= LIMIT else {}
    except (ValueError, RecursionError):
        value = {}
    return value if isinstance(value, dict) else {}


def client(params):  # what initialize declares
    params = params if isinstance(params, dict) else {}
    caps, info = (v if isinstance(v := params.get(k), dict) else {} for k in ("capabilities", "clientInfo"))
    paths = [p for k, v in caps.items() for p in ([f"{k}.{s}" for s in v] if v and isinstance(v, dict) else [k])]
    return {"isodetect.capabilities": sorted(p[:200] for p in paths)[:50], "isodetect.session.trigger": "initialize",
            "isodetect.client.name": text(info.get("name")), "isodetect.client.version": text(info.get("version"))}
