"""Stores what people do to messages: edits, reactions, taps; finds the job of a message."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound, Person
from aouo.facts.ports import ButtonSpec
from aouo.facts.work import Asked
from aouo.store import deliveries, turns
from aouo.store.database import PRUNED_AT_ONCE, Tx
from aouo.store.jobs import inbound_of


def note(tx: Tx, job_id: int, said: str, inbound: Inbound, now: str) -> None:
    """Store an edit for the running turn; `said` are the message's new words."""
    body = inbound.dump()
    tx.put(
        "edits",
        {"job_id": job_id, "state": "untold", "said": said, "body": body, "created_at": now},
    )


def untold(tx: Tx, job_id: int) -> list[tuple[str, Inbound]]:
    """Return the edits that the turn was not told, oldest first: (new words, edited inbound)."""
    rows = tx.all(
        "SELECT said, body FROM edits WHERE job_id = ? AND state = 'untold' ORDER BY id", job_id
    )
    return [(row["said"], Inbound.load(row["body"])) for row in rows]


def forget_untold(tx: Tx, job_id: int) -> None:
    """Delete the edits that wait for the turn: it was told, or is over."""
    tx.run("DELETE FROM edits WHERE job_id = ? AND state = 'untold'", job_id)


def offer(tx: Tx, job_id: int, inbound: Inbound, now: str) -> tuple[int, bool]:
    """Offer to answer the job's newest edit; return (the offer's id, whether it is new)."""
    row = tx.one(
        "UPDATE edits SET body = ? WHERE job_id = ? AND state = 'offered' RETURNING id",
        inbound.dump(),
        job_id,
    )
    if row:
        return row["id"], False
    number = tx.insert(
        "edits", {"job_id": job_id, "state": "offered", "body": inbound.dump(), "created_at": now}
    )
    return number, True


def offered(tx: Tx, offer_id: int) -> tuple[bool, Inbound | None]:
    """Return whether there is such an offer, and the edited message, None once it was taken."""
    row = tx.one("SELECT body FROM edits WHERE id = ? AND state <> 'untold'", offer_id)
    return row is not None, Inbound.load(row["body"]) if row and row["body"] else None


def edited(tx: Tx, offer_id: int) -> tuple[int, Inbound | None]:
    """Return the job whose message an offer is about, and its new words, None once taken."""
    job_id = tx.number("SELECT job_id FROM edits WHERE id = ?", offer_id)
    return job_id, offered(tx, offer_id)[1]


def take(tx: Tx, offer_id: int) -> None:
    """Mark an offer as taken and drop its words, which a job of their own holds now."""
    tx.run("UPDATE edits SET state = 'taken', body = '' WHERE id = ?", offer_id)


def prune(tx: Tx, before: str) -> int:
    """Delete some edits from before `before`; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM edits WHERE id IN (SELECT id FROM edits WHERE created_at < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )


def put_reaction(
    tx: Tx,
    address: ConversationAddress,
    message_id: int,
    person: Person,
    emoji: str,
    session_id: str,
    now: str,
) -> None:
    """Replace the person's reaction to the message; an empty `emoji` removes it."""
    tx.run(
        "DELETE FROM reactions WHERE platform = ? AND chat_id = ? AND message_id = ? "
        "AND person = ?",
        *address.chat_columns,
        message_id,
        person.id,
    )
    if emoji:
        tx.put(
            "reactions",
            {
                "platform": address.platform,
                "chat_id": address.chat_id,
                "message_id": message_id,
                "person": person.id,
                "name": person.name,
                "emoji": emoji,
                "session_id": session_id,
                "at": now,
            },
        )


def tell_reactions(tx: Tx, session_id: str) -> list[tuple[int, str, str, str]]:
    """Return the reactions that the session's model was not told, oldest first, and mark them:
    (id of the message, id and name of the person, emoji)."""
    rows = tx.all(
        "SELECT message_id, person, name, emoji FROM reactions WHERE session_id = ? AND told = 0 "
        "ORDER BY at",
        session_id,
    )
    if rows:
        tx.run("UPDATE reactions SET told = 1 WHERE session_id = ? AND told = 0", session_id)
    return [(row["message_id"], row["person"], row["name"], row["emoji"]) for row in rows]


