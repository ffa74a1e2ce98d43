"""New arrays beside one that is read, and the call that fills them."""

from __future__ import annotations

from typing import Any

from cornerturn._arrays import Array
from cornerturn._frameworks import Framework, framework_of, stream_for


def read(x: Any, name: str) -> tuple[Framework, Array]:
    framework = framework_of(x)
    framework.will_change_values(name)
    framework.will_lose_gradient(x, name)
    return framework, framework.read(x, name)


def result(array: Any) -> Array:
    return framework_of(array).read(array, "the result")


class Work:
    """New arrays beside one that is read, and a call on the stream that suits it."""

    def __init__(self, framework: Framework, x: Any, source: Array, stream: Any, name: str):
        self.framework, self.x, self.source = framework, x, source
        self.stream = stream
        self.number = stream_for(framework, source.device, stream, name)

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        like = self.source._replace(dtype=self.framework.dtype(dtype))
        number = None if self.stream is None else self.number
        result = self.framework.empty(self.x, like, shape, number)
        self.uses(result)
        return result

    def uses(self, array: Any) -> None:
        if self.stream is not None:
            framework_of(array).used_on(array, self.source.device, self.number)

    def run(self, work: Any, *arguments: Any, **options: Any) -> Any:
        device = self.source.device
        try:
            found = work(*arguments, device=device, stream=self.number, **options)
        except ValueError as error:
            named = str(error).replace("options.scale = ", "scale = ").replace("options.pad asks", "pad=True asks")
            if named == str(error):
                raise
            raise ValueError(named) from None
        except RuntimeError as error:
            if "has no real values" in str(error):
                raise TypeError(str(error)) from None
            raise
        finally:
            del arguments  # who keeps an error keeps this frame
        self.uses(self.x)
        return found
