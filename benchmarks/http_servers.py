"""Servers to compare with: `python benchmarks/http_servers.py echo|nemo-gym`.

Prints its port and serves until it is killed. `echo` is the least that a typed FastAPI route can
do; `nemo-gym` is a resource server of NeMo-Gym itself, in an environment that has it. Both answer
`/verify` with a reward for the text, and neither keeps a record.
"""
# mypy: disable-error-code="import-not-found,misc,untyped-decorator"
# NeMo-Gym is installed in an environment of its own only.

from __future__ import annotations

import socket
import sys
from typing import Any


def echo() -> Any:
    """A typed route of FastAPI and nothing else."""
    from fastapi import FastAPI

    app = FastAPI()

    async def verify(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "reward": 1.0}

    app.post("/verify")(verify)
    return app


def nemo_gym() -> Any:
    """NeMo-Gym's own resource server with a trivial verifier."""
    from nemo_gym.base_resources_server import (
        BaseResourcesServerConfig,
        BaseVerifyRequest,
        BaseVerifyResponse,
        SimpleResourcesServer,
    )
    from nemo_gym.config_types import BaseServerConfig
    from nemo_gym.server_utils import ServerClient
    from omegaconf import OmegaConf

    class Trivial(SimpleResourcesServer):
        config: BaseResourcesServerConfig

        async def verify(self, body: BaseVerifyRequest) -> BaseVerifyResponse:
            return BaseVerifyResponse(**body.model_dump(), reward=1.0)

    # FastAPI reads these by name.
    Trivial.verify.__annotations__ = {"body": BaseVerifyRequest, "return": BaseVerifyResponse}
    config = BaseResourcesServerConfig(host="127.0.0.1", port=1, entrypoint="app.py", name="t")
    client = ServerClient(
        head_server_config=BaseServerConfig(host="127.0.0.1", port=1),
        global_config_dict=OmegaConf.create({}),
    )
    return Trivial(config=config, server_client=client).setup_webserver()


def main() -> None:
    """Serve on a free port."""
    import uvicorn

    app = {"echo": echo, "nemo-gym": nemo_gym}[sys.argv[1]]()
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(1024)  # Whoever reads the port may connect at once.
    print(sock.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run([sock])


if __name__ == "__main__":
    main()
