"""Ladders: ordered tiers of verifiers, the escalation policy and the reward rule."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields
from functools import cached_property
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

from verifier_ladder.alerts.rules import AlertRules
from verifier_ladder.arguments import checked
from verifier_ladder.budget import UNLIMITED, Budget, Caps, budget_json, parse_budget
from verifier_ladder.canonicaliser import Canonicaliser
from verifier_ladder.decision import EscalationPolicy
from verifier_ladder.errors import ConfigError
from verifier_ladder.keys import digest
from verifier_ladder.rate import Rate
from verifier_ladder.registry import REGISTRY
from verifier_ladder.reward import RewardRule, Scorer
from verifier_ladder.target import Target
from verifier_ladder.tier import Tier
from verifier_ladder.verifiers import Verifier, weighed

_SECTIONS = {
    "name", "kind", "audit", "target", "reward", "policy", "verifiers", "budget", "prior",
    "alerts", "least_sandbox", "observed",
}  # fmt: skip
_DEMANDS = ("least_sandbox", "observed")
"""What a ladder may demand of its verifiers and the machine."""
_NAMESPACE = re.compile(r"[\w.\-:/]{0,100}")


class Rung:
    """One tier of a ladder: its gates, all of which must pass, and the verifiers that score."""

    def __init__(self, tier: Tier, verifiers: Sequence[Verifier]) -> None:
        """Order the verifiers: gates first."""
        self.tier = tier
        self.gates = tuple(v for v in verifiers if v.role == "gate")
        self.primaries = tuple(v for v in verifiers if v.role != "gate")
        """Those whose weighted mean is the tier's score."""
        self.verifiers: tuple[Verifier, ...] = (*self.gates, *self.primaries)

    def scorers(self, *, is_top: bool) -> tuple[Scorer, ...]:
        """Its scoring verifiers, as `tier_score` takes them."""
        return tuple(
            Scorer(v.name, float(v.weight), is_target=is_top or v.same_quantity)
            for v in self.primaries
        )

    @property
    def waits(self) -> bool:
        """Whether the tier answers later, from the world."""
        return any(v.waits for v in self.verifiers)


