"""etcd, kube-apiserver and kube-controller-manager as processes of this machine, for one test run or one developer."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
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
_ADMIN = ("kubewright-admin", ("system:masters",))
_PORT_TAKEN = "address already in use"


class ControlPlane:
    """A real control plane of one pinned Kubernetes version: TLS, RBAC and service accounts, no nodes.

    A context manager, plain or async; or `start` and `stop`. It has ports, certificates and files of its own, so any
    number can run side by side. When this Python process ends, in whichever way, its servers and files are gone too.

    All methods block and may be called from any thread; from async code use `asyncio.to_thread`.

    `controllers` starts kube-controller-manager too, and makes pods need a service account as they do in a cluster.
    `feature_gates` and `apiserver_flags` (names without the dashes) go to kube-apiserver, and win over what it is
    started with otherwise. `log_directory` keeps the servers' logs after `stop`. `binaries` names a folder to take
    the binaries from instead of looking for them; otherwise missing ones are fetched or built, with `progress`.
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
        self._controllers_asked = controllers
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

    # Life

    def start(self) -> Self:
        """Start everything and wait until it is ready. Raises ControlPlaneError with the log's end when it is not."""
        with self._lock:
            if self._supervisor is not None:
                raise ControlPlaneError("this control plane is running already")
            self._binaries = self._binaries or setup_binaries(self._progress)
            self._supervisor = Supervisor()
            try:
                self._prepare_files()
                self._start_on_free_port(self._start_etcd)
                self._start_on_free_port(self._first_start_of_apiserver)
                if self._controllers_asked:
                    self.ensure_controllers()
            except BaseException:
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """End every process and remove every file. Harmless when it is not running."""
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
        """Start kube-controller-manager unless it runs, and wait until its controllers work."""
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
        """Where kube-apiserver listens."""
        self._running()
        return f"https://127.0.0.1:{self._apiserver_port}"

    @property
    def ca(self) -> bytes:
        """The certificate of the authority that signed the server's certificate, PEM."""
        self._running()
        return self._authority.pair.certificate

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of a user who may do everything."""
        self._running()
        return self._files / "admin.kubeconfig"

    @property
    def binaries(self) -> Path:
        """The folder with the binaries, kubectl among them."""
        self._running()
        assert self._binaries is not None
        return self._binaries

    def add_user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """The kubeconfig of a new user, who may do only what RBAC rules grant to that name or those groups."""
        if not name:
            raise ControlPlaneError("a user needs a name")
        self._running()
        safe = re.sub(r"[^A-Za-z0-9.-]", "_", name)[:64]
        path = self._files / f"user-{self._count()}-{safe}.kubeconfig"
        self._write_kubeconfig(path, self.url, name, self._authority.issue(name, groups))
        return path

    def add_service_account(self, name: str, namespace: str = "default") -> ServiceAccount:
        """A new service account with its token in a file, to be rotated and revoked. RBAC says what it may do."""
        from kubewright.testing._service_account import ServiceAccount  # with cryptography, which is slow to import

        return ServiceAccount(self, name, namespace, self._files)

    def request(self, method: str, path: str, body: object = None) -> Any:
        """One blocking request as the admin; the answer's JSON. Raises ControlPlaneError unless the status is 2xx."""
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
        """The log of `etcd`, `kube-apiserver` or `kube-controller-manager`; all starts of it in one file."""
        self._running()
        return (self._log_directory or self._files) / f"{server}.log"

    # Faults

    def restart_apiserver(self) -> None:
        """Let kube-apiserver end in an orderly way, start it on the same port, and wait until it is ready."""
        with self._lock:
            self._running().stop(KUBE_APISERVER, grace=_APISERVER_GRACE)
            self.start_apiserver()

    def kill_apiserver(self) -> None:
        """Kill kube-apiserver in the middle of whatever it does; `start_apiserver` brings it back."""
        with self._lock:
            self._running().stop(KUBE_APISERVER, grace=0)

    def start_apiserver(self) -> None:
        """Start kube-apiserver again after `kill_apiserver`, on the same port, and wait until it is ready."""
        with self._lock:
            if self._running().exit_code(KUBE_APISERVER) is None:
                raise ControlPlaneError("kube-apiserver is running already")
            self._start_apiserver()

    def pause_apiserver(self) -> None:
        """Stop kube-apiserver's clock (SIGSTOP): connections stay open, and nothing answers."""
        self._running().signal(KUBE_APISERVER, signal.SIGSTOP)

    def resume_apiserver(self) -> None:
        """Let kube-apiserver go on after `pause_apiserver`."""
        self._running().signal(KUBE_APISERVER, signal.SIGCONT)

    @contextlib.contextmanager
    def apiserver_paused(self) -> Iterator[None]:
        """Pause kube-apiserver for the length of a block."""
        self.pause_apiserver()
        try:
            yield
        finally:
            self.resume_apiserver()

    def compact(self) -> int:
        """Make etcd forget all history before its current revision, which is the answer.

        Watches and lists that kube-apiserver serves from its watch cache do not notice; see `expire_history`.
        """
        _, found = self._ask_etcd("/v3/kv/range", {"key": "AA==", "limit": "1"})
        revision = found["header"]["revision"]
        status, answer = self._ask_etcd("/v3/kv/compaction", {"revision": revision, "physical": True})
        # Someone else, kube-apiserver for instance, may have compacted at that revision in the meantime.
        if status != 200 and "compacted" not in str(answer):
            raise ControlPlaneError(f"etcd refused to compact at revision {revision}: {answer}")
        return int(revision)

    def expire_history(self) -> None:
        """Make every resourceVersion known so far too old to watch from: such a watch gets 410 Gone.

        etcd is compacted, and kube-apiserver restarted, because its watch cache remembers on its own.
        """
        with self._lock:
            self.compact()
            self.restart_apiserver()

    def proxy(self) -> Proxy:
        """A new TCP proxy in front of kube-apiserver, to cut, stall and refuse connections. Ends with `stop`."""
        with self._lock:
            self._running()
            proxy = Proxy(self._apiserver_port)
            self._proxies.append(proxy)
            path = self._files / f"proxy-{self._count()}.kubeconfig"
            self._write_kubeconfig(path, proxy.url, _ADMIN[0], self._admin)
            proxy.kubeconfig = path
            return proxy

    def gateway(self) -> Gateway:
        """A new HTTP proxy in front of kube-apiserver, to note, refuse and lose requests. Ends with `stop`."""
        from kubewright.testing._gateway import Gateway

        with self._lock:
            files, name = self._files, f"gateway-{self._count()}"
            certificate, key = self._authority.issue(name, hosts=("127.0.0.1",)).write(files, name)
            admin = (files / "admin.crt", files / "admin.key")
            gateway = Gateway(self.url, ca=files / "ca.crt", certificate=certificate, key=key, admin=admin)
            self._proxies.append(gateway)
            gateway.kubeconfig = files / f"{name}.kubeconfig"
            self._write_kubeconfig(gateway.kubeconfig, gateway.url, _ADMIN[0], self._admin)
            return gateway

    # Starting

    def _running(self) -> Supervisor:
        if self._supervisor is None:
            raise ControlPlaneError("this control plane is not running; call start() or use it in a with statement")
        return self._supervisor

    @property
    def _files(self) -> Path:
        return self._running().directory

    def _count(self) -> int:
        with self._lock:
            self._counter += 1
            return self._counter

    def _prepare_files(self) -> None:
        from kubewright.certificates import CertificateAuthority, new_signing_key, write_private

        files = self._files
        self._counter = 0
        self._authority: CertificateAuthority = CertificateAuthority()
        # An authority of its own, so that no user's certificate opens etcd.
        etcd_authority = CertificateAuthority("kubewright-etcd")
        write_private(files / "etcd-ca.crt", etcd_authority.pair.certificate)
        etcd_authority.issue("etcd", hosts=("127.0.0.1",)).write(files, "etcd")
        etcd_authority.issue("kube-apiserver").write(files, "etcd-client")
        self._authority.pair.write(files, "ca")
        names = ("127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1")
        self._authority.issue("kube-apiserver", hosts=names).write(files, "apiserver")
        self._admin: KeyPair = self._authority.issue(*_ADMIN)
        self._admin.write(files, "admin")
        signing_key, public_key = new_signing_key()
        write_private(files / "service-accounts.key", signing_key)
        write_private(files / "service-accounts.pub", public_key)
        if self._log_directory is not None:
            self._log_directory.mkdir(parents=True, exist_ok=True)

    def _start_on_free_port(self, start: Callable[[int], None]) -> None:
        """Start a server on a free port, on another when somebody took it first."""
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
        # A log of its own for each try: the end of the log tells whether the port was taken.
        self.log_file(ETCD).unlink(missing_ok=True)
        shutil.rmtree(files / "etcd", ignore_errors=True)
        self._etcd_port = port
        self._etcd = Https(
            port, ca=files / "etcd-ca.crt", certificate=files / "etcd-client.crt", key=files / "etcd-client.key"
        )
        self._run(ETCD, etcd_flags(files, port))
        self._wait(ETCD, lambda: self._etcd.request("GET", "/health", timeout=2)[0] == 200)

    def _first_start_of_apiserver(self, port: int) -> None:
        files = self._files
        self.log_file(KUBE_APISERVER).unlink(missing_ok=True)
        self._apiserver_port = port
        self._apiserver = Https(port, ca=files / "ca.crt", certificate=files / "admin.crt", key=files / "admin.key")
        self._write_kubeconfig(files / "admin.kubeconfig", self.url, _ADMIN[0], self._admin)
        self._write_kubeconfig(
            files / "controller-manager.kubeconfig",
            self.url,
            "system:kube-controller-manager",
            self._authority.issue("system:kube-controller-manager", ("system:masters",)),
        )
        self._start_apiserver()

    def _start_apiserver(self) -> None:
        flags = apiserver_flags(
            self._files, self._apiserver_port, self._etcd_port, service_accounts=self._controllers_asked
        )
        self._run(KUBE_APISERVER, flags | self._apiserver_flags)
        self._wait(KUBE_APISERVER, self._apiserver_ready)

    def _apiserver_ready(self) -> bool:
        # Readiness comes a moment before the namespaces that everyone expects.
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
        give_up = time.monotonic() + _START_SECONDS
        while True:
            code = supervisor.exit_code(server)
            if code is not None:
                raise ControlPlaneError(f"{server} ended with exit code {code}. {self._log_tail(server)}")
            with contextlib.suppress(OSError, ssl.SSLError, http.client.HTTPException):
                if ready():
                    return
            if time.monotonic() > give_up:
                raise ControlPlaneError(
                    f"{server} is not ready after {format_duration(_START_SECONDS)}. {self._log_tail(server)}"
                )
            time.sleep(_POLL_SECONDS)

    def _log_tail(self, server: str) -> str:
        try:
            lines = self.log_file(server).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        kept = f" (all of it in {self.log_file(server)})" if self._log_directory else ""
        return f"Its log ends with{kept}:\n" + "\n".join(lines[-_LOG_TAIL:]) if lines else "It logged nothing."

    def _write_kubeconfig(self, path: Path, server: str, user: str, credentials: KeyPair) -> None:
        from kubewright.kubeconfig import write_kubeconfig

        write_kubeconfig(path, server=server, ca=self._authority.pair.certificate, user=user, credentials=credentials)

    def _ask_etcd(self, path: str, body: object) -> tuple[int, Any]:
        self._running()
        try:
            return self._etcd.request("POST", path, body)
        except (OSError, http.client.HTTPException) as error:
            raise ControlPlaneError(f"etcd does not answer: {error}") from error
