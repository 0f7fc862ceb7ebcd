"""The variables of Services in the environment of a container."""

from __future__ import annotations

from kubewright.api import core
from kubewright.api.meta import ObjectMeta
from kubewright.cluster.services import service_environment


def service(name: str, address: str | None, *ports: core.ServicePort, namespace: str = "default") -> core.Service:
    spec = core.ServiceSpec(cluster_ip=address, ports=list(ports) or [core.ServicePort(port=80)])
    return core.Service(metadata=ObjectMeta(name=name, namespace=namespace), spec=spec)


KUBERNETES = service("kubernetes", "10.96.0.1", core.ServicePort(name="https", port=443, protocol="TCP"))


def test_has_the_variables_of_the_kubelet() -> None:
    ports = [core.ServicePort(name="http-web", port=80), core.ServicePort(name="dns", port=53, protocol="UDP")]
    assert service_environment([service("my-shop", "10.96.1.2", *ports)], "default") == {
        "MY_SHOP_SERVICE_HOST": "10.96.1.2",
        "MY_SHOP_SERVICE_PORT": "80",
        "MY_SHOP_SERVICE_PORT_HTTP_WEB": "80",
        "MY_SHOP_SERVICE_PORT_DNS": "53",
        "MY_SHOP_PORT": "tcp://10.96.1.2:80",
        "MY_SHOP_PORT_80_TCP": "tcp://10.96.1.2:80",
        "MY_SHOP_PORT_80_TCP_PROTO": "tcp",
        "MY_SHOP_PORT_80_TCP_PORT": "80",
        "MY_SHOP_PORT_80_TCP_ADDR": "10.96.1.2",
        "MY_SHOP_PORT_53_UDP": "udp://10.96.1.2:53",
        "MY_SHOP_PORT_53_UDP_PROTO": "udp",
        "MY_SHOP_PORT_53_UDP_PORT": "53",
        "MY_SHOP_PORT_53_UDP_ADDR": "10.96.1.2",
    }


def test_skips_services_of_other_namespaces_and_without_an_address() -> None:
    others = [
        service("other", "10.96.1.3", namespace="elsewhere"),
        service("headless", "None"),
        service("external", None),
        service("kubernetes", "10.96.1.4", namespace="elsewhere"),
    ]
    assert service_environment(others, "default") == {}


def test_pods_without_links_see_the_api_server_alone() -> None:
    made = service_environment([KUBERNETES, service("web", "10.96.1.2")], "default", enable_service_links=False)
    assert (made["KUBERNETES_SERVICE_HOST"], made["KUBERNETES_SERVICE_PORT"]) == ("10.96.0.1", "443")
    assert made["KUBERNETES_SERVICE_PORT_HTTPS"] == "443"
    assert not any(name.startswith("WEB_") for name in made)


def test_pods_of_any_namespace_see_the_api_server() -> None:
    assert service_environment([KUBERNETES], "shop")["KUBERNETES_PORT"] == "tcp://10.96.0.1:443"


def test_service_of_the_namespace_replaces_the_api_server() -> None:
    own = service("kubernetes", "10.96.7.7", namespace="shop")
    for services in ([KUBERNETES, own], [own, KUBERNETES]):
        assert service_environment(services, "shop")["KUBERNETES_SERVICE_HOST"] == "10.96.7.7"
    assert service_environment([own, KUBERNETES], "shop", enable_service_links=False)["KUBERNETES_SERVICE_HOST"] == (
        "10.96.0.1"
    )


def test_names_the_address_at_which_a_port_is_reached() -> None:
    made = service_environment(
        [service("web", "10.96.1.2")], "default", address_of=lambda service, port: ("127.0.0.1", 40000 + port.port)
    )
    assert (made["WEB_SERVICE_HOST"], made["WEB_SERVICE_PORT"]) == ("127.0.0.1", "40080")
    assert made["WEB_PORT_80_TCP"] == "tcp://127.0.0.1:40080"


def test_writes_addresses_of_ipv6_in_brackets() -> None:
    assert service_environment([service("web", "fd00::1")], "default")["WEB_PORT"] == "tcp://[fd00::1]:80"