class Ladder:
    """Ordered tiers with their verifiers, the escalation policy and the reward rule.

    Example:
        >>> from verifier_ladder.function import verifier
        >>> @verifier(tier="fast", kind="text", version="1")
        ... def short(candidate):
        ...     return len(candidate.content) < 80
        >>> Ladder("brief", [short]).kind
        'text'
    """

    @checked("name", "verifiers", "audit", "prior", "alerts")
    def __init__(
        self,
        name: str,
        verifiers: Sequence[Verifier | str] = (),
        *,
        policy: EscalationPolicy | str | None = None,
        reward: RewardRule | None = None,
        target: Target | None = None,
        audit: float | None = None,
        budget: Budget | None = None,
        prior: tuple[float, float] | None = None,
        canonicaliser: Canonicaliser | None = None,
        alerts: AlertRules | None = None,
        least_sandbox: str | None = None,
        observed: str | None = None,
    ) -> None:
        """Build a ladder.

        Args:
            name: Its name in the ledger.
            verifiers: In any order; their tier says where they stand. Names are looked up.
            policy: How far a sample climbs, or a policy's name; by default as far as what would
                be learnt is worth its cost, which is all the way where no budget is short.
            reward: How target units become rewards; by default they pass unchanged.
            target: The quantity it is about; by default the top primary verifier's score.
            audit: Share of samples whose climb stops that the top tier verifies all the same, at
                random with known probability, so that cheap verifiers can't be gamed unnoticed.
                Audits take at most 15 % of a budget. By default that much, with the default
                policy and a budget; none otherwise.
            budget: Default caps, as in `Campaign.open`; `"unlimited"` where there is none.
            prior: Mean and standard deviation of the target before anything is known.
            canonicaliser: What brings candidates to canonical form; by default that of the kind.
            alerts: Who is told what goes wrong with its campaigns and verifiers; by default as
                `VLADDER_ALERTS` says. It is not recorded, and changes no reward.
            least_sandbox: The weakest class of sandbox in which its verifiers may run untrusted
                code, such as `"namespaces"`; by default any. A campaign on a machine whose
                sandbox is weaker is not opened.
            observed: `"outside"` to take only verifiers that declare to judge by what is seen
                outside the reach of what candidates run; by default any.

        Raises:
            ConfigError: If the verifiers don't fit together.
        """
        self.name = name
        self.namespace = ""
        """The cache namespace of the campaign that climbs it."""
        if isinstance(verifiers, (str, Verifier)) or not isinstance(verifiers, Iterable):
            raise ConfigError(f"ladder {name} takes a list of verifiers, not {verifiers!r}")
        found = [REGISTRY.get(v) if isinstance(v, str) else v for v in verifiers]
        for verifier in found:
            if not isinstance(verifier, Verifier):
                raise ConfigError(
                    f"{verifier!r} is not a verifier; decorate it with @vl.verifier(...) or, "
                    "for an existing reward function, use vl.wrap(...)"
                )
            if not hasattr(verifier, "settings"):
                raise ConfigError(
                    f"{type(verifier).__name__}.__init__ does not call super().__init__(...) with "
                    "the settings that affect its results; they are part of every check key"
                )
        self.kind = self._one_kind(found)
        self.rungs = self._stack(found)
        self.audit = None if audit is None else _share("audit", audit)
        self.target = target or self._default_target()
        self.reward = reward or RewardRule()
        self.policy = self._chosen_policy(policy)
        self.budget = _budget(budget)
        self.prior = _prior(prior)
        self.canonicaliser = canonicaliser or REGISTRY.canonicaliser(self.kind)
        if not isinstance(alerts, AlertRules | None):
            raise ConfigError(f"alerts={alerts!r}: give AlertRules(webhook=…) or (command=…)")
        self.alerts = alerts
        if least_sandbox is not None:
            from verifier_ladder.tiers.sandbox.backend import strength_of

            strength_of(least_sandbox)
        self.least_sandbox = least_sandbox
        self.observed = observed
        self._check_observed()
        self._check_groups()
        self._check_units()
        self._check_rates(found)

    def _one_kind(self, verifiers: Sequence[Verifier]) -> str:
        given: Any = self.name
        if not isinstance(given, str) or not given:
            raise ConfigError("a ladder needs a name; verdicts and rewards are filed under it")
        if not verifiers:
            raise ConfigError(f"ladder {self.name} has no verifiers; give at least one")
        kinds = sorted({v.kind for v in verifiers})
        if len(kinds) > 1:
            raise ConfigError(
                f"ladder {self.name} mixes candidates of kind {' and '.join(kinds)}; "
                "a ladder is about one kind"
            )
        names = [v.name for v in verifiers]
        for verifier in verifiers:
            if verifier.replicates > 1 and verifier.isolation == "inline":
                raise ConfigError(
                    f"verifier {verifier.name} wants {verifier.replicates} replicates, each with "
                    "random numbers of its own, and runs inside your program, whose random "
                    'numbers it would disturb; give it isolation="process"'
                )
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"ladder {self.name} holds verifier {name} twice")
        return kinds[0]

    def _check_rates(self, verifiers: Sequence[Verifier]) -> None:
        """Refuse two limits under one name: each would take the other's tokens for its own."""
        limits: dict[str, Rate] = {}
        for rate in (each.shared_rate for each in verifiers):
            if rate and limits.setdefault(rate.name, rate).period != rate.period:
                raise ConfigError(
                    f"ladder {self.name} limits the rate {rate.name!r} to "
                    f"{limits[rate.name].limit} and to {rate.limit}; give all that share it one "
                    "limit, or another name"
                )

    @staticmethod
    def _stack(verifiers: Sequence[Verifier]) -> tuple[Rung, ...]:
        tiers = sorted({Tier.parse(v.tier) for v in verifiers})
        return tuple(Rung(t, [v for v in verifiers if v.tier == t]) for t in tiers)

    def _default_target(self) -> Target:
        top = self.rungs[-1].primaries
        if not top:
            return Target("passes", scale="binary")
        units = {verifier.unit for verifier in top}
        return Target("+".join(v.name for v in top), units.pop() if len(units) == 1 else "")

    def _chosen_policy(self, policy: EscalationPolicy | str | None) -> EscalationPolicy:
        from verifier_ladder.scheduler.policies import create_policy

        policy = "value_of_information" if policy is None else policy
        chosen = create_policy(policy, {}) if isinstance(policy, str) else policy
        if isinstance(chosen, type) or not isinstance(chosen, EscalationPolicy):
            raise ConfigError(
                f'ladder {self.name} takes a policy\'s name, such as "thresholds", or a policy, '
                "such as one of verifier_ladder.scheduler.policies made with its settings, "
                f"not {policy!r}"
            )
        return chosen

    @cached_property
    def tiers(self) -> tuple[Tier, ...]:
        """Its tiers, from cheap to dear."""
        return tuple(rung.tier for rung in self.rungs)

    @cached_property
    def scorers(self) -> tuple[tuple[Scorer, ...], ...]:
        """The scoring verifiers of each tier."""
        return tuple(rung.scorers(is_top=rung is self.rungs[-1]) for rung in self.rungs)

    @cached_property
    def verifiers(self) -> tuple[Verifier, ...]:
        """All its verifiers, in the order they are asked."""
        return tuple(v for rung in self.rungs for v in rung.verifiers)

    @cached_property
    def compares_above(self) -> bool:
        """Whether a verifier above the fast tier compares the members of groups."""
        top = self.rungs[-1]
        return top.tier is not Tier.FAST and any(v.scope == "group" for v in top.verifiers)

    @cached_property
    def askings(self) -> tuple[tuple[Verifier, int], ...]:
        """The checks that it takes to ask all verifiers, each with the number of its replicate."""
        return tuple((v, number) for v in self.verifiers for number in range(v.replicates))

    @checked()
    def in_namespace(self, namespace: str) -> Ladder:
        """The same ladder, whose verdicts are cached apart from those of other namespaces.

        Raises:
            ConfigError: If that can't be a namespace's name.
        """
        if namespace == self.namespace:
            return self
        if not _NAMESPACE.fullmatch(namespace):
            raise ConfigError(
                f"a namespace can't be called {namespace!r}; use up to 100 letters, digits and "
                "._-:/"
            )
        made = self._with({v: _placed(v, namespace) for v in self.verifiers})
        made.namespace = namespace
        return made

    @checked()
    def exchanged(self, old: Verifier, new: Verifier) -> Ladder:
        """The same ladder with another version of a verifier in the place of one.

        Raises:
            ConfigError: If one is no verifier, or the ladder does not hold the old one.
        """
        if old not in self.verifiers:
            raise ConfigError(f"ladder {self.name} does not hold {old.name} {old.version}")
        return self._with({old: new})

    def _with(self, others: Mapping[Verifier, Verifier]) -> Ladder:
        """A copy with other verifiers in the places of some."""
        made = copy(self)
        made.rungs = tuple(
            Rung(rung.tier, [others.get(v, v) for v in rung.verifiers]) for rung in self.rungs
        )
        for name in ("tiers", "scorers", "verifiers", "askings", "digest"):
            made.__dict__.pop(name, None)
        return made

    def _check_observed(self) -> None:
        if self.observed not in {None, "outside"}:
            raise ConfigError(
                f"observed={self.observed!r} of ladder {self.name}: a ladder can demand "
                '"outside", or nothing'
            )
        for verifier in self.verifiers:
            if self.observed and verifier.observed != self.observed:
                told = (
                    f'declares observed="{verifier.observed}"'
                    if verifier.observed
                    else ("does not declare it")
                )
                raise ConfigError(
                    f'ladder {self.name} demands observed="outside", and verifier {verifier.name} '
                    f"{told}: take one that compares outside of what a candidate runs, or leave "
                    "the demand out"
                )

    def _check_units(self) -> None:
        """Refuse an estimate of the target, or the target itself, in another unit than it has."""
        wanted = self.target.unit
        for rung in self.rungs:
            for verifier in rung.primaries:
                is_estimate = verifier.same_quantity or verifier.deviation is not None
                if not (is_estimate or rung is self.rungs[-1]):
                    continue
                if wanted and verifier.unit and verifier.unit != wanted:
                    what = "estimates" if is_estimate else "measures"
                    raise ConfigError(
                        f"verifier {verifier.name} {what} the target of ladder {self.name} in "
                        f"{verifier.unit}, and the target is in {wanted}: give both one unit"
                        + (", or leave out its same_quantity and deviation" * is_estimate)
                    )

    def _check_groups(self) -> None:
        """Refuse groups where what is said of them would be compared with other groups."""
        for verifier in self.verifiers:
            if verifier.scope != "group" or self.tiers == (Tier.FAST,):
                continue
            name = f'verifier {verifier.name} has scope="group"'
            is_alone = self.rungs[-1].verifiers == (verifier,)
            if not is_alone or any(tier is not Tier.FAST for tier in self.tiers[:-1]):
                raise ConfigError(
                    f"{name}: its scores compare the members of one group, so that nothing can be "
                    "learnt from them about another tier. Give it a ladder whose only tier is "
                    "fast, or one where it stands alone in the top tier and nothing but the fast "
                    f"tier is below, not {self!r}"
                )
            if verifier.role == "gate" or verifier.reads == "raw":
                what = 'role="gate"' if verifier.role == "gate" else 'reads="raw"'
                where = Tier.parse(verifier.tier).label
                raise ConfigError(f"{name}: leave out its {what} in the {where} tier")
            if self.reward.estimator not in {"auto", "plugin"}:
                raise ConfigError(
                    f'{name}: estimator="{self.reward.estimator}" corrects what lower tiers '
                    "foretell, and none foretells a comparison: a group that was not judged keeps "
                    "what the fast tier says. Leave the estimator out"
                )
            if self.policy.is_sequential:
                raise ConfigError(
                    f"{name}, and policy {self.policy.name} buys checks one by one by what "
                    'candidates scored before: take another policy, such as "value_of_information"'
                )

    def check_sandboxes(self) -> None:
        """Compare the sandboxes of its verifiers, as they are chosen here, with what it demands.

        Raises:
            ConfigError: If one is weaker.
        """
        if self.least_sandbox is None:
            return
        from verifier_ladder.tiers.sandbox.backend import INSTALL, strength_of

        for verifier in self.verifiers:
            found = verifier.sandbox
            if found is not None and found.strength < strength_of(self.least_sandbox):
                raise ConfigError(
                    f"ladder {self.name} demands a sandbox at least as strong as "
                    f"{self.least_sandbox} for verifier {verifier.name}, and this machine has "
                    f"{found.name}; set VLADDER_SANDBOX={self.least_sandbox} if that is what the "
                    f"hosts of its tier have, or have it here: {INSTALL}"
                )

    @cached_property
    def digest(self) -> bytes:
        """Digest of all that affects rewards; what verifiers are tagged with does not."""
        spec = self.as_json()
        spec.pop("budget")
        for verifier in spec["verifiers"]:
            verifier.pop("capabilities", None)
            verifier.pop("domain", None)
            verifier.pop("cost", None)
            verifier.pop("observed", None)
        return digest(spec)

    def as_json(self) -> dict[str, Any]:
        """The ladder as the ledger records it."""
        return {
            "name": self.name, "kind": self.kind, "audit": self.audit,
            "target": self.target.as_json(), "reward": self.reward.as_json(),
            "policy": dict(self.policy.as_json()), "prior": self.prior,
            "verifiers": [v.as_json() for v in self.verifiers],
            "canonicaliser": {
                "name": self.canonicaliser.name, "version": self.canonicaliser.version,
                "settings": self.canonicaliser.settings,
            },
            "budget": budget_json(self.budget),
            **{name: demand for name in _DEMANDS if (demand := getattr(self, name)) is not None},
        }  # fmt: skip

    @classmethod
    @checked(path=1)
    def from_toml(cls, path: str | Path) -> Ladder:
        """Read a ladder from a TOML file that names registered verifiers.

        Raises:
            ConfigError: If the file can't be read, or names something that does not exist.
        """
        try:
            table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"can't read ladder {path}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"ladder {path} is not TOML: {error}") from None
        return cls.from_table(table)

    @classmethod
    @checked()
    def from_table(cls, table: Mapping[str, Any]) -> Ladder:
        """Build a ladder from the tables of its TOML form.

        Raises:
            ConfigError: If a section or a verifier is unknown.
        """
        unknown = set(table) - _SECTIONS
        if unknown:
            raise ConfigError(
                f"a ladder has no section {', '.join(sorted(unknown))}; "
                f"it has {', '.join(sorted(_SECTIONS))}"
            )
        entries = table.get("verifiers", [])
        if not isinstance(entries, list):
            raise ConfigError(f"verifiers={entries!r} of the ladder: give a list of verifiers")
        prior = _section(table, "prior", {"mean", "deviation"})
        alerts = _section(table, "alerts")
        ladder = cls(
            table.get("name", ""),
            [_verifier(entry) for entry in entries],
            policy=_policy(_section(table, "policy")),
            reward=_made(RewardRule, "reward", table),
            target=_made(Target, "target", table),
            audit=table.get("audit"),
            budget=_section(table, "budget"),
            prior=None if prior is None else _prior((prior.get("mean"), prior.get("deviation"))),
            alerts=None if alerts is None else AlertRules.from_table(alerts),
            **{name: table.get(name) for name in _DEMANDS},
        )
        if table.get("kind", ladder.kind) != ladder.kind:
            raise ConfigError(
                f"the ladder is for kind {table['kind']!r}, its verifiers for {ladder.kind!r}"
            )
        return ladder

    def __repr__(self) -> str:
        """Show the name and the tiers."""
        return f"<ladder {self.name}: {' → '.join(tier.label for tier in self.tiers)}>"


