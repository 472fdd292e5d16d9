"""Waits, inside a foreign interpreter, for the modules that make optimizer steps, and hooks the counter into them.

Standard library only, syntax of Python 3.8. At start-up it does next to nothing: the counter itself is loaded when one
of the modules is, and its file is made at the first step.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Finder:
    """Answers for the few modules that are waited for, and leaves `sys.meta_path` when all have come."""

    def __init__(self, waited: dict[str, Callable[[Any], None]]) -> None:
        self.waited = waited

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Let the other finders find it, and have its loader tell us when it was run."""
        if name not in self.waited:
            return None
        for finder in list(sys.meta_path):
            spec = None if finder is self or not hasattr(finder, "find_spec") else finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = Loader(spec.loader, self)  # type: ignore[assignment]
                return spec
        return None

    def came(self, module: Any) -> None:
        """A module was loaded: hook into it. Never raises."""
        then = self.waited.pop(module.__name__, None)
        try:
            if not self.waited:
                sys.meta_path.remove(self)
            if then is not None:
                then(module)
        except Exception:
            return


class Loader:
    """Stands before a module's loader for the time of its loading."""

    def __init__(self, theirs: Any, finder: Finder) -> None:
        self.theirs, self.finder = theirs, finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self.theirs, name)

    def create_module(self, spec: Any) -> Any:
        """As the loader does it."""
        create = getattr(self.theirs, "create_module", None)
        return None if create is None else create(spec)

    def exec_module(self, module: Any) -> None:
        """Put the loader back where it belongs, run the module, then hook into it."""
        try:
            module.__spec__.loader = module.__loader__ = self.theirs
        except Exception:
            module.__loader__ = self.theirs
        self.theirs.exec_module(module)
        self.finder.came(module)


def _steps() -> Any:
    """The counter itself. Its folder is no longer on the path, so it is loaded from where this file lies."""
    module = sys.modules.get("_traintop_steps")
    if module is None:
        from _frozen_importlib import module_from_spec
        from _frozen_importlib_external import PathFinder

        spec: Any = PathFinder.find_spec("_traintop_steps", [os.path.dirname(os.path.abspath(__file__))])
        module = module_from_spec(spec)
        sys.modules["_traintop_steps"] = module
        spec.loader.exec_module(module)
    return module


def _hook_torch(module: Any) -> None:
    steps = _steps()
    module.register_optimizer_step_pre_hook(steps.before_step)
    module.register_optimizer_step_post_hook(steps.after_step)


def _hook_modules(module: Any) -> None:
    """Modules with parts are noted, weakly, until they are themselves a part: what remains are models."""
    import weakref

    roots = _steps().roots

    def registered(parent: Any, name: str, part: Any) -> None:
        try:
            roots.pop(id(part), None)
            key = id(parent)
            if key not in roots and len(roots) < 4096:
                roots[key] = weakref.ref(parent, lambda _ref: roots.pop(key, None))
        except Exception:
            return

    registered._torchdynamo_disable = True  # type: ignore[attr-defined]
    module.register_module_module_registration_hook(registered)


def _wrap(
    owner: Any,
    name: str,
    after: Callable[[tuple[Any, ...], Any, Any], None],
    before: Callable[[tuple[Any, ...]], Any] = lambda _args: None,
) -> None:
    """Have `after(arguments, result, what `before(arguments)` said)` called with a function or method of theirs."""
    from functools import wraps

    theirs = getattr(owner, name)

    @wraps(theirs)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            said = before(args)
        except Exception:
            said = None
        result = theirs(*args, **kwargs)
        try:
            after(args, result, said)
        except Exception:
            return result
        return result

    setattr(owner, name, wrapper)


def _hook_deepspeed(module: Any) -> None:
    """Its ZeRO optimizers step once a parameter group; the engine itself knows its steps, overflows apart."""
    count_for = _steps().count_for

    def made(engine: Any) -> int:
        return int(engine.global_steps) - int(getattr(engine, "skipped_steps", 0))

    def after(args: tuple[Any, ...], _result: Any, before: Any) -> None:
        engine = args[0]
        if before is not None:
            parameters = engine.module.parameters
            name, by = type(engine).__name__, made(engine) - before
            count_for(engine, name, by, lambda: sum(int(p.numel()) for p in parameters()), before)

    engine = module.DeepSpeedEngine
    # The pipeline engine has no `step`; both make their steps here.
    name = "_take_model_step" if hasattr(engine, "_take_model_step") else "step"
    _wrap(engine, name, after, lambda args: made(args[0]))


def _hook_keras(module: Any) -> None:
    """Its optimizers are its own; the end of a batch is told to callbacks by every backend, outside compiled code."""
    count_for = _steps().count_for
    begun: dict[int, int] = {}
    batches: dict[int, int] = {}

    def begins(args: tuple[Any, ...], _result: Any, _said: Any) -> None:
        begun[id(args[0])] = int(args[1])

    def ends(args: tuple[Any, ...], _result: Any, _said: Any) -> None:
        end = int(args[1])
        model = args[0]._model
        optimizer = model.optimizer
        before = batches.get(id(optimizer), 0)
        # A call ends several batches where `steps_per_execution` is set.
        batches[id(optimizer)] = now = before + end - begun.pop(id(args[0]), end) + 1
        every = int(getattr(optimizer, "gradient_accumulation_steps", None) or 1)
        count_for(optimizer, type(optimizer).__name__, now // every - before // every, model.count_params)

    _wrap(module.CallbackList, "on_train_batch_begin", begins)
    _wrap(module.CallbackList, "on_train_batch_end", ends)


def _hook_megatron(module: Any) -> None:
    """Where the optimizer is replayed from a CUDA graph no hook of torch is called; its own step function always is."""
    count_for = _steps().count_for
    theirs = module.train_step

    def after(_args: tuple[Any, ...], result: Any, _said: Any) -> None:
        skipped = isinstance(result, tuple) and len(result) > 1 and bool(result[1])
        count_for(theirs, "Megatron train_step", 0 if skipped else 1, lambda: 0)

    _wrap(module, "train_step", after)


WAITED = {
    "torch.optim.optimizer": _hook_torch,
    "torch.nn.modules.module": _hook_modules,
    "deepspeed.runtime.engine": _hook_deepspeed,
    "keras.src.callbacks.callback_list": _hook_keras,
    "megatron.training.training": _hook_megatron,
}


def install() -> None:
    """Wait for the modules that matter; nothing is imported and no file is made before the first step."""
    if sys.platform == "linux" and not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder(dict(WAITED)))
