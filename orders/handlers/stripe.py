"""Stripe: the only file that knows its SDK.

One `payment_intents` call with `confirm=true` moves the money. Errors are classified on what
Stripe said and on what the socket saw, never on the SDK's exception class alone: it raises one
class for a refused connection and for an answer that was lost.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

import stripe
import structlog
import urllib3
from django.conf import settings

from orders.handlers.base import ChargeOrder, ForgedEvent, Notice, Outcome, Result, Sighting
from orders.handlers.connections import deadline, session_for
from orders.models import Merchant
from orders.models.secrets import SecretUnreadable

log = structlog.get_logger(__name__)

CONNECT_TIMEOUT = 2.0  # seconds; a connection that takes longer is as good as refused
TOLERANCE = 300  # seconds between a signature's time and ours: Stripe's own default
# What the two may differ by in telling how long ago something was sent.
CLOCK_SLACK = timedelta(minutes=5)
# Failures after which requests is certain that no byte of the request was sent.
NOT_CONNECTED = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.NameResolutionError,
    urllib3.exceptions.ConnectTimeoutError,
    ssl.SSLCertVerificationError,
)
SHOWN = ("id", "object", "status", "amount", "amount_received", "amount_capturable", "currency")


class _SessionOfThread(threading.local):
    """A session for each thread, since sessions are not made to be shared."""

    def __init__(self, address: str) -> None:
        self.request = session_for(address).request


@lru_cache(maxsize=1024)
def _client(secret_key: str, api_base: str, timeout: float) -> stripe.StripeClient:
    session = _SessionOfThread(api_base or stripe.DEFAULT_API_BASE)
    http_client = stripe.RequestsClient(
        timeout=(CONNECT_TIMEOUT, timeout),
        session=session,  # type: ignore[arg-type]
    )
    addresses: dict[str, str] = {"api": api_base} if api_base else {}
    return stripe.StripeClient(
        secret_key,
        http_client=http_client,
        max_network_retries=0,
        base_addresses=addresses,  # type: ignore[arg-type]
    )


class StripeHandler:
    """Charges through Stripe's PaymentIntents, or through anything that speaks like Stripe."""

    name = "stripe"
    longest_key = 255

    def __init__(self, merchant: Merchant) -> None:
        self._merchant = merchant

    @property
    def _secret_key(self) -> str:
        try:
            return self._merchant.stripe_secret_key
        except SecretUnreadable:
            log.exception("stripe_key_unreadable", merchant=self._merchant.id)
            return ""

    @property
    def _stripe(self) -> stripe.StripeClient:
        timeout = settings.SARVEX_PROVIDER_TIMEOUT.total_seconds()
        return _client(self._secret_key, settings.STRIPE_API_BASE, timeout)

    def charge(self, order: ChargeOrder) -> Outcome:
        """Create and confirm a PaymentIntent; a needed action of the buyer is a final no."""
        if not self._secret_key:
            return _misconfigured("The merchant has no usable Stripe key.")
        with deadline(order.begin_within.total_seconds()):
            return _classified(
                lambda: self._stripe.v1.payment_intents.create(
                    params={
                        "amount": order.amount,
                        "currency": order.currency,
                        "payment_method": order.token,
                        "allowed_payment_method_types": ["card"],
                        "confirm": True,
                        "error_on_requires_action": True,
                        "capture_method": "automatic" if order.capture else "manual",
                        "metadata": order.metadata,
                    },
                    options={"idempotency_key": order.handler_key},
                )
            )

    def look_up_charge(self, sighting: Sighting) -> Outcome:
        """Retrieve by id when it is known, else search the list around the time of sending."""
        if not self._secret_key:
            return Outcome(result=Result.UNKNOWN, code="no_credentials")
        try:
            intent = self._find(sighting)
        except stripe.StripeError as error:
            # The question failed, which says nothing about the charge.
            asked = _outcome_of_error(error)
            return Outcome(result=Result.UNKNOWN, code=asked.code, message=asked.message)
        except Exception as error:
            # The SDK fell over an answer that it did not expect; that says nothing either.
            log.exception("stripe_answer_unreadable")
            return Outcome(
                result=Result.UNKNOWN, code="unreadable_answer", message=type(error).__name__
            )
        if intent is None:
            return Outcome(
                result=Result.NOT_SENT, code="absent", message="Stripe shows no trace of it."
            )
        return _outcome_of_intent(intent.to_dict())

    def read_event(self, raw: bytes, headers: Mapping[str, str], *, now: datetime) -> Notice:
        """Verify `Stripe-Signature` over the raw bytes, five minutes around now, and read it."""
        signature = headers.get("Stripe-Signature", "")
        try:
            secret = self._merchant.stripe_webhook_secret
        except SecretUnreadable as error:
            log.exception("stripe_webhook_secret_unreadable", merchant=self._merchant.id)
            raise ForgedEvent("The merchant's signing secret cannot be read.") from error
        if not secret:
            raise ForgedEvent("The merchant has no signing secret for events.")
        _refuse_from_the_future(signature, now=now)
        try:
            event = stripe.Webhook.construct_event(
                raw, signature, secret, tolerance=TOLERANCE
            ).to_dict()
        except (ValueError, stripe.SignatureVerificationError) as error:
            raise ForgedEvent("The signature does not fit the body, or is too old.") from error
        return _notice(event, raw)

    def _now_at_stripe(self) -> datetime:
        """Return Stripe's own time: `created` is in it, and our clocks may be wrong."""
        asked = self._stripe.v1.payment_intents.list(params={"limit": 1})
        return _now_of(asked.last_response)

    def _find(self, sighting: Sighting) -> stripe.PaymentIntent | None:
        intents = self._stripe.v1.payment_intents
        if sighting.reference:
            return intents.retrieve(sighting.reference)
        # From the first try on: Stripe shows a repeated request with the time of its first one.
        first_sent_at = self._now_at_stripe() - sighting.first_sent_ago
        listed = intents.list(
            params={
                "created": {"gte": int((first_sent_at - CLOCK_SLACK).timestamp())},
                "limit": 100,
            }
        )
        mine: Iterator[stripe.PaymentIntent] = (
            intent
            for intent in listed.auto_paging_iter()
            if _metadata(intent).get("sarvex_operation") == sighting.operation_id
        )
        return next(mine, None)


