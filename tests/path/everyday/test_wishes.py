"""What is plainly meant without a form of words is done; what is not, is offered. Issue 43."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from aouo.packs.actions.plans import listed, plan
from aouo.packs.actions.slots import Here
from aouo.words.catalogue import speaking
from aouo.words.catalogue import text as say
from tests.path.buttons.test_menus import tap
from tests.path.everyday.test_first_days import changes, kept, six_packs
from tests.path.looking import settled
from tests.path.world import World

NOW = datetime(2026, 11, 28, 10, tzinfo=UTC)
PLANS = [
    ("en", "pick up the kids tomorrow at 3", "pick up the kids", True),
    ("en", "I have to leave at 17:30", "leave", True),
    ("en", "yoga every Tuesday 18:30", "yoga", True),
    ("en", "in 20 minutes take the pizza out", "take the pizza out", True),
    ("en", "on Dec 5 in the evening put the boots out", "put the boots out", True),
    ("en", "tomorrow evening bake for Halloween", "bake for Halloween", True),
    ("en", "wash the car tomorrow", "wash the car", False),
    ("en", "Tom is coming tomorrow at 8", "Tom is coming", False),
    ("en", "maybe tomorrow at 5", "maybe", False),
    ("en", "turn on the lights tomorrow at 7", "turn on the lights", False),
    ("en", "buy 6 eggs tomorrow at 9am", "buy 6 eggs", False),
    ("en", "it rained on Monday at 8", None, False),
    ("en", "dinner tomorrow at 8?", None, False),
    ("en", "lunch 12 € tomorrow at 1", None, False),
    ("en", "call Tom tomorrow at 8 or on Friday at 9", None, False),
    ("de", "ich muss morgen um 3 am Bahnhof sein", "am Bahnhof sein", True),
    ("de", "Termin bei Dr. Weber am 3. Dezember um 10", "Termin bei Dr. Weber", True),
    ("de", "Oma kommt am Freitag um 10", "Oma kommt", False),
    ("de", "buch mir einen Flug morgen um 8", "buch mir einen Flug", False),
    ("de", "der Film am Freitag um 8 war toll", None, False),
    ("fr", "Tom vient demain à 8h", "Tom vient", False),
]


@pytest.mark.parametrize(("language", "said", "text", "plain"), PLANS)
def test_a_deed_beside_its_time_is_plain_or_not(
    language: str, said: str, text: str | None, plain: bool
) -> None:
    read = plan(said, Here(NOW, UTC, language))

    assert (read and read.text) == text
    assert (read is not None and read.is_plain) == plain


async def test_what_nobody_understands_is_offered_as_finished_acts_that_a_tap_does(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with six_packs(world, monkeypatch) as (bot, _, _):
        answer = await bot.ask("wash the car tomorrow")
        labels = [button.text for button in answer.buttons]
        before = await kept(bot)
        await tap(bot, answer, labels[0])
        await settled(bot)
        done = changes(before, await kept(bot))

    assert labels[0].endswith("09:00: wash the car")
    assert "Keep a note: wash the car tomorrow" in labels[1:]
    assert [one[:2] for one in done] == [("+", "reminders")]


async def test_one_question_is_answered_from_all_packs_with_their_names(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with six_packs(world, monkeypatch) as (bot, _, _):
        await bot.ask("note: the vet is called Weber")
        await bot.ask("remind me tomorrow at 9 to call the vet")
        await bot.ask("paid 40 € for the vet")
        answer = await bot.ask("when is the vet?")
        nothing = await bot.ask("where did I put my umbrella?")

    assert "the vet is called Weber" in answer.text
    assert "⏰ Reminders:\n⏰ Call the vet: " in answer.text
    assert "40.00 €" in answer.text
    assert nothing.text.startswith("Nothing I keep for you holds “umbrella”.")


async def test_what_is_found_is_signed_by_the_pack_that_keeps_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with six_packs(world, monkeypatch) as (bot, _, _):
        await bot.ask("remind me tomorrow at 9 to call the vet")
        reminder = await bot.ask("when is the vet?")
        nothing = await bot.ask("where is my umbrella?")

    assert reminder.text.startswith("⏰ Call the vet: ")
    assert reminder.text.endswith("\n\n— remind")
    assert nothing.text.endswith("\n\n— notes")


async def test_words_that_name_one_row_of_all_packs_are_about_that_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with six_packs(world, monkeypatch) as (bot, _, _):
        await bot.ask("note: feed the fish")
        await bot.ask("remind me every Monday at 9 to call the vet")
        before = await kept(bot)
        moved = await bot.ask("move the vet to 10:30")
        await bot.ask("delete the fish")
        gone = changes(before, await kept(bot))
        unknown = await bot.ask("delete my account")
        await bot.ask("note: the vet is called Weber")
        both = await bot.ask("delete the vet one")

    assert moved.text.startswith("⏰ Call the vet: every Monday at 10:30")
    assert {one[:2] for one in gone} == {("-", "entries"), ("+", "reminders"), ("-", "reminders")}
    assert unknown.text.startswith("I keep nothing that is called “account”.")
    assert {button.text for button in both.buttons} == {
        "Remove a reminder: vet",
        "Delete a note: vet",
    }


async def test_a_moved_reminder_is_put_back_at_its_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with six_packs(world, monkeypatch) as (bot, _, _):
        await bot.ask("remind me on Friday at 14:30 to call the vet")
        before = await bot.ask("my reminders")
        moved = await bot.ask("move the vet to Saturday")
        await tap(bot, moved, "Undo")
        after = await bot.ask("my reminders")

    assert "14:30" in moved.text
    assert before.text == after.text


DONE = [
    ("es", "el pan 2,30", "+", "spendings", "el pan 2.3"),
    ("es", "me han cobrado 35 de la multa", "+", "spendings", "multa"),
    ("es", "ponme un aviso pa mañana a las 7: sacar al perro", "+", "reminders", "sacar al perro"),
    ("es", "ponme una alarma para las 7 de la mañana", "+", "reminders", "alarma"),
    ("es", "falta leche", "+", "entries", "leche"),
    ("es", "quita la leche q ya tengo", "-", "entries", "leche"),
    ("fr", "note 7,80 de pain", "+", "spendings", "pain"),
    ("fr", "note-moi que Luc est au 3", "+", "entries", " luc est au 3"),
    ("fr", "note : code de Karim 12A34", "+", "entries", "12a34"),
    ("fr", "le code de karim a changé, mets 58B44", "~", "entries", "code de karim 58b44"),
    ("fr", "rappelle-moi tous les 5 du mois de payer l'eau", "+", "reminders", "l'eau"),
    ("en", "set an 8 min timer for the eggs", "+", "reminders", "eggs"),
    ("en", "pasta timer 11 minutes", "+", "reminders", "pasta"),
    ("en", "could you wake me at 6:15 tomorrow?", "+", "reminders", "wake up"),
    ("en", "remember the alarm code 4471", "+", "entries", "4471"),
    ("en", "dont forget: return library books on monday", "+", "reminders", "return library"),
    ("en", "water the fern tomorrow at 6pm, don't forget", "+", "reminders", "water the fern"),
    ("en", "put oats on the list", "+", "entries", "oats"),
    ("en", "the ladder is at Anna's", "+", "entries", "ladder"),
    ("en", "Anna's birthday is 4 May", "+", "entries", "4 may"),
    ("en", "get rid of the oats", "-", "entries", "oats"),
    ("de", "stell einen 8-Minuten-Timer", "+", "reminders", "zeit"),
    ("de", "erinnerst du mich am Dienstag um 9 an die Rechnung?", "+", "reminders", "rechnung"),
    ("de", "nicht vergessen: Miete am 1. um 9 überweisen", "+", "reminders", "miete überweisen"),
    ("de", "am Montag die Steuer abgeben nicht vergessen", "+", "reminders", "die steuer abgeben"),
    ("de", "auf die Einkaufsliste: Klopapier", "+", "entries", "klopapier"),
    ("de", "notiz zum klopapier löschen", "-", "entries", "klopapier"),
    ("de", "am 5.12. abends Stiefel für Nikolaus raus", "+", "reminders", "für nikolaus raus"),
    ("de", "Frau Brandt hat den Ersatzschlüssel", "+", "entries", "brandt"),
    ("de", "die Autoschlüssel hat Anna im 3. Stock", "+", "entries", "anna im 3. stock"),
    ("de", "meinen Bohrer hat Tom", "+", "entries", "bohrer hat tom"),
    ("fr", "les clés de rechange, c'est Mme Brandt qui les a", "+", "entries", "mme brandt"),
    ("fr", "c'est Tom qui a ma perceuse", "+", "entries", "perceuse"),
    ("en", "the spare keys, Mrs Brandt has them", "+", "entries", "mrs brandt"),
    ("en", "story idea: a lighthouse keeper", "+", "materials", "story idea: a lighthouse keeper"),
    ("en", "Ideas for my novel: a clock runs back", "+", "materials", "novel: a clock"),
    ("de", "Romanidee: eine Uhr, die rückwärts geht", "+", "materials", "romanidee: eine uhr"),
    ("de", "Idee für einen Krimi: der Gärtner", "+", "materials", "krimi: der gärtner"),
    ("es", "idea de novela: un reloj", "+", "materials", "reloj"),
    ("fr", "idée d'histoire : un chat détective", "+", "materials", "un chat"),
    ("de", "Miete 740 überwiesen", "+", "spendings", "miete 740.0"),
    ("de", "hab die Stromrechnung 85 überwiesen", "+", "spendings", "stromrechnung 85.0"),
    ("en", "transferred 740 for rent", "+", "spendings", "rent 740.0"),
    ("es", "alquiler 740 pagado", "+", "spendings", "alquiler 740.0"),
    ("fr", "payé le loyer 740", "+", "spendings", " loyer 740.0"),
    ("en", "train ticket 49.00", "+", "spendings", "transport"),
    ("en", "cinema ticket 12.00", "+", "spendings", "fun"),
    ("de", "Bahnticket 49,00", "+", "spendings", "transport"),
    (
        "en",
        "can u remind me about mom's birthday on december 9",
        "+",
        "reminders",
        "mom's birthday",
    ),
    ("en", "remind me that the rent is due on december 3", "+", "reminders", "the rent is due"),
    (
        "de",
        "könntest du mich bitte an die Miete am 3. Dezember erinnern?",
        "+",
        "reminders",
        "miete",
    ),
    (
        "es",
        "me puedes recordar el cumple de Ana el 9 de diciembre?",
        "+",
        "reminders",
        "cumple de ana",
    ),
    ("fr", "tu me rappelles le loyer le 3 décembre ?", "+", "reminders", "loyer"),
]
ANSWERED = [
    ("es", "jajaja la otra vez se me quemó todo", None),
    ("es", "qué avisos tengo pendientes", None),
    ("fr", "ça fait combien cette semaine mes dépenses ?", None),
    ("fr", "fais voir mes notes", "sac gris"),
    ("de", "alles klar, dank dir und gute nacht", None),
    ("de", "danke und tschüss", None),
    ("en", "alright, thanks and good night", None),
    ("es", "vale, gracias y buenas noches", None),
    ("fr", "ok merci et bonne nuit", None),
    ("fr", "c'était qui pour la chaudière ?", "Delmas"),
    ("fr", "elle est où ma carte vitale", "sac gris"),
    ("en", "who did the boiler?", "Delmas"),
    ("de", "wer war das mit der Heizung?", "Delmas"),
    ("es", "mi tarjeta dónde está?", "sac gris"),
    ("en", "any news today?", "Bridge opens"),
]
"""What is said, and what the answer holds; None: it is small talk."""
NAMED = [
    ("es", "recuérdame mañana a las 9 lo del casero", "borra el aviso del casero, ya hablé", "-"),
    ("es", "recuérdame a las 17 yoga", "el yoga pásamelo al sábado a las 10", "+-"),
    ("es", "recuérdame a las 17 dentista", "me han cambiado el dentista al lunes a las 12", "+-"),
    ("fr", "rappelle-moi à 21h le bac", "change le rappel du bac, plutot 21h30", "+-"),
    ("fr", "rappelle-moi jeudi à 17h dentiste", "enlève l'alarme du dentiste", "-"),
    ("fr", "rappelle-moi jeudi à 17h dentiste", "efface-moi le dentiste", "-"),
    ("en", "remind me tomorrow at 8 to ring the bank", "forget the bank thing, they rang me", "-"),
    ("en", "remind me tomorrow at 8 to ring the bank", "never mind the bank, I called them", "-"),
    ("en", "remind me tomorrow at 8 to ring the bank", "the bank one, make it 9", "+-"),
    ("de", "erinnere mich um 12 an die Pizza", "die pizza ist fertig, erinnerung kann weg", "-"),
    ("de", "erinnere mich um 12 an die Pizza", "das mit der Pizza lieber erst um eins", "+-"),
    ("de", "immer dienstags um 18:15 Yoga", "yoga fällt ab jetzt aus, lösch das", "-"),
    ("es", "recuérdame a las 16 recoger a Nico", "lo de Nico pásalo a las 17", "+-"),
    ("es", "recuérdame a las 16 recoger a Nico", "lo de Nico mejor a las 17", "+-"),
    ("es", "recuérdame a las 16 la pizza", "la pizza ya está, quita el recordatorio", "-"),
    ("fr", "rappelle-moi à 17h de sortir le chien", "le chien plutôt à 18h", "+-"),
    ("fr", "rappelle-moi à 17h la pizza", "la pizza est prête, supprime le rappel", "-"),
]
"""A reminder, what is said of it, and whether it goes, or moves."""
LEFT = [
    "the timer of the oven is broken", "do you remember me?", "I cant forget her", "ugh, long day",
    "who is on the list", "my sister has a cold", "Thanks, see you tomorrow",
    "will you wake up at 8?", "I have to buy a house", "remember me", "busy tomorrow morning",
    "überweise 740 an meinen Vermieter", "Miete 740 überweisen", "Anna 50 überwiesen",
    "hast du die Miete 740 überwiesen?", "den Schnupfen hat Anna", "das Problem hat jeder",
    "here is the idea: we meet at five", "any idea: who is that?", "Bill 5 and Anna 6",
    "do you remind me of somebody?", "c'est Tom qui a raison", "Tom a mes yeux",
    "der Timer vom Ofen spinnt", "puh, langer Tag", "meine Schwester hat Schnupfen",
]  # fmt: skip


AHEAD = [
    ("en", "dentist friday 9am, remind me the evening before", "Thu 5 Mar, 19:00"),
    ("en", "the car goes to the garage on friday at 8, remind me an hour before", "Mar, 07:00"),
    ("en", "meeting friday at 3pm. remind me the day before", "Thu 5 Mar, 15:00"),
    ("en", "flight on friday at 6:30, remind me the day before at noon", "Thu 5 Mar, 12:00"),
    ("en", "remind me 30 minutes before the meeting on friday at 3pm", "Fri 6 Mar, 14:30"),
    ("de", "Zahnarzt Freitag 9 Uhr, erinnere mich am Abend vorher", "Do 5. März, 19:00"),
    ("de", "Zahnarzt Freitag 9 Uhr, erinner mich einen Tag vorher", "Do 5. März, 09:00"),
    ("es", "dentista el viernes a las 9, recuérdamelo la noche anterior", "jueves 5 de marzo, 21"),
    ("es", "dentista el viernes a las 9, avísame una hora antes", "marzo, 08:00"),
    ("fr", "dentiste vendredi à 9h, rappelle-moi la veille au soir", "jeudi 5 mars, 19:00"),
    ("fr", "dentiste vendredi à 9h, rappelle-moi une heure avant", "6 mars, 08:00"),
]
"""An appointment with when to be reminded before it; the clock begins on Mon 2 Mar 2026."""


async def test_a_reminder_comes_before_what_it_is_of(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: dict[str, str] = {}
    async with six_packs(world, monkeypatch) as (bot, _, _):
        for language, words, moment in AHEAD:
            await bot.ask(f"/language {language}")
            answer = await bot.ask(words)
            if moment not in answer.text:
                wrong[words] = answer.text
        before = await kept(bot)
        late = await bot.ask("dentist today at 23:59, remind me two days before")
        made = changes(before, await kept(bot))

    assert not wrong, "\n".join(f"{words}: {why}" for words, why in wrong.items())
    assert not made, late.text


@pytest.mark.parametrize(
    ("language", "words", "deeds"),
    [
        (
            "de",
            "um 11 Uhr Blumen gießen und um halb zwei Oma anrufen",
            ["28T11:00 Blumen gießen", "28T13:30 Oma anrufen"],
        ),
        ("de", "morgen um 8 Müll raus und um 9 Bäcker", ["29T08:00 Müll raus", "29T09:00 Bäcker"]),
        (
            "en",
            "at 9 pm laundry and tomorrow at 9 call Ben",
            ["28T21:00 laundry", "29T09:00 call Ben"],
        ),
        ("es", "a las 11 regar y a las 13:30 comer", ["28T11:00 regar", "28T13:30 comer"]),
        ("fr", "à 11h arroser et à 13h30 manger", ["28T11:00 arroser", "28T13:30 manger"]),
        ("de", "um 11 Uhr war ich beim Arzt und um 12 zu Hause", []),
        ("en", "at 11 he calls and at 12 we eat", []),
        ("en", "at 11 water the flowers", []),
    ],
)
def test_several_deeds_with_their_times_are_plain_together(
    language: str, words: str, deeds: list[str]
) -> None:
    plans = listed(words, Here(NOW, UTC, language))

    assert [f"{plan.when:%dT%H:%M} {plan.text}" for plan in plans] == deeds


async def test_questions_and_farewells_are_answered_in_the_words_that_people_use(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: dict[str, str] = {}
    async with six_packs(world, monkeypatch) as (bot, put, _):
        await bot.ask("note: chaudière, boiler, Heizung: Delmas")
        await bot.ask("note: carte vitale, tarjeta: sac gris")
        await bot.ask(put("follow https://feeds.example/news.xml"))
        for language, words, part in ANSWERED:
            await bot.ask(f"/language {language}")
            answer = (await bot.ask(words)).text
            with speaking(language):
                declined = answer.startswith(say("actions.no-model")[:25])
            if declined or (part or "") not in answer:
                wrong[words] = answer

    assert not wrong, "\n".join(f"{words}: {why}" for words, why in wrong.items())


async def test_a_reminder_is_moved_or_removed_by_what_people_call_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: dict[str, str] = {}
    async with six_packs(world, monkeypatch) as (bot, _, _):
        for language, reminder, words, how in NAMED:
            await bot.ask(f"/language {language}")
            before = await kept(bot)
            await bot.ask(reminder)
            reminded = await kept(bot)
            answer = await bot.ask(words)
            await settled(bot)
            done = sorted(change[0] for change in changes(reminded, await kept(bot)))
            if "".join(done) != how:
                wrong[words] = f"{done} <- {answer.text!r}"
            await bot.ask("/undo")
            await bot.ask("/undo")
            if changes(before, await kept(bot)):
                wrong[words] = "is not undone"

    assert not wrong, "\n".join(f"{words}: {why}" for words, why in wrong.items())


async def test_everyday_wishes_are_done_in_the_words_that_people_use(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: dict[str, str] = {}
    async with six_packs(world, monkeypatch) as (bot, _, _):
        spoken = ""
        for language, said, how, table, words in DONE:
            if language != spoken:
                await bot.ask(f"/language {language}")
                spoken = language
            before = await kept(bot)
            answer = await bot.ask(said)
            await settled(bot)
            made = changes(before, await kept(bot))
            if [one[:2] for one in made] != [(how, table)] or not all(words in o[2] for o in made):
                wrong[said] = f"{made} <- {answer.text!r}"
        before = await kept(bot)
        for said in LEFT:
            await bot.ask(said)
        unasked = changes(before, await kept(bot))
        keys = await bot.ask("wer hat die ersatzschlüssel?")

    assert not wrong, "\n".join(f"{words}: {why}" for words, why in wrong.items())
    assert not unasked
    assert "Frau Brandt" in keys.text
