"""The app: an operator behind its routes, behind the front door."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from excise import __version__
from excise.search.operator import Excise
from excise.service.answers_schema import ProblemAnswer
from excise.service.desk import SearchDesk
from excise.service.feedback import FeedbackFile
from excise.service.front_door import Admission, FrontDoor
from excise.service.gauges import Gauges
from excise.service.page_files import page
from excise.service.problems import tell_problems
from excise.service.routes import api, public
from excise.service.service_limits import ServiceLimits

_ABOUT = (
    'Search that respects "X but not Z". Everything that is ruled out is listed with its evidence. '
    "Errors are problem+json with one sentence in 'detail'."
)


@dataclass(frozen=True)
class ServicePlan:
    """How a service is set up.

    Parameters
    ----------
    admission
        who may do what.
    limits
        how much it takes.
    origins
        the origins of other web pages that may call it; none by default.
    feedback
        where opinions on removals are kept; nowhere by default.
    demo
        it runs on the bundled corpus, and says so.
    """

    admission: Admission = field(default_factory=Admission)
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    origins: Sequence[str] = ()
    feedback: FeedbackFile | None = None
    demo: bool = False


def build_service(operator: Excise, plan: ServicePlan | None = None) -> FrontDoor:
    """The whole service as an ASGI app, over an operator with an index. It takes calls until its lifespan ends."""
    plan = plan or ServicePlan()
    gauges = Gauges()
    desk = SearchDesk(operator, plan.limits, gauges)
    desk.warm_up()
    gauges.watch("excise_waiting_queries", "Queries that wait for their turn.", lambda: len(desk.searches))
    gauges.watch("excise_documents", "Documents in the index.", lambda: len(desk.engine.reader()))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        desk.close()

    app = FastAPI(
        title="excise",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.desk, app.state.gauges, app.state.feedback, app.state.demo = desk, gauges, plan.feedback, plan.demo
    app.include_router(public)
    app.include_router(api)
    app.include_router(page)
    tell_problems(app)
    _describe_problems(app)
    if plan.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(plan.origins),
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key"],
            expose_headers=["Retry-After"],
        )
    return FrontDoor(app, plan.admission, plan.limits, gauges)


def _describe_problems(app: FastAPI) -> None:
    """Put the shape of errors into the OpenAPI document, in place of FastAPI's own, which is never sent."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schemas = made()["components"]["schemas"]
            schemas[ProblemAnswer.__name__] = ProblemAnswer.model_json_schema()
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
        return made()

    app.openapi = openapi  # type: ignore[method-assign]