def _placed(verifier: Verifier, namespace: str) -> Verifier:
    """A copy of a verifier whose check keys are those of a namespace."""
    made = copy(verifier)
    made.namespace = namespace
    made.__dict__.pop("key_digest", None)
    return made


def _share(name: str, value: Any) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise ConfigError(f"{name}={value!r} must be a number between 0 and 1")
    return float(value)


def _budget(budget: Budget | None) -> Caps:
    for name, given in budget.items() if isinstance(budget, Mapping) else ():
        amounts = given.values() if isinstance(given, Mapping) else [given]
        if None in amounts:
            raise ConfigError(
                f"budget={budget!r}: None is no amount; leave out what has no cap, or write "
                f'"{UNLIMITED}" where {name} may ask people or spend money without one'
            )
    return parse_budget(budget)


def _prior(prior: Any) -> tuple[float, float] | None:
    if prior is None:
        return None
    try:
        mean, deviation = map(float, prior)
    except (TypeError, ValueError):
        mean, deviation = nan, nan
    if not isfinite(mean) or not 0 < deviation < inf:
        raise ConfigError(
            f"prior={prior!r}: give the mean and the standard deviation of the target, above 0"
        )
    return mean, deviation


def _section(
    table: Mapping[str, Any], name: str, keys: set[str] | None = None
) -> Mapping[str, Any] | None:
    """A section of the ladder's TOML form; None if it is missing."""
    found = table.get(name)
    if not isinstance(found, Mapping | None):
        raise ConfigError(f"[{name}] of the ladder must be a table, not {found!r}")
    if keys and (unknown := set(found or {}) - keys):
        raise ConfigError(
            f"[{name}] of the ladder has no {', '.join(sorted(unknown))}; "
            f"it has {', '.join(sorted(keys))}"
        )
    return found


def _verifier(entry: object) -> Verifier:
    if isinstance(entry, Verifier):
        return entry
    if isinstance(entry, str):
        return REGISTRY.get(entry)
    if not isinstance(entry, Mapping) or "name" not in entry:
        raise ConfigError(f"a verifier in the ladder has no name: {entry!r}")
    _section({"verifiers": entry}, "verifiers", {"name", "version", "settings", "weight"})
    wanted = entry.get("version")
    settings = _section(entry, "settings")
    made = REGISTRY.create(
        str(entry["name"]), dict(settings or {}), None if wanted is None else str(wanted)
    )
    return weighed(made, entry["weight"]) if "weight" in entry else made


def _policy(table: Mapping[str, Any] | None) -> EscalationPolicy | None:
    if table is None:
        return None
    from verifier_ladder.scheduler.policies import create_policy

    settings = dict(table)
    name = settings.pop("name", "thresholds")
    return create_policy(name, settings)


def _made(kind: type[Any], name: str, table: Mapping[str, Any]) -> Any:
    section = _section(table, name, {field.name for field in fields(kind)})
    return None if section is None else kind(**section)
