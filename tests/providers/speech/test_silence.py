"""What a service invents for silence is not what somebody said. Source: issue 30, number 5."""

from __future__ import annotations

import pytest

from aouo.providers.speech.silence import is_invented


@pytest.mark.parametrize(
    "heard",
    [
        "",
        ".",
        "…",
        "♪♪",
        "[BLANK_AUDIO]",
        "(Musik)",
        "*sighs* [music]",
        "you",
        "A.",
        "Thanks for watching!",
        "Thank you for watching. Thank you for watching!",
        "Please like and subscribe",
        "Subtitles by the Amara.org community",
        "Untertitel der Amara.org-Community",
        "Untertitelung des ZDF, 2020",
        "Untertitel im Auftrag des ZDF für funk, 2017",
        "Sous-titres réalisés par la communauté d'Amara.org",
        "Sottotitoli creati dalla comunità Amara.org",
        "Ondertitels ingediend door de Amara.org gemeenschap",
        "Undertekster av Ai-Media",
        "Vielen Dank fürs Zuschauen!",
        "Merci d'avoir regardé cette vidéo !",
        "Субтитры сделал DimaTorzok",
        "Продолжение следует...",
        "Редактор субтитров А.Семкин Корректор А.Егорова",
        "ご視聴ありがとうございました",
        "字幕by索兰娅",
        "İzlediğiniz için teşekkürler",
    ],
)
def test_silence_is_not_speech(heard: str) -> None:
    assert is_invented(heard)


@pytest.mark.parametrize(
    "heard",
    [
        "Thank you.",
        "Danke",
        "Yes.",
        "Ja",
        "7",
        "no",
        "Bye!",
        "はい",
        "是",
        "Buy milk. Thanks for watching the kids!",
        "Can you add subtitles by tomorrow?",
        "Untertitel bitte einschalten",
        "subscribe me to the newsletter",
        "Write to Ann: thanks for watching the dog",
        "(laughs) call Ben tomorrow",
        "You and me at nine",
    ],
)
def test_what_somebody_says_is_heard(heard: str) -> None:
    assert not is_invented(heard)