def _now_of(response: Any) -> datetime:
    """Return the time that an answer says it was made at."""
    return parsedate_to_datetime(response.headers["Date"])


def _refuse_from_the_future(signature: str, *, now: datetime) -> None:
    """The SDK refuses old signatures only; one from the future would stay valid for longer."""
    signed_at = dict(part.partition("=")[::2] for part in signature.split(",")).get("t", "")
    if (
        not (signed_at.isascii() and signed_at.isdigit())
        or int(signed_at) > now.timestamp() + TOLERANCE
    ):
        raise ForgedEvent("The signature's time is missing, or lies in the future.")


def _notice(event: dict[str, Any], raw: bytes) -> Notice:
    about = _member(event.get("data"), "object")
    is_charge = str(event.get("type", "")).startswith("payment_intent.")
    metadata = _member(about, "metadata")
    return Notice(
        event_id=str(event.get("id") or ""),
        type=str(event.get("type") or ""),
        reference=str(about.get("id") or ""),
        operation_id=str(metadata.get("sarvex_operation") or ""),
        outcome=_outcome_of_intent(about) if is_charge else None,
        evidence={
            "created": event.get("created"),
            "object": {name: about.get(name) for name in SHOWN},
            "metadata": {
                name: value for name, value in metadata.items() if name.startswith("sarvex_")
            },
        },
        body_sha256=sha256(raw).hexdigest(),
    )


def _metadata(intent: stripe.PaymentIntent) -> dict[str, str]:
    return dict(intent.metadata.to_dict()) if intent.metadata else {}


