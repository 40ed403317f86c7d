"""What clients may send past the emitter of docs/emitters/asgi.py: it must pass every byte on,
hold no more than its limit, and write lines that are whole.

    python asgi_hostile.py
"""
import asyncio
import io
import json

from asgi_events import LIMIT, Events

out = io.StringIO()


async def echo(scope, receive, send):
    body, more = b"", True
    while more:
        event = await receive()
        body, more = body + event.get("body", b""), event.get("more_body")
    await send({"type": "http.response.start", "status": 200, "headers": [(b"Mcp-Session-Id", b"s1")]})
    await send({"type": "http.response.body", "body": body})


events = Events(echo, out=out)


def post(*chunks, headers=()):
    sent, waiting = [], [{"type": "http.request", "body": c, "more_body": i + 1 < len(chunks)} for i, c in enumerate(chunks)]

    async def receive():
        return waiting.pop(0)

    async def send(event):
        sent.append(event)

    asyncio.run(events({"type": "http", "path": "/mcp", "method": "POST", "headers": list(headers)}, receive, send))
    assert sent[1]["body"] == b"".join(chunks), "the body did not arrive as it was sent"


for body in (b"", b"null", b"[1]", b"[" * LIMIT, b"\xff" * 50, b'{"id":{},"method":7}', b'{"id":true,"method":"x"}',
             b'{"id":1,"method":"initialize","params":[1]}',
             b'{"id":1,"method":"initialize","params":{"capabilities":{"a":1,"b":{"c":2}},"clientInfo":3}}'):
    post(body)
post(b'{"id":1,"method":"tools/call","x":"' + b"secret" * 5000, *[b"secret" * 5000] * 50, b'"}')
post(b'{"id":"a\\n\\u2028\\ud800","method":"tools/call"}', headers=[(b"mcp-session-id", b"x\r\ny"), (b"user-agent", b'"\n' * 9000)])

lines = out.getvalue().split("\n")
assert lines.pop() == "" and len(lines) > 15, "the last line is torn, or lines are missing"
for line in lines:
    assert line.startswith('{"isodetect":"1"') and json.loads(line) and len(line) < 16000, line
assert "secret" not in out.getvalue(), "an argument was logged"
