"""A signer whose key lies in a running ssh-agent (draft-miller-ssh-agent), and never leaves it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from paramiko.agent import Agent
from paramiko.ssh_exception import SSHException
from securesystemslib.signer import Key, SecretsHandler, Signature, Signer, SSlibKey

from kstore.attest.key import KIND, PublicKey
from kstore.attest.private_key import KeyFileError

if TYPE_CHECKING:
    from paramiko.agent import AgentKey


class AgentSigner(Signer):
    """The private half of a key, as an agent has it."""

    def __init__(self, key: PublicKey, public_key: SSlibKey) -> None:
        """Find a key in the agent that SSH_AUTH_SOCK names.

        Raises:
            KeyFileError: There is no agent, or it does not have the key.
        """
        agent = _agent()
        weakref.finalize(self, agent.close)
        self._key = _in_agent(agent, key)
        self._public_key = public_key

    @property
    def public_key(self) -> SSlibKey:
        """The key's public half."""
        return self._public_key

    def sign(self, payload: bytes) -> Signature:
        """Have the agent sign.

        Raises:
            KeyFileError: The agent refuses, or is gone.
        """
        try:
            blob = self._key.sign_ssh_data(payload)
        except (SSHException, OSError) as error:
            raise KeyFileError(f"ssh-agent does not sign with {self._public_key.keyid}: {error}") from None
        # RFC 8709, section 6: the key's kind, then the 64 bytes, each with its length before it.
        prefix = len(KIND).to_bytes(4, "big") + KIND.encode() + (64).to_bytes(4, "big")
        if not blob.startswith(prefix):
            raise KeyFileError(f"ssh-agent answers with something else than a signature of {self._public_key.keyid}")
        return Signature(self._public_key.keyid, blob[len(prefix) :].hex())

    @classmethod
    def from_priv_key_uri(
        cls, priv_key_uri: str, public_key: Key, secrets_handler: SecretsHandler | None = None
    ) -> Signer:
        """Refuse: such a key is named by its public half alone."""
        raise NotImplementedError


def _agent() -> Agent:
    try:
        return Agent()
    except (SSHException, OSError) as error:
        raise KeyFileError(f"the ssh-agent that SSH_AUTH_SOCK names does not answer: {error}") from None


def _in_agent(agent: Agent, key: PublicKey) -> AgentKey:
    keys = agent.get_keys()
    wanted = str(key).split()[1]
    for each in keys:
        # A certificate of the same key has another blob, and is no key.
        if each.get_name() == KIND and each.get_base64() == wanted:
            return each
    raise KeyFileError(
        f"no ssh-agent has the private key of {key.id}"
        + (f": the one that runs has {len(keys)} others" if keys else ": none runs, or it has no keys")
        + "; start one with `eval $(ssh-agent)`, add the key with `ssh-add`, or give the file of the private key"
    )
