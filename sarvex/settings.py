"""Every setting of Sarvex, read from the environment (and `.env`), in titled sections.

A value that is wrong, or that contradicts another, stops the start and names its variable.
Durations are whole or decimal seconds; `24h`, `90d`, `500ms` and `10m` are understood too.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from sarvex.dev import endpoints
from sarvex.dev.secret import development_secret

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")


def seconds(name: str, default: str) -> timedelta:
    """Read a positive duration; the error names the variable and what it may look like."""
    text = env.str(name, default=default).strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|)", text)
    unit = {"ms": 0.001, "s": 1, "": 1, "m": 60, "h": 3600, "d": 86400}
    amount = float(match[1]) * unit[match[2]] if match else 0
    if amount <= 0:
        raise ImproperlyConfigured(
            f"{name}={text!r} is not a positive duration (examples: 20, 1.5, 500ms, 10m, 24h, 90d)"
        )
    return timedelta(seconds=amount)


def whole(name: str, default: int, *, least: int = 1, most: int = 65535) -> int:
    """Read an integer between two bounds; the error names the variable."""
    text = env.str(name, default=str(default)).strip()
    if not re.fullmatch(r"\d{1,9}", text) or not least <= int(text) <= most:
        raise ImproperlyConfigured(f"{name}={text!r} is not a whole number from {least} to {most}")
    return int(text)


def switch(name: str, *, default: bool = False) -> bool:
    """Read a yes or no; the error names the variable."""
    text = env.str(name, default="1" if default else "0").strip().lower()
    if text not in {"1", "true", "yes", "on", "0", "false", "no", "off", ""}:
        raise ImproperlyConfigured(f"{name}={text!r} is neither yes (1) nor no (0)")
    return text in {"1", "true", "yes", "on"}


def url(name: str, schemes: set[str], *, default: str = "") -> str:
    """Read a URL of one of the schemes, or nothing; the error names the variable."""
    text = env.str(name, default=default).strip()
    if text and urlsplit(text).scheme not in schemes:
        raise ImproperlyConfigured(
            f"{name} must be a URL that starts with {' or '.join(sorted(schemes))}://"
        )
    return text


# --- Where things are ---------------------------------------------------------------------------

SARVEX_HOME = Path(env.str("SARVEX_HOME", default=str(BASE_DIR / ".sarvex"))).absolute()
PORT = whole("PORT", 8000)
ROOT_URLCONF = "sarvex.urls"
WSGI_APPLICATION = "sarvex.wsgi.application"
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])

# --- Secrets ------------------------------------------------------------------------------------

SECRET_KEY = env.str("SECRET_KEY", default="") or development_secret(SARVEX_HOME)
SECRET_KEY_IS_OURS = not env.str("SECRET_KEY", default="")
DEBUG = switch("DEBUG")
# Fernet keys for merchants' provider secrets, newest first; rotation is a new key in front.
# Without any, one is derived from SECRET_KEY.
SARVEX_ENCRYPTION_KEYS = env.list("SARVEX_ENCRYPTION_KEYS", default=[])

# --- The promise's durations --------------------------------------------------------------------

SARVEX_PROVIDER_TIMEOUT = seconds("SARVEX_PROVIDER_TIMEOUT", "20")
SARVEX_DUPLICATE_WAIT = seconds("SARVEX_DUPLICATE_WAIT", "10")
SARVEX_STALE_AFTER = seconds("SARVEX_STALE_AFTER", "60")
SARVEX_REPLAY_WINDOW = seconds("SARVEX_REPLAY_WINDOW", "24h")
SARVEX_AUDIT_RETENTION = seconds("SARVEX_AUDIT_RETENTION", "90d")
SARVEX_OUTBOX_LEASE = seconds("SARVEX_OUTBOX_LEASE", "300")

if SARVEX_STALE_AFTER <= SARVEX_PROVIDER_TIMEOUT:
    raise ImproperlyConfigured(
        "SARVEX_STALE_AFTER must be longer than SARVEX_PROVIDER_TIMEOUT: until the provider call"
        " has timed out, its own thread may still be sending it"
    )
if SARVEX_AUDIT_RETENTION < SARVEX_REPLAY_WINDOW:
    raise ImproperlyConfigured(
        "SARVEX_AUDIT_RETENTION must not be shorter than SARVEX_REPLAY_WINDOW:"
        " an answer that may still be replayed cannot be pruned"
    )

# --- PostgreSQL ---------------------------------------------------------------------------------

DATABASE_URL_IS_GIVEN = bool(env.str("DATABASE_URL", default=""))
DATABASE_URL = url("DATABASE_URL", {"postgres", "postgresql"}) or endpoints.database_url(
    SARVEX_HOME
)
try:
    _database = env.db_url_config(DATABASE_URL)
except ValueError as error:
    raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {error}") from error
DATABASES = {
    "default": {
        **_database,
        "ENGINE": "django.db.backends.postgresql",
        "ATOMIC_REQUESTS": False,
        "DISABLE_SERVER_SIDE_CURSORS": False,
        # Connections are kept by a pool, so that a thread that waits for a provider or for
        # another request holds none, and a burst is bounded here and not by the server's limit.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            **_database.get("OPTIONS", {}),
            "pool": {
                "min_size": 1,
                "max_size": whole("SARVEX_DB_CONNECTIONS", 12, most=500),
                # Longer than any statement below may run, shorter than a client's patience.
                "timeout": 5.0,
                "max_lifetime": 3600.0,
                "max_idle": 300.0,
            },
            "application_name": "sarvex",
            # Recurring statements are prepared by PostgreSQL; docs/performance.md has numbers.
            "server_side_binding": True,
            "prepare_threshold": 3,
            "connect_timeout": 5,
            # A server that vanished without a word is noticed within these, and not in hours.
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 15_000,
            # lock_timeout: a row lock is held for one short phase; five seconds means trouble.
            # statement_timeout: nothing a request asks takes longer.
            # idle_in_transaction: a phase does no I/O but SQL, so an idle one is a dead client.
            "options": "-c lock_timeout=5000 -c statement_timeout=15000"
            " -c idle_in_transaction_session_timeout=15000",
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Redis: replay cache, rate limits, Celery broker; never the only place of anything ----------

REDIS_URL = url("REDIS_URL", {"redis", "rediss", "unix"}) or endpoints.redis_url(SARVEX_HOME)
# How long Redis may keep a request waiting before it is left alone, and for how long it is.
SARVEX_REDIS_TIMEOUT = seconds("SARVEX_REDIS_TIMEOUT", "50ms")
SARVEX_REDIS_REST = seconds("SARVEX_REDIS_REST", "5")

# --- Celery -------------------------------------------------------------------------------------

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# A worker that is asked to stop finishes what it has in hand, for so long at the most.
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 25.0
# A broker that hangs is found out; the default waits for ever.
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_timeout": 10.0, "socket_connect_timeout": 2.0}
CELERY_BROKER_CONNECTION_TIMEOUT = 2.0
CELERY_BEAT_SCHEDULE = {
    "deliver what no nudge told of": {
        "task": "idempotency.deliver_due",
        "schedule": 2.0,
        "options": {"expires": 10},
    },
    "look up unknown outcomes": {"task": "orders.reconcile_operations", "schedule": 5.0},
}

# --- Payment handlers ---------------------------------------------------------------------------

PAYMENT_HANDLERS = {"stripe": "orders.handlers.stripe.StripeHandler"}
STRIPE_API_BASE = url("STRIPE_API_BASE", {"http", "https"})

# --- Outbox -------------------------------------------------------------------------------------

OUTBOX_SUBSCRIBERS = {
    "serving.checkout.order_intent": ["orders.subscribers.guardian.guard_intention"],
}
# What tells the workers that something is due; empty where nobody is to be told.
OUTBOX_NUDGE = "idempotency.tasks.nudge"

# --- Apps, middleware, templates ----------------------------------------------------------------

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "audit",
    "idempotency",
    "orders",
    "sarvex",
]

# The API passes through the first two only; the rest stand aside unless the path is for people.
MIDDLEWARE = [
    "sarvex.middleware.RequestContext",
    "sarvex.middleware.StaticFiles",
    "sarvex.middleware.PeopleSecurity",
    "sarvex.middleware.PeopleSession",
    "sarvex.middleware.PeopleCommon",
    "sarvex.middleware.PeopleCsrf",
    "sarvex.middleware.PeopleAuthentication",
    "sarvex.middleware.PeopleMessages",
    "sarvex.middleware.PeopleFrames",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# --- People: sign-in, sessions, cookies, transport ----------------------------------------------

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# Plain HTTP is for development on the machine itself; `make run` switches it on.
SARVEX_INSECURE_HTTP = switch("SARVEX_INSECURE_HTTP")
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not SARVEX_INSECURE_HTTP
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 8 * 3600  # a working day
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Strict"
SECURE_SSL_REDIRECT = not SARVEX_INSECURE_HTTP
SECURE_HSTS_SECONDS = 0 if SARVEX_INSECURE_HTTP else 365 * 24 * 3600
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = not SARVEX_INSECURE_HTTP
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
X_FRAME_OPTIONS = "DENY"
# Django looks for its own middlewares by their dotted names; `sarvex.middleware` subclasses them.
SILENCED_SYSTEM_CHECKS = ["security.W001", "security.W002", "security.W003"]

# --- Language, time, static files ---------------------------------------------------------------

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = env.str("STATIC_ROOT", default="") or None
WHITENOISE_USE_FINDERS = True

# --- Bodies -------------------------------------------------------------------------------------

# 256 KiB: a session with the most line items that is allowed (500) stays well below it.
DATA_UPLOAD_MAX_MEMORY_SIZE = 256 * 1024

# --- Web server ---------------------------------------------------------------------------------

# Threads of one web process, and how many of its requests may wait for providers at once. Fifty
# equal requests fit in one process, and eight threads are left for everything that is quick.
SARVEX_WEB_THREADS = whole("SARVEX_WEB_THREADS", 64, least=4, most=1000)
SARVEX_SLOW_REQUESTS = max(SARVEX_WEB_THREADS - 8, SARVEX_WEB_THREADS // 2)

# --- REST framework and OpenAPI -----------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["orders.api.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["orders.api.rendering.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["orders.api.rendering.JsonParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "orders.api.rendering.AlwaysJson",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "orders.api.problems.problem_response",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
    "DEFAULT_THROTTLE_CLASSES": [],
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Sarvex",
    "VERSION": "0.1.0",
    "DESCRIPTION": "One intention, one charge, one order, one answer: effectively once.",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SERVE_PERMISSIONS": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
}

# --- Logging ------------------------------------------------------------------------------------

LOG_LEVEL = env.str("LOG_LEVEL", default="INFO").upper()
LOGGING_CONFIG = "sarvex.logging.configure"
LOGGING = {"level": LOG_LEVEL}
