"""The settings: one table for arguments, variables and flags, and what each accepts."""

from __future__ import annotations

import inspect
import typing
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest

from kubewright.api import core
from kubewright.cli import cli
from kubewright.controller import Context
from kubewright.operator import Operator, Options, SettingError, Settings
from kubewright.operator.process import resolve_settings
from kubewright.operator.settings import SETTINGS, from_environment, misspelled, split_address
from tests.controller.conftest import Thing

RUN: Any = cli.get_command(click.Context(cli), "run")
AGREED = """--kubeconfig --master --context --namespace --concurrency --leader-elect --no-leader-elect --lease-name
--lease-namespace --metrics-bind --health-bind --resync --grace --log-level --log-format -v"""


@pytest.mark.promise(
    "Running an operator",
    "Every setting is a flag, a variable and an argument, in this order of precedence.",
)
def test_every_setting_is_an_argument_a_variable_and_a_flag_and_nothing_else_is() -> None:
    names = set(SETTINGS)
    assert set(Options.__annotations__) == names
    assert set(typing.get_type_hints(Settings)) == names
    assert {setting.variable for setting in SETTINGS.values()} == {f"KUBEWRIGHT_{name.upper()}" for name in names}
    flags = {option.name: option for option in RUN.params if isinstance(option, click.Option)}
    # The console is served by the command, which is above the operator: an operator knows none. A dry run is another
    # method of the operator, and its report is printed by the command.
    of_the_command = {"help", "verbose", "console_bind", "console_urls", "dry_run", "dry_run_timeout", "output"}
    sign_in = {name for name in flags if name.startswith("oidc_")}  # of the console, too
    assert set(flags) - of_the_command - sign_in == names
    for name, setting in SETTINGS.items():
        assert set(setting.flags) <= set(flags[name].opts)
        assert f"[{setting.variable}]" in (flags[name].help or "")


def test_flags_are_stable() -> None:
    known = {flag for option in RUN.params for flag in (*option.opts, *option.secondary_opts)}
    assert [flag for flag in AGREED.split() if flag not in known] == []


def test_each_setting_is_described_where_operators_are_made() -> None:
    described = inspect.getdoc(Operator) or ""
    assert [name for name in SETTINGS if f"    {name}: " not in described] == []


@pytest.mark.promise(
    "Running an operator",
    "Every setting is a flag, a variable and an argument, in this order of precedence.",
)
def test_precedence_is_flag_variable_argument_default() -> None:
    operator = Operator("mine", grace=1, concurrency=1, lease_name="argument")
    environ = {"KUBEWRIGHT_GRACE": "2s", "KUBEWRIGHT_CONCURRENCY": "2"}
    found = resolve_settings(operator, {"grace": 3.0}, environ)
    assert (found.grace, found.concurrency, found.lease_name, found.sync_timeout) == (3.0, 2, "argument", 120.0)
    assert operator.settings.grace == 1.0, "the operator itself stays as it was made"


def test_flag_can_disable_a_setting() -> None:
    operator = Operator("mine", resync=60, health_bind="8081")
    found = resolve_settings(operator, {"resync": None, "health_bind": None}, {})
    assert (found.resync, found.health_bind) == (None, None)


def test_ignores_empty_variable() -> None:
    assert from_environment({"KUBEWRIGHT_GRACE": "", "KUBEWRIGHT_CONTEXT": " "}) == {}


def test_running_takes_settings_too_and_reads_no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEWRIGHT_GRACE", "7s")
    running = Operator("mine", grace=5).running(namespaces=["here"])
    assert (running.settings.grace, running.settings.namespaces) == (5.0, ("here",))


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        (30, 30.0),
        (0.5, 0.5),
        ("30", 30.0),
        ("30s", 30.0),
        ("1m30s", 90.0),
        ("1.5h", 5400.0),
        ("500ms", 0.5),
        (timedelta(minutes=2), 120.0),
    ],
)
def test_durations_are_numbers_timedeltas_or_strings(given: Any, seconds: float) -> None:
    assert Operator("mine", grace=given).settings.grace == pytest.approx(seconds)


@pytest.mark.parametrize("given", ["30x", "s30", "1m 30s", "", "-5s", -5, float("nan"), float("inf"), True, None, [5]])
def test_rejects_invalid_duration_with_examples(given: Any) -> None:
    with pytest.raises(SettingError, match="grace must be a duration, such as 30s, 1m30s, 500ms, or a number"):
        Operator("mine", grace=given)


def test_only_some_durations_may_be_zero() -> None:
    assert Operator("mine", grace=0).settings.grace == 0
    assert Operator("mine", resync=0).settings.resync is None
    with pytest.raises(SettingError, match=r"sync_timeout must be .*, and more than 0, not 0"):
        Operator("mine", sync_timeout=0)


