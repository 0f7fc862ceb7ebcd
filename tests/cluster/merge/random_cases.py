"""Random requests on Widgets and Deployments. The cases are stored with the server's responses, not regenerated."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.cluster.merge.bodies import V1, V2, pods
from tests.cluster.merge.table import Case, Step, apply, create, merge, put, strategic

Object = dict[str, Any]


def cases(seed: int, count: int) -> list[Case]:
    """Returns the given number of cases; the same for the same seed."""
    chance = _Chance(random.Random(seed))
    return [chance.deployment(number) if number % 3 == 0 else chance.widget(number) for number in range(count)]


class _Chance:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def text(self) -> str:
        return self._rng.choice("12x")

    def number(self) -> int:
        return self._rng.randint(1, 12)

    def flag(self) -> bool:
        return self._rng.random() < 0.5

    def manager(self) -> str:
        return self._rng.choice(["one", "two", "three"])

    def some(self, share: float = 0.5, /, **members: Callable[[], Any]) -> Object:
        """Returns a random subset of the members."""
        return {name: make() for name, make in members.items() if self._rng.random() < share}

    def unlike(self, make: Callable[[], Any], *keys: str, most: int = 3) -> list[Any]:
        """Returns elements that are distinct, by these keys or by value."""
        found = {}
        for _ in range(self._rng.randint(0, most)):
            element = make()
            found[tuple(element.get(key) for key in keys) if keys else element] = element
        return list(found.values())

    # Widgets

    def widget(self, number: int) -> Case:
        scaled = self.flag()
        first = self.widget_body()
        if scaled:
            first = first | {"spec": {"text": "k", "replicas": 1, **first.get("spec", {})}}
        steps = [self._rng.choice([create, apply])(first, self.manager())]
        steps += [self.widget_step(scaled) for _ in range(self._rng.randint(2, 6))]
        return Case(f"random-widget-{number}", V1, "Widget", steps)

    def widget_step(self, scaled: bool) -> Step:
        version = self._rng.choice(["", "", "", V2])
        who, force = self.manager(), self.flag()
        kind = self._rng.choice(["apply", "apply", "merge", "put", "status", "apply status", "scale"])
        if kind == "scale" and scaled:
            return merge({"spec": {"replicas": self.number()}}, "scaler", "scale")
        if kind == "status":
            return merge(self.status(), who, "status")
        if kind == "apply status":
            return apply(self.status(), who, force=force, subresource="status")
        if kind == "merge":
            return merge(self.widget_body(), who, api_version=version)
        if kind == "put":
            return put(self.widget_body(), who, api_version=version)
        return apply(self.widget_body(), who, force=force, api_version=version)

    def widget_body(self) -> Object:
        metadata = self.some(
            labels=lambda: self.some(a=self.text, b=self.text),
            finalizers=lambda: self.unlike(lambda: "example.com/" + self._rng.choice("abc")),
        )
        return self.some(0.8, spec=self.widget_spec) | self.some(0.3, metadata=lambda: metadata)

    def widget_spec(self) -> Object:
        rng, text = self._rng, self.text
        pair = self.pair
        return self.some(
            0.4,
            text=text,
            replicas=self.number,
            flag=self.flag,
            defaulted=text,
            struct=lambda: pair() | self.some(deeper=lambda: self.some(c=text, d=text)),
            atomicStruct=pair,
            map=lambda: self.some(p=text, q=text, r=text),
            atomicMap=pair,
            mapOfStructs=lambda: self.some(m=pair, n=pair),
            list=lambda: [text() for _ in range(rng.randint(0, 2))],
            set=lambda: self.unlike(lambda: rng.choice("abcde"), most=4),
            numbers=lambda: self.unlike(self.number),
            items=lambda: self.unlike(self.item, "name", most=4),
            ports=lambda: self.unlike(self.port, "port", "protocol"),
            free=lambda: self.some(
                a=lambda: rng.choice([1, "t", True, [1], {"z": 1}, {}]), b=lambda: {"c": self.number()}
            ),
            anything=lambda: rng.choice([1, "s", [1], {"a": 1}, {"a": {"b": 2}}]),
            either=lambda: rng.choice([1, "1"]),
        )

    def pair(self) -> Object:
        return self.some(a=self.text, b=self.text)

    def item(self) -> Object:
        tags = lambda: self.unlike(lambda: self._rng.choice("xyz"))  # noqa: E731
        return {"name": self._rng.choice("abcd"), **self.some(value=self.text, other=self.text, tags=tags)}

    def port(self) -> Object:
        return {
            "port": self._rng.choice([80, 443]),
            "protocol": self._rng.choice(["TCP", "UDP"]),
            **self.some(name=self.text),
        }

    def status(self) -> Object:
        condition = lambda: {"type": self._rng.choice("AB"), "status": self.text()}  # noqa: E731
        return {"status": self.some(phase=self.text, conditions=lambda: self.unlike(condition, "type"))}

    # Deployments

    def deployment(self, number: int) -> Case:
        steps = [self._rng.choice([create, apply])(self.deployment_body(), self.manager())]
        for _ in range(self._rng.randint(2, 5)):
            write = self._rng.choice([strategic, merge, put, None, None])
            body, who = self.deployment_body(), self.manager()
            steps.append(apply(body, who, force=self.flag()) if write is None else write(body, who))
        return Case(f"random-deployment-{number}", "apps/v1", "Deployment", steps)

    def deployment_body(self) -> Object:
        rng = self._rng
        containers = [self.container(name) for name in rng.sample("abc", rng.randint(1, 3))]
        strategies = [{"type": "Recreate"}, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}]
        more = self.some(replicas=self.number, paused=self.flag, strategy=lambda: rng.choice(strategies))
        body = pods(*containers, pod={"volumes": [{"name": "v", "emptyDir": {}}]}, **more)
        return body | {"metadata": self.some(labels=lambda: self.some(a=self.text, b=self.text))}

    def container(self, name: str) -> Object:
        rng = self._rng
        env = lambda: {"name": rng.choice("AB"), "value": self.text()}  # noqa: E731
        port = lambda: {"containerPort": rng.choice([80, 81]), "protocol": rng.choice(["TCP", "UDP"])}  # noqa: E731
        mount = lambda: {"name": "v", "mountPath": rng.choice(["/a", "/b"])}  # noqa: E731
        return {
            "name": name,
            "image": "image:" + self.text(),
            **self.some(
                env=lambda: self.unlike(env, "name"),
                ports=lambda: self.unlike(port, "containerPort", "protocol"),
                volumeMounts=lambda: self.unlike(mount, "mountPath"),
                args=lambda: [self.text() for _ in range(rng.randint(0, 2))],
                stdin=self.flag,
                resources=lambda: {"limits": self.some(cpu=lambda: rng.choice(["1", "500m"]), memory=lambda: "64Mi")},
            ),
        }
