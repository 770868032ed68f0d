"""Headers of every answer: no other host, no markup from texts, no traces."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from askance.collect.server.http_wrapper import HttpWrapper

_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ]
)
#: Forms of the administration, and of people who roll their own die, are sent to this server; on all other pages a form
#: sends nothing, whatever happens to its script: no truth leaves by accident.
FORM_POLICY = _POLICY.replace("form-action 'none'", "form-action 'self'")
#: What every answer says.
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
# Browsers that send no referrer say no origin of a form either, and the administration asks for it.
_ADMIN = HEADERS | {"Content-Security-Policy": FORM_POLICY, "Referrer-Policy": "same-origin"}


def _raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


class SafeHeaders(HttpWrapper):
    """Adds the headers to whatever an application answers."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._headers, self._of_admin = _raw(HEADERS), _raw(_ADMIN)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        more = self._of_admin if scope["path"].startswith("/admin") else self._headers

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message["headers"]}  # a page may name digests of its own
                message["headers"] = [*message["headers"], *(header for header in more if header[0] not in own)]
            await send(message)

        await self._app(scope, receive, send_safely)