@pytest.mark.promise("Running an operator", "A wrong value names the setting and what is valid.")
@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("KUBEWRIGHT_LOG_LEVEL", "inof", "KUBEWRIGHT_LOG_LEVEL must be one of debug, info, warning, error, not 'inof'"),
        ("KUBEWRIGHT_LOG_FORMAT", "xml", "KUBEWRIGHT_LOG_FORMAT must be one of pretty, json, not 'xml'"),
        ("KUBEWRIGHT_LEADER_ELECT", "maybe", "must be one of true, yes, on, 1, false, no, off, 0, not 'maybe'"),
        ("KUBEWRIGHT_CONCURRENCY", "many", "KUBEWRIGHT_CONCURRENCY must be a whole number, at least 1, not 'many'"),
        ("KUBEWRIGHT_CONCURRENCY", "0", "KUBEWRIGHT_CONCURRENCY must be a whole number, at least 1, not 0"),
        (
            "KUBEWRIGHT_NAMESPACES",
            "a,B",
            "a list of namespace names (lower case letters, digits and '-'), not",
        ),
        (
            "KUBEWRIGHT_LEASE_NAME",
            "My_Lease",
            "KUBEWRIGHT_LEASE_NAME must be the name of an object: lower case letters, digits, '-' and '.', not"
            " 'My_Lease'",
        ),
        ("KUBEWRIGHT_LEASE_NAME", "a..b", "must be the name of an object"),
        (
            "KUBEWRIGHT_LEASE_NAMESPACE",
            "a.b",
            "must be the name of a namespace: lower case letters, digits and '-', not",
        ),
        ("KUBEWRIGHT_HEALTH_BIND", "here", "KUBEWRIGHT_HEALTH_BIND must be an address to listen at, such as 8081"),
    ],
)
def test_a_wrong_value_of_a_variable_names_the_variable_and_what_is_valid(
    variable: str, text: str, message: str
) -> None:
    with pytest.raises(SettingError) as caught:
        from_environment({variable: text})
    assert message in str(caught.value)


def test_parses_variables_by_type() -> None:
    texts = {
        "KUBEWRIGHT_NAMESPACES": "left, right",
        "KUBEWRIGHT_LEADER_ELECT": "No",
        "KUBEWRIGHT_CONCURRENCY": "3",
        "KUBEWRIGHT_LOG_LEVEL": "DEBUG",
        "KUBEWRIGHT_METRICS_BIND": "0.0.0.0:8080",
    }
    assert from_environment(texts) == {
        "namespaces": ("left", "right"),
        "leader_elect": False,
        "concurrency": 3,
        "log_level": "debug",
        "metrics_bind": "0.0.0.0:8080",
    }


def test_reports_misspelled_variable_but_not_service_variable() -> None:
    environ = {"KUBEWRIGHT_LOGLEVEL": "debug", "KUBEWRIGHT_PORT": "tcp://10.0.0.1:80", "KUBEWRIGHT_SERVICE_HOST": "x"}
    assert misspelled(environ) == [("KUBEWRIGHT_LOGLEVEL", "KUBEWRIGHT_LOG_LEVEL")]


@pytest.mark.promise("Running an operator", "Pages are on loopback unless asked.")
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("8081", ("127.0.0.1", 8081)),
        (":8081", ("127.0.0.1", 8081)),
        ("0.0.0.0:8081", ("0.0.0.0", 8081)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:8081", ("::1", 8081)),
    ],
)
def test_an_address_without_a_host_is_on_loopback(text: str, where: tuple[str, int]) -> None:
    assert split_address(text) == where


def test_a_port_alone_may_be_a_number() -> None:
    settings = Operator("mine", health_bind=8081, metrics_bind=0, webhook_bind=9443).settings
    assert (settings.health_bind, settings.metrics_bind, settings.webhook_bind) == ("8081", None, "9443")


@pytest.mark.parametrize(
    "given", ["65536", "x", "::1:8081", "a b:1", "http://x:1", "1.2.3.4", "[x]:1", 65536, -1, True, 80.5]
)
def test_rejects_invalid_address(given: Any) -> None:
    with pytest.raises(SettingError, match="health_bind must be an address to listen at"):
        Operator("mine", health_bind=given)


def test_server_can_be_disabled() -> None:
    assert Operator("mine", metrics_bind="0").settings.metrics_bind is None


def test_unknown_argument_lists_known_ones() -> None:
    with pytest.raises(
        TypeError, match=r"Operator has no option 'graec'. Did you mean 'grace'\? The options are: conc"
    ):
        Operator("mine", graec=5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"run has no option 'kubeconf'. Did you mean 'kubeconfig'"):
        Operator("mine").run(kubeconf="x")  # type: ignore[call-arg]


@pytest.mark.promise("Running an operator", "The default concurrency is ten reconciles.")
def test_default_concurrency_is_ten() -> None:
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    async def clean(obj: Thing, ctx: Context[Thing]) -> None: ...

    operator = Operator("mine")
    operator.reconciles(core.ConfigMap, name="plain")(sync)
    operator.reconciles(core.ConfigMap, name="own", concurrency=2, resync=60)(sync)
    operator.finalizes(Thing)(clean)

    def numbers(settings: Settings | None = None) -> list[tuple[int, float | None]]:
        return [(made.concurrency, made.resync) for made in operator.registrations(settings)]

    assert numbers() == [(10, None), (2, 60.0), (10, None)]
    assert numbers(resolve_settings(operator, {"concurrency": 5}, {"KUBEWRIGHT_RESYNC": "10m"})) == [
        (5, 600.0),
        (2, 60.0),
        (5, 600.0),
    ]


@pytest.mark.promise(
    "Running an operator",
    "Every setting is a flag, a variable and an argument, in this order of precedence.",
)
def test_the_page_has_every_setting_with_its_flags_its_variable_and_its_default() -> None:
    page = Path(__file__).parents[2] / "docs" / "running.md"
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ")[:4] for line in lines if line.startswith("|") and "`KUBEWRIGHT_" in line]
    shown = {row[2]: row for row in rows}
    assert set(shown) == {f"`{name}`" for name in SETTINGS}
    for name, setting in SETTINGS.items():
        flags, variable, _, default = shown[f"`{name}`"]
        assert all(f"`{flag}`" in flags for flag in setting.flags)
        assert variable == f"`{setting.variable}`"
        if isinstance(setting.default, int | float):
            assert default.removesuffix(" s") == f"{setting.default:g}"
