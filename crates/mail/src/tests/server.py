"""A server of SMTP for the tests of letters, made of aiosmtpd.

Prints its port, then a line of JSON for each letter that it took. What it does is said by the name
before the `@` of whom a letter is for.
"""

import asyncio
import json
import logging
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword


# Clients that go away are what is tested.
logging.disable(logging.CRITICAL)


class Handler:
    def __init__(self):
        self.grey = set()

    async def handle_RCPT(self, server, session, envelope, address, options):
        name = address.split("@")[0]
        if name == "refused":
            return f"550 5.1.1 <{address}> is nobody here"
        if name == "grey" and address not in self.grey:
            self.grey.add(address)
            return "451 4.7.1 greylisted, come again"
        if name == "hang":
            await asyncio.sleep(600)
        if name == "drop":
            server.transport.abort()
            await asyncio.sleep(1)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        name = envelope.rcpt_tos[0].split("@")[0]
        if name == "spam":
            return "554 5.7.1 not this"
        taken = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "tls": server.transport.get_extra_info("sslcontext") is not None,
            "user": session.auth_data.login.decode() if session.authenticated else None,
            "hello": session.host_name,
            "content": envelope.original_content.decode(),
        }
        print(json.dumps(taken), flush=True)
        return "250 taken"


def authenticate(server, session, envelope, mechanism, data):
    good = isinstance(data, LoginPassword) and data.password == b"right"
    return AuthResult(success=good, handled=False, auth_data=data)


async def main(mode, certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    handler = Handler()

    def protocol():
        return SMTP(
            handler,
            tls_context=context if mode == "starttls" else None,
            authenticator=authenticate,
            auth_require_tls=mode == "starttls",
            hostname="localhost",
        )

    loop = asyncio.get_running_loop()
    implicit = context if mode == "implicit" else None
    server = await loop.create_server(protocol, "127.0.0.1", 0, ssl=implicit)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
