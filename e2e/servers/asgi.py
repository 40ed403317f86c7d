"""An MCP server of python-sdk under uvicorn, with the emitter of docs/emitters around it.

    python asgi.py PORT [fallback]

fallback makes the mistake: a request without a session id gets the newest session's.
"""
import asyncio
import sys

import uvicorn
from asgi_events import Events
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("e2e")


@server.tool()
async def wait(ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    await asyncio.sleep(0.4)
    return "done"


class Newest:
    """Hands a request without a session id to the newest session, as a wrong lookup does."""

    def __init__(self, app):
        self.app, self.newest = app, None

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        asked = dict(scope["headers"]).get(b"mcp-session-id")
        lost = not asked and self.newest and b"mcp-protocol-version" in dict(scope["headers"])  # initialize has no such header
        if lost:
            scope = {**scope, "headers": [*scope["headers"], (b"mcp-session-id", self.newest)]}

        async def keep(event):
            if event["type"] == "http.response.start" and not asked and not lost:
                self.newest = dict(event["headers"]).get(b"mcp-session-id", self.newest)
            await send(event)

        await self.app(scope, receive, keep)


app = server.streamable_http_app()
if sys.argv[2:] == ["fallback"]:
    app = Newest(app)
uvicorn.run(Events(app), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
