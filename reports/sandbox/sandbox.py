"""Jinja2 in a sandbox: for templates that a spec's author brings along.

A template sees the view and nothing else; it reads files below its own directory and no others; it
cannot call into Python, mark text as safe, or ask for unbounded work. What it prints is escaped for
the page's format unless a built-in macro made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from ...engine.model.errors import SpecError

BUILT_IN = Path(__file__).parents[1] / "templates"
MAX_OUTPUT = 50_000_000
MAX_STEPS = 1_000_000
MAX_REPEAT = 10_000
_UNSAFE_FILTERS = (
    "safe",
    "tojson",
    "urlize",
    "xmlattr",
    "center",
    "format",
    "indent",
    "pprint",
    "random",
    "wordwrap",
)
_UNSAFE_METHODS = frozenset(
    {
        "center",
        "ljust",
        "rjust",
        "zfill",
        "expandtabs",
        "format",
        "format_map",
        "translate",
        "encode",
    }
)


class TemplateDirectory(jinja2.BaseLoader):
    """An author's templates: one directory and its sub-directories; a path or a symbolic link that
    leads out of it is as good as absent.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def get_source(
        self, environment: jinja2.Environment, template: str
    ) -> tuple[str, str, Callable[[], bool]]:
        """Source, file name and freshness, as Jinja2 wants them. Raises TemplateNotFound."""
        path = (self.root / template).resolve()
        if not path.is_relative_to(self.root) or not path.is_file():
            raise jinja2.TemplateNotFound(template)
        return path.read_text(encoding="utf-8"), str(path), lambda: True


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of a page: strict about undefined names, escaping with ``escape_text``, with
    bounds on what a template may ask for.
    """

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self, escape_text: Callable[[str], str], root: Path | None = None) -> None:
        # Links among the built-in templates are the installer's (an editable install is nothing but
        # links) and lead to trusted text; names with ".." are refused there, too.
        built_in = jinja2.FileSystemLoader(BUILT_IN)
        super().__init__(
            loader=jinja2.ChoiceLoader(
                [TemplateDirectory(root), built_in] if root is not None else [built_in]
            ),
            undefined=jinja2.StrictUndefined,
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=lambda value: _finalize(value, escape_text),
        )
        for name in _UNSAFE_FILTERS:
            self.filters.pop(name, None)
        self.filters.update(
            dict.fromkeys(
                ("e", "escape", "forceescape"), lambda value: Markup(escape_text(str(value)))
            )
        )
        self._steps = 0
        self.globals.pop("lipsum", None)
        self.globals["range"] = self._range

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """Fields and harmless methods; no string method that can be asked for gigabytes."""
        return super().is_safe_attribute(obj, attr, value) and not (
            isinstance(obj, str) and attr in _UNSAFE_METHODS
        )

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """No ``str.format``, not even Jinja2's careful one: a width in it can ask for any amount of
        memory.
        """
        return None

    def call_binop(
        self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any
    ) -> Any:
        """Multiplication of numbers only; no powers and no ``%`` formatting with widths."""
        if (
            operator == "**"
            or isinstance(left, str | list | tuple)
            or isinstance(right, str | list | tuple)
        ):
            raise SecurityError(
                f"the operator {operator} is not available for these values in a template"
            )
        return super().call_binop(context, operator, left, right)

    def _range(self, *bounds: int) -> range:
        numbers = range(*bounds)
        self._steps += len(numbers)
        if len(numbers) > MAX_REPEAT or self._steps > MAX_STEPS:
            raise SecurityError(
                f"range() asks for more than {MAX_REPEAT} steps, or the template for more than"
                f" {MAX_STEPS} in all"
            )
        return numbers


def _finalize(value: object, escape_text: Callable[[str], str]) -> object:
    """What ``{{ value }}`` prints: nothing for None, made markup as it is, everything else
    escaped.
    """
    if isinstance(value, Markup):
        return value
    return Markup("" if value is None else escape_text(str(value)))


def render(environment: Sandbox, name: str, context: Mapping[str, object]) -> str:
    """Render the template ``name``.

    Raises:
        SpecError: the template cannot be found or read, is wrong, names something undefined, or
            asks for too much; with file and line.
    """
    try:
        return "".join(_bounded(environment.get_template(name).generate(dict(context)), name))
    except jinja2.TemplateSyntaxError as error:
        raise SpecError(
            error.message or "syntax error",
            where=f"{error.filename or name}:{error.lineno}",
            remedy="correct the template",
        ) from error
    except jinja2.TemplateNotFound as error:
        remedy = "a template includes files beside itself"
        raise SpecError(
            f"no template {error.name!r} in the template's directory", where=name, remedy=remedy
        ) from error
    except (
        jinja2.TemplateError,
        TypeError,
        ValueError,
        LookupError,
        ArithmeticError,
        AttributeError,
        RecursionError,
    ) as error:
        raise SpecError(
            str(error),
            where=_locate(error, name),
            remedy="docs/writing-templates.md lists what a template can use",
        ) from error


def _bounded(parts: Iterator[str], name: str) -> Iterator[str]:
    written = 0
    for part in parts:
        written += len(part)
        if written > MAX_OUTPUT:
            raise SecurityError(f"{name} writes more than {MAX_OUTPUT} characters")
        yield part


def _locate(error: BaseException, name: str) -> str:
    """``file:line`` of the innermost template frame; Jinja2 gives its frames the template's file
    name and line.
    """
    where, step = name, error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if file.endswith((".j2", name)):
            where = f"{file}:{step.tb_lineno}"
        step = step.tb_next
    return where
