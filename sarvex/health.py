"""Is the process alive, and may it be sent requests?"""

from __future__ import annotations

from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse

from idempotency import replay_cache

_migrated = False  # once true it stays so for the life of the process


def healthz(request: HttpRequest) -> HttpResponse:
    """Say that the process answers; asks nobody else, so that a sick database restarts nothing."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """Say whether requests can be served: the database answers and its migrations are applied.

    Redis is reported and not required, since without it the service is slower and not wrong.
    """
    checks = {"database": _database(), "redis": "ok" if replay_cache.is_up() else "down"}
    ready = checks["database"] == "ok"
    response = JsonResponse(
        {"status": "ready" if ready else "not ready", "checks": checks},
        status=200 if ready else 503,
    )
    if not ready:
        response.headers["Retry-After"] = "2"
    return response


def _database() -> str:
    global _migrated
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        if not _migrated:
            executor = MigrationExecutor(connection)
            _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error:
        return "down"
    return "ok" if _migrated else "migrations are missing"
