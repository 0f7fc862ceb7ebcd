"""`ControlPlane`: etcd, kube-apiserver and kube-controller-manager as local processes, for tests and development."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import re
import shutil
import signal
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kubewright.durations import format_duration
from kubewright.kubelet import NodeCredentials
from kubewright.progress import Progress
from kubewright.testing._errors import ControlPlaneError
from kubewright.testing._flags import Flags, apiserver_flags, command, controller_manager_flags, etcd_flags
from kubewright.testing._https import Https
from kubewright.testing._ports import free_port
from kubewright.testing._processes import Supervisor
from kubewright.testing._proxy import Proxy
from kubewright.testing.binaries import ETCD, KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, setup_binaries

if TYPE_CHECKING:
    from kubewright.certificates import CertificateAuthority, KeyPair
    from kubewright.testing._gateway import Gateway
    from kubewright.testing._service_account import ServiceAccount

__all__ = ["ControlPlane"]

_START_SECONDS = 90.0
_POLL_SECONDS = 0.05
_PORT_TRIES = 5
_APISERVER_GRACE = 10.0
_LOG_TAIL = 20
_ADMIN = "kubewright-admin"
_PORT_TAKEN = "address already in use"


class ControlPlane:
    """A real control plane of one pinned Kubernetes version: TLS, RBAC and service accounts, no nodes.

    Use it as a context manager, plain or async, or with `start` and `stop`. It has its own ports, certificates and
    files, so several can run in parallel. When this Python process ends, even by SIGKILL, its servers and files are
    removed.

    All methods block and may be called from any thread; from async code use `asyncio.to_thread`.

    `controllers` also starts kube-controller-manager, and pods then need a service account as in a cluster.
    `feature_gates` and `apiserver_flags` (names without dashes) are flags of kube-apiserver and override the defaults.
    `log_directory` keeps the logs of the servers after `stop`. `binaries` is the folder of the binaries. Default:
    missing ones are downloaded or built, and `progress` reports it.
    """

    def __init__(
        self,
        *,
        controllers: bool = False,
        feature_gates: Mapping[str, bool] | None = None,
        apiserver_flags: Flags | None = None,
        controller_manager_flags: Flags | None = None,
        log_directory: Path | None = None,
        binaries: Path | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._with_controllers = controllers
        self._controllers_running = False
        self._apiserver_flags = dict(apiserver_flags or {})
        if feature_gates:
            gates = ",".join(f"{gate}={str(on).lower()}" for gate, on in feature_gates.items())
            self._apiserver_flags["feature-gates"] = gates
        self._controller_manager_flags = dict(controller_manager_flags or {})
        self._log_directory = log_directory
        self._binaries = binaries
        self._progress = progress
        self._supervisor: Supervisor | None = None
        self._lock = threading.RLock()
        self._proxies: list[Proxy | Gateway] = []

    # Start and stop

    def start(self) -> Self:
        """Starts everything and waits until it is ready. Raises ControlPlaneError with the last log lines."""
        with self._lock:
            if self._supervisor is not None:
                raise ControlPlaneError("this control plane is already running")
            self._binaries = self._binaries or setup_binaries(self._progress)
            self._supervisor = Supervisor()
            try:
                self._prepare_files()
                self._start_on_free_port(self._start_etcd)
                self._start_on_free_port(self._start_first_apiserver)
                if self._with_controllers:
                    self.ensure_controllers()
            except BaseException:
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """Ends every process and removes every file. Does nothing if it is not running."""
        with self._lock:
            supervisor, self._supervisor = self._supervisor, None
            for proxy in self._proxies:
                proxy.close()
            self._proxies.clear()
            self._controllers_running = False
            if supervisor is not None:
                supervisor.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    def ensure_controllers(self) -> None:
        """Starts kube-controller-manager unless it runs, and waits until its controllers work."""
        with self._lock:
            if self._controllers_running and self._running().exit_code(KUBE_CONTROLLER_MANAGER) is None:
                return
            flags = controller_manager_flags(self._files) | self._controller_manager_flags
            self._run(KUBE_CONTROLLER_MANAGER, flags)
            self._wait(KUBE_CONTROLLER_MANAGER, self._controllers_work)
            self._controllers_running = True

    # Access

    @property
    def url(self) -> str:
        """The URL of kube-apiserver."""
        self._running()
        return f"https://127.0.0.1:{self._apiserver_port}"

    @property
    def ca(self) -> bytes:
        """The CA certificate of the server, PEM."""
        self._running()
        return self._authority.pair.certificate

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of an administrator."""
        self._running()
        return self._files / "admin.kubeconfig"

    @property
    def binaries(self) -> Path:
        """The folder of the binaries, including kubectl."""
        self._running()
        assert self._binaries is not None
        return self._binaries

    def add_user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """Returns the kubeconfig of a new user, who has only the permissions that RBAC grants to the name or groups."""
        if not name:
            raise ControlPlaneError("a user needs a name")
        self._running()
        safe = re.sub(r"[^A-Za-z0-9.-]", "_", name)[:64]
        path = self._files / f"user-{next(self._numbers)}-{safe}.kubeconfig"
        self._write_kubeconfig(path, self.url, name, self._authority.issue(name, groups))
        return path

    def node_credentials(self, node: str, address: str = "127.0.0.1") -> NodeCredentials:
        """Returns the certificates with which the kubelet of a node serves logs, exec and port-forwarding."""
        self._running()
        return NodeCredentials(self._authority.issue(f"system:node:{node}", hosts=(node, address)), self.ca)

    def add_service_account(self, name: str, namespace: str = "default") -> ServiceAccount:
        """Returns a new service account with a token file. RBAC grants its permissions."""
        from kubewright.testing._service_account import ServiceAccount  # imports cryptography, which is slow

        return ServiceAccount(self, name, namespace, self._files)

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Sends a request as the admin and returns the JSON. Raises ControlPlaneError unless the status is 2xx."""
        self._running()
        try:
            status, answer = self._apiserver.request(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            raise ControlPlaneError(f"{method} {path}: {error}") from error
        if not 200 <= status < 300:
            message = answer.get("message") if isinstance(answer, dict) else answer
            raise ControlPlaneError(f"{method} {path}: {status} {message}")
        return answer

    def log_file(self, server: str) -> Path:
        """Returns the log file of `etcd`, `kube-apiserver` or `kube-controller-manager`, across its restarts."""
        self._running()
        return (self._log_directory or self._files) / f"{server}.log"

    # Faults

    def restart_apiserver(self) -> None:
        """Stops kube-apiserver gracefully, starts it on the same port, and waits until it is ready."""
        with self._lock:
            self._running().stop(KUBE_APISERVER, grace=_APISERVER_GRACE)
            self.start_apiserver()

    def kill_apiserver(self) -> None:
        """Kills kube-apiserver (SIGKILL). `start_apiserver` starts it again."""
        with self._lock:
            self._running().stop(KUBE_APISERVER, grace=0)

    def start_apiserver(self) -> None:
        """Starts kube-apiserver again after `kill_apiserver`, on the same port, and waits until it is ready."""
        with self._lock:
            if self._running().exit_code(KUBE_APISERVER) is None:
                raise ControlPlaneError("kube-apiserver is already running")
            self._start_apiserver()

    def pause_apiserver(self) -> None:
        """Pauses kube-apiserver (SIGSTOP): connections stay open without responses."""
        self._running().signal(KUBE_APISERVER, signal.SIGSTOP)

    def resume_apiserver(self) -> None:
        """Resumes kube-apiserver after `pause_apiserver`."""
        self._running().signal(KUBE_APISERVER, signal.SIGCONT)

    @contextlib.contextmanager
    def apiserver_paused(self) -> Iterator[None]:
        """Pauses kube-apiserver until the block ends."""
        self.pause_apiserver()
        try:
            yield
        finally:
            self.resume_apiserver()

    def compact(self) -> int:
        """Compacts etcd at its current revision, and returns the revision.

        It does not affect watches and lists that kube-apiserver serves from its watch cache; see `expire_history`.
        """
        _, found = self._request_etcd("/v3/kv/range", {"key": "AA==", "limit": "1"})
        revision = found["header"]["revision"]
        status, answer = self._request_etcd("/v3/kv/compaction", {"revision": revision, "physical": True})
        # Another client, such as kube-apiserver, may have compacted at this revision concurrently.
        if status != 200 and "compacted" not in str(answer):
            raise ControlPlaneError(f"etcd cannot compact at revision {revision}: {answer}")
        return int(revision)

    def expire_history(self) -> None:
        """Expires every resourceVersion so far: a watch from one gets 410 Gone.

        Compacts etcd and restarts kube-apiserver, because the watch cache has its own history.
        """
        with self._lock:
            self.compact()
            self.restart_apiserver()

    def proxy(self) -> Proxy:
        """Returns a new TCP proxy for kube-apiserver, which can reset, stall and reject connections, until `stop`."""
        with self._lock:
            self._running()
            proxy = Proxy(self._apiserver_port)
            self._proxies.append(proxy)
            path = self._files / f"proxy-{next(self._numbers)}.kubeconfig"
            self._write_kubeconfig(path, proxy.url, _ADMIN, self._admin)
            proxy.kubeconfig = path
            return proxy

    def gateway(self) -> Gateway:
        """Returns a new HTTP proxy for kube-apiserver, which can record, reject and drop requests, until `stop`."""
        from kubewright.testing._gateway import Gateway

        with self._lock:
            files, name = self._files, f"gateway-{next(self._numbers)}"
            certificate, key = self._authority.issue(name, hosts=("127.0.0.1",)).write(files, name)
            admin = (files / "admin.crt", files / "admin.key")
            gateway = Gateway(self.url, ca=files / "ca.crt", certificate=certificate, key=key, admin=admin)
            self._proxies.append(gateway)
            gateway.kubeconfig = files / f"{name}.kubeconfig"
            self._write_kubeconfig(gateway.kubeconfig, gateway.url, _ADMIN, self._admin)
            return gateway

    # Internals of the start

    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise ControlPlaneError("this control plane is not running; call start() or use it in a with statement")
        return self._supervisor

    @property
    def _files(self) -> Path:
        return self._running().directory

    def _prepare_files(self) -> None:
        from kubewright.testing._credentials import write_credentials  # imports cryptography, which is slow

        self._numbers = itertools.count(1)
        self._authority: CertificateAuthority
        self._admin: KeyPair
        self._authority, self._admin = write_credentials(self._files, self._apiserver_flags)
        if self._log_directory is not None:
            self._log_directory.mkdir(parents=True, exist_ok=True)

    def _start_on_free_port(self, start: Callable[[int], None]) -> None:
        """Starts a server on a free port, and retries on another if a process took the port first."""
        for left in reversed(range(_PORT_TRIES)):
            try:
                start(free_port())
            except ControlPlaneError as error:
                if not left or _PORT_TAKEN not in str(error):
                    raise
            else:
                return

    def _start_etcd(self, port: int) -> None:
        files = self._files
        # A new log for each attempt: its last lines show whether the port was taken.
        self.log_file(ETCD).unlink(missing_ok=True)
        shutil.rmtree(files / "etcd", ignore_errors=True)
        self._etcd_port = port
        self._etcd = Https(
            port, ca=files / "etcd-ca.crt", certificate=files / "etcd-client.crt", key=files / "etcd-client.key"
        )
        self._run(ETCD, etcd_flags(files, port))
        self._wait(ETCD, lambda: self._etcd.request("GET", "/health", timeout=2)[0] == 200)

    def _start_first_apiserver(self, port: int) -> None:
        files = self._files
        self.log_file(KUBE_APISERVER).unlink(missing_ok=True)
        self._apiserver_port = port
        self._apiserver = Https(port, ca=files / "ca.crt", certificate=files / "admin.crt", key=files / "admin.key")
        self._write_kubeconfig(files / "admin.kubeconfig", self.url, _ADMIN, self._admin)
        self._write_kubeconfig(
            files / "controller-manager.kubeconfig",
            self.url,
            "system:kube-controller-manager",
            self._authority.issue("system:kube-controller-manager", ("system:masters",)),
        )
        self._start_apiserver()

    def _start_apiserver(self) -> None:
        flags = apiserver_flags(
            self._files, self._apiserver_port, self._etcd_port, service_accounts=self._with_controllers
        )
        self._run(KUBE_APISERVER, flags | self._apiserver_flags)
        self._wait(KUBE_APISERVER, self._apiserver_ready)

    def _apiserver_ready(self) -> bool:
        # The server is ready a moment before the default namespaces exist.
        paths = ("/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system")
        return all(self._apiserver.request("GET", path, timeout=2)[0] == 200 for path in paths)

    def _controllers_work(self) -> bool:
        path = "/api/v1/namespaces/default/serviceaccounts/default"
        return self._apiserver.request("GET", path, timeout=2)[0] == 200

    def _run(self, server: str, flags: Flags) -> None:
        assert self._binaries is not None
        self._running().start(server, command(self._binaries / server, flags), self.log_file(server))

    def _wait(self, server: str, ready: Callable[[], bool]) -> None:
        supervisor = self._running()
        deadline = time.monotonic() + _START_SECONDS
        while True:
            code = supervisor.exit_code(server)
            if code is not None:
                raise ControlPlaneError(f"{server} exited with code {code}. {self._log_tail(server)}")
            with contextlib.suppress(OSError, ssl.SSLError, http.client.HTTPException):
                if ready():
                    return
            if time.monotonic() > deadline:
                raise ControlPlaneError(
                    f"{server} is not ready after {format_duration(_START_SECONDS)}. {self._log_tail(server)}"
                )
            time.sleep(_POLL_SECONDS)

    def _log_tail(self, server: str) -> str:
        try:
            lines = self.log_file(server).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        kept = f" (complete log: {self.log_file(server)})" if self._log_directory else ""
        return f"Last log lines{kept}:\n" + "\n".join(lines[-_LOG_TAIL:]) if lines else "Its log is empty."

    def _write_kubeconfig(self, path: Path, server: str, user: str, credentials: KeyPair) -> None:
        from kubewright.kubeconfig import write_kubeconfig

        write_kubeconfig(path, server=server, ca=self._authority.pair.certificate, user=user, credentials=credentials)

    def _request_etcd(self, path: str, body: object) -> tuple[int, Any]:
        self._running()
        try:
            return self._etcd.request("POST", path, body)
        except (OSError, http.client.HTTPException) as error:
            raise ControlPlaneError(f"etcd does not respond: {error}") from error