def _classified(send: Callable[[], stripe.PaymentIntent]) -> Outcome:
    """Send once, and put whatever comes back, or does not, into Sarvex's words."""
    try:
        intent = send()
    except stripe.StripeError as error:
        return _outcome_of_error(error)
    except Exception as error:
        # The SDK fell over an answer that it did not expect: the request may have been acted on.
        log.exception("stripe_answer_unreadable")
        return Outcome(
            result=Result.UNKNOWN, code="unreadable_answer", message=type(error).__name__
        )
    return _outcome_of_intent(intent.to_dict())


def _outcome_of_intent(intent: dict[str, Any]) -> Outcome:
    status = intent.get("status")
    told: dict[str, Any] = {
        "reference": str(intent.get("id") or ""),
        "amount": intent.get("amount"),
        "currency": str(intent.get("currency") or ""),
        "response": {name: intent.get(name) for name in SHOWN},
    }
    if status == "succeeded":
        captured = int(intent.get("amount_received") or 0)
        return Outcome(result=Result.SUCCEEDED, captured_amount=captured, **told)
    if status == "requires_capture":
        return Outcome(result=Result.SUCCEEDED, captured_amount=0, **told)
    error = _member(intent, "last_payment_error")
    if status == "canceled" or (status == "requires_payment_method" and error):
        return _declined(error, told)
    # `processing`, `requires_action`, an intent that was made and is not confirmed yet, and what
    # Stripe may add: it may still move money.
    return Outcome(result=Result.UNKNOWN, code=f"intent_{status}", **told)


def _declined(error: dict[str, Any], told: dict[str, Any]) -> Outcome:
    code = str(error.get("code") or "card_declined")
    return Outcome(
        result=Result.DECLINED,
        code=code,
        decline_code=str(error.get("decline_code") or code),
        message=str(error.get("message") or "The payment was declined."),
        requires_action=code == "authentication_required",
        **told,
    )


def _outcome_of_error(error: stripe.StripeError) -> Outcome:
    status = error.http_status
    if status is None:
        return _outcome_of_silence(error)
    told = _member(error.json_body, "error")
    kind, code = str(told.get("type") or ""), str(told.get("code") or "")
    response = {
        "http_status": status,
        "type": kind,
        "code": code,
        "decline_code": told.get("decline_code"),
        "request_id": (error.headers or {}).get("Request-Id"),
    }
    if status in {401, 403} and kind:
        return _misconfigured(f"Stripe answered {status}.", response)
    if status == 429 and kind:
        return Outcome(
            result=Result.NOT_SENT,
            code="rate_limited",
            message="Stripe is limiting requests.",
            response=response,
        )
    if status in {400, 402, 404} and kind in {"card_error", "invalid_request_error"}:
        intent = _member(told, "payment_intent")
        return _declined(told, {"reference": str(intent.get("id") or ""), "response": response})
    return Outcome(
        result=Result.UNKNOWN,
        code=code or kind or f"http_{status}",
        message=f"Stripe answered {status}.",
        response=response,
    )


def _member(value: Any, name: str) -> dict[str, Any]:
    """Return an object inside an object, or an empty one where the answer is not as documented."""
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _outcome_of_silence(error: stripe.StripeError) -> Outcome:
    """No answer: proven harmless only if the connection never stood."""
    causes = list(_causes(error))
    names = [type(cause).__name__ for cause in causes]
    never_stood = any(isinstance(cause, NOT_CONNECTED) for cause in causes)
    return Outcome(
        result=Result.NOT_SENT if never_stood else Result.UNKNOWN,
        code="unreachable" if never_stood else "no_answer",
        message="Stripe could not be reached."
        if never_stood
        else "Stripe's answer did not arrive.",
        response={"failure": names[-1] if names else type(error).__name__},
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Walk from an exception to everything that it says it came from."""
    seen: list[BaseException] = []
    waiting: list[Any] = [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseException) and one not in seen:
            seen.append(one)
            waiting += [one.__cause__, getattr(one, "reason", None), *one.args]
            yield one


def _misconfigured(message: str, response: dict[str, Any] | None = None) -> Outcome:
    return Outcome(
        result=Result.NOT_SENT,
        code="misconfigured",
        message=message,
        misconfigured=True,
        response=response or {},
    )
