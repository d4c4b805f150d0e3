"""Learns how an operation ended whose cluster was lost."""

import asyncio
from itertools import repeat

from proxy.errors import ClusterLost, Rejected
from proxy.session.open_session import cancel_remote
from proxy.statement.operation import Remote
from proxy.statement.states import ENDS

# Seconds between attempts: a server may have to be started again.
_PAUSES = (0.1, 0.5, 2.0, 5.0, 10.0, *repeat(15.0, 20))


async def settle(remote: Remote) -> bool:
    """Whether the operation has certainly ended, asked patiently after a connection broke."""
    for pause in _PAUSES:
        await asyncio.sleep(pause)
        try:
            if (await remote.upstream.poll(remote.operation)).state in ENDS:
                return True
            await cancel_remote(remote)
        except Rejected:
            return True  # the handle is gone, and with it what it stood for
        except ClusterLost:
            continue
    return False
