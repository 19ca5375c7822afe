"""Records as Stripe shows them."""

from __future__ import annotations

from typing import Any

from .cards import CARDS, Card, card_named
from .records import Charge, Dispute, PaymentIntent, Record, Refund

Document = dict[str, Any]
_NOBODY: Document = {
    "address": {
        "city": None, "country": None, "line1": None, "line2": None,
        "postal_code": None, "state": None,
    },
    "email": None, "name": None, "phone": None, "tax_id": None,
}  # fmt: skip


def render(record: Record) -> Document:
    """Return the object that the API answers with."""
    if isinstance(record, PaymentIntent):
        return payment_intent(record)
    if isinstance(record, Charge):
        return charge(record)
    if isinstance(record, Refund):
        return refund(record)
    return dispute(record)


def payment_intent(intent: PaymentIntent) -> Document:
    """Return a payment intent as the API shows it."""
    return {
        "id": intent.id,
        "object": "payment_intent",
        "amount": intent.amount,
        "amount_capturable": intent.amount_capturable,
        "amount_details": {"tip": {}},
        "amount_received": intent.amount_received,
        "application": None,
        "application_fee_amount": None,
        "automatic_payment_methods": intent.automatic,
        "canceled_at": intent.canceled_at,
        "cancellation_reason": intent.cancellation_reason,
        "capture_method": intent.capture_method,
        "client_secret": intent.secret,
        "confirmation_method": intent.confirmation_method,
        "created": intent.created,
        "currency": intent.currency,
        "customer": intent.customer,
        "description": intent.description,
        "last_payment_error": intent.last_payment_error,
        "latest_charge": intent.latest_charge,
        "livemode": False,
        "metadata": intent.metadata,
        "next_action": intent.next_action,
        "on_behalf_of": None,
        "payment_method": intent.payment_method,
        "payment_method_configuration_details": None,
        "payment_method_options": {},
        "payment_method_types": intent.payment_method_types,
        "processing": None,
        "receipt_email": intent.receipt_email,
        "review": None,
        "setup_future_usage": intent.setup_future_usage,
        "shipping": intent.shipping,
        "source": None,
        "statement_descriptor": intent.statement_descriptor,
        "statement_descriptor_suffix": intent.statement_descriptor_suffix,
        "status": intent.status,
        "transfer_data": None,
        "transfer_group": intent.transfer_group,
    }


def charge(charge: Charge) -> Document:
    """Return a charge as the API shows it."""
    card = card_named(charge.card) or CARDS["pm_card_visa"]
    return {
        "id": charge.id,
        "object": "charge",
        "amount": charge.amount,
        "amount_captured": charge.amount_captured,
        "amount_refunded": charge.amount_refunded,
        "application": None,
        "application_fee": None,
        "application_fee_amount": None,
        "balance_transaction": transaction_id(charge.id) if charge.captured else None,
        "billing_details": _NOBODY,
        "calculated_statement_descriptor": "SARVEX SANDBOX",
        "captured": charge.captured,
        "created": charge.created,
        "currency": charge.currency,
        "customer": charge.customer,
        "description": charge.description,
        "disputed": charge.dispute is not None,
        "failure_balance_transaction": None,
        "failure_code": charge.failure_code,
        "failure_message": charge.failure_message,
        "fraud_details": {},
        "livemode": False,
        "metadata": charge.metadata,
        "on_behalf_of": None,
        "outcome": _outcome(charge),
        "paid": charge.paid,
        "payment_intent": charge.payment_intent,
        "payment_method": charge.payment_method,
        "payment_method_details": {"card": _card_details(card, charge), "type": "card"},
        "receipt_email": charge.receipt_email,
        "receipt_number": None,
        "receipt_url": None,
        "refunded": charge.refunded,
        "review": None,
        "shipping": charge.shipping,
        "source": None,
        "source_transfer": None,
        "statement_descriptor": None,
        "statement_descriptor_suffix": None,
        "status": charge.status,
        "transfer_data": None,
        "transfer_group": None,
    }


def _outcome(charge: Charge) -> Document:
    if charge.paid:
        return {
            "network_status": "approved_by_network",
            "reason": None,
            "risk_level": "normal",
            "seller_message": "Payment complete.",
            "type": "authorized",
        }
    return {
        "network_status": "declined_by_network",
        "reason": charge.decline_code,
        "risk_level": "normal",
        "seller_message": charge.failure_message,
        "type": "issuer_declined",
    }


def _card_details(card: Card, charge: Charge) -> Document:
    return {
        "amount_authorized": charge.amount if charge.paid else None,
        "brand": card.brand,
        "capture_before": charge.capture_before,
        "country": "US",
        "exp_month": 12,
        "exp_year": 2035,
        "fingerprint": f"sandbox{card.last4}",
        "funding": card.funding,
        "last4": card.last4,
        "network": card.brand,
        "three_d_secure": None,
        "wallet": None,
    }


def payment_method(object_id: str, card: Card, created: int) -> Document:
    """Return a payment method as the API shows it."""
    return {
        "id": object_id,
        "object": "payment_method",
        "billing_details": _NOBODY,
        "card": {
            "brand": card.brand,
            "country": "US",
            "display_brand": card.brand,
            "exp_month": 12,
            "exp_year": 2035,
            "fingerprint": f"sandbox{card.last4}",
            "funding": card.funding,
            "last4": card.last4,
            "networks": {"available": [card.brand], "preferred": None},
            "three_d_secure_usage": {"supported": True},
            "wallet": None,
        },
        "created": created,
        "customer": None,
        "livemode": False,
        "metadata": {},
        "type": "card",
    }


def refund(refund: Refund) -> Document:
    """Return a refund as the API shows it."""
    failed = refund.status == "failed"
    return {
        "id": refund.id,
        "object": "refund",
        "amount": refund.amount,
        "balance_transaction": transaction_id(refund.id),
        "charge": refund.charge,
        "created": refund.created,
        "currency": refund.currency,
        "destination_details": {
            "card": {"reference_status": "pending", "reference_type": "acquirer_reference_number",
                     "type": "refund"},
            "type": "card",
        },
        "failure_balance_transaction": transaction_id(refund.id + "f") if failed else None,
        "failure_reason": refund.failure_reason,
        "metadata": refund.metadata,
        "payment_intent": refund.payment_intent,
        "reason": refund.reason,
        "receipt_number": None,
        "source_transfer_reversal": None,
        "status": refund.status,
        "transfer_reversal": None,
    }  # fmt: skip


def dispute(dispute: Dispute) -> Document:
    """Return a dispute as the API shows it."""
    return {
        "id": dispute.id,
        "object": "dispute",
        "amount": dispute.amount,
        "balance_transactions": [],
        "charge": dispute.charge,
        "created": dispute.created,
        "currency": dispute.currency,
        "enhanced_eligibility_types": [],
        "evidence": {},
        "evidence_details": {
            "due_by": dispute.created + 7 * 86400,
            "has_evidence": False,
            "past_due": False,
            "submission_count": 0,
        },
        "is_charge_refundable": dispute.status.startswith("warning"),
        "livemode": False,
        "metadata": dispute.metadata,
        "network_reason_code": None,
        "payment_intent": dispute.payment_intent,
        "reason": dispute.reason,
        "status": dispute.status,
    }


def transaction_id(of: str) -> str:
    """Return the balance transaction's id: derived, so that none has to be stored."""
    return "txn_" + of.partition("_")[2]