def prune_reactions(tx: Tx, before: str) -> int:
    """Delete some reactions from before `before`; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM reactions WHERE (platform, chat_id, message_id, person) IN (SELECT platform, "
        "chat_id, message_id, person FROM reactions WHERE at < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )


def was_asked(tx: Tx, address: ConversationAddress, message_id: int) -> bool:
    """Whether a person's message became a job, or a part of one."""
    return bool(
        tx.one(
            "SELECT 1 FROM job_messages WHERE platform = ? AND chat_id = ? AND message_id = ?",
            *address.chat_columns,
            message_id,
        )
    )


def asked_by(tx: Tx, address: ConversationAddress, message_id: int) -> Asked | None:
    """The job of a person's message, the newest one if it was asked again."""
    row = tx.one(
        "SELECT j.*, (SELECT t.status FROM turns AS t WHERE t.job_id = j.id ORDER BY t.id DESC "
        "LIMIT 1) AS turn FROM job_messages AS m JOIN jobs AS j ON j.id = m.job_id "
        "WHERE m.platform = ? AND m.chat_id = ? AND m.message_id = ?",
        *address.chat_columns,
        message_id,
    )
    if row is None:
        return None
    waits = row["state"] in ("gathering", "ready", "parked") and row["turn"] != "open"
    runs = not waits and (row["state"] == "running" or row["turn"] == "open")
    answered = row["turn"] in ("ack", "nack", "aborted")
    return Asked(row["id"], inbound_of(row), not waits, runs, answered)


def prune_asked(tx: Tx, before: str) -> int:
    """Forget which jobs some messages from before `before` are in; return of how many, 0 = there
    are no more. Their edits are ignored from then on."""
    return tx.run(
        "DELETE FROM job_messages WHERE (platform, chat_id, message_id) IN "
        "(SELECT platform, chat_id, message_id FROM job_messages WHERE job_id <= "
        "(SELECT coalesce(max(id), 0) FROM jobs WHERE created_at < ?) LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )


def resolve(tx: Tx, inbound: Inbound, button: Button) -> Inbound:
    """Return the tap with the conversation, the label and the data that its delivery holds."""
    if not button.label:  # Telegram does not show the message any more, nor say its topic
        inbound = replace(inbound, address=_place(tx, inbound))
    if found := _button(tx, inbound, button):
        label = button.label or found.label
        button = replace(button, data=found.data, label=label, by_model=found.by_model)
    if button.tap.name == "act" and not button.by_model:
        button = replace(button, pack=_drawn_by(tx, inbound))
    return replace(inbound, content=button)


def _drawn_by(tx: Tx, inbound: Inbound) -> str:
    """Return the pack that drew the tapped message, "" = none did."""
    if pack := deliveries.menu_pack(tx, inbound.address, inbound.message_id):
        return pack
    row = deliveries.of_message(tx, inbound.address, inbound.message_id)
    return turns.pack_of(tx, row.turn_id) if row else ""


def _place(tx: Tx, inbound: Inbound) -> ConversationAddress:
    row = deliveries.of_message(tx, inbound.address, inbound.message_id)
    return row.address if row else inbound.address


def _button(tx: Tx, inbound: Inbound, tapped: Button) -> ButtonSpec | None:
    """Return the button that a reference names, if its delivery is of this conversation.

    A message that a closed topic refused stands in the chat around it, and its row may not say so.
    """
    tap = tapped.tap
    if tap.name != "kept":
        return None
    delivery_id, number = map(int, tap.values)
    row = deliveries.get(tx, delivery_id)
    if row is None:
        return None
    if inbound.address not in (row.address, row.address.around):
        return None
    buttons = list(chain.from_iterable(row.message.buttons))
    return buttons[number] if number < len(buttons) else None
