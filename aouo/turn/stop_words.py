"""Lists words that say little by themselves, greetings too, in the languages most written here.

A word that somebody says often is told by its count; this list is for the first conversations,
when nothing has been said often yet.
"""

from __future__ import annotations

_BY_LANGUAGE = {
    "English": """
        the and for are was were has have had been being but not you your yours she her him his
        its our they them their this that these those there here what when where which who whom
        whose why how can could will would shall should may might must did does doing done from
        with without into onto over under about after before again once then than too very just
        only also some any all each every more most other such own same both few many much out
        off let get got give want need like know think tell say said please thanks thank hello
        hey hi good morning evening night day today tomorrow yesterday now ever never still okay
        yes sure well help something anything make made come came going gone back new one two
    """,
    "German": """
        der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine
        ich mich mir mein meine meinen meiner wir uns unser ihr euch sie ihn ihm ihnen sein
        seine ist sind war waren bin bist hat habe haben hatte hatten wird werden wurde kann
        kannst konnte soll will muss darf mit ohne von vom zum zur für auf aus bei nach vor über
        unter zwischen durch gegen bis wie was wer wem wen wann welche welcher welches warum
        wieso dann denn noch schon sehr mehr auch nur wenn weil dass als hier dort dies diese
        dieser dieses jetzt heute morgen gestern bitte danke hallo guten tag abend gibt mal
        etwas alles nichts machen nochmal
    """,
    "French": """
        les des une est sont était ont avez avec sans pour dans sur sous par mais pas plus que
        qui quoi dont quand comment pourquoi quel quelle quels quelles mon mes ton tes son ses
        notre nos votre vos leur leurs elle ils elles nous vous moi toi lui cette ces cela aux
        être avoir fait faire peux peut veux bonjour bonsoir salut merci demain hier aujourd hui
        oui non très bien aussi tout tous toute encore déjà
    """,
    "Spanish, Italian, Portuguese": """
        los las una unos unas del que con sin por para como cuando donde quien cual qué cómo
        cuándo dónde mis tus sus mío nuestro este esta estos estas eso esto ese esa está están
        estoy ser son era fue hay hace hacer tiene tengo puedes puede quiero hola gracias buenos
        buenas días mañana ayer hoy muy más pero también todo nada algo gli che senza per come
        quando dove chi quale perché mio mia tuo tua suo sua questo questa quello quella sono
        hai abbiamo hanno fare puoi vorrei ciao grazie buongiorno domani ieri oggi molto anche
        tutto niente qualcosa della delle degli nella uma uns umas dos das nos nas com sem quem
        qual meu minha seu isso isto esse essa são foi tem tenho fazer pode quero olá obrigado
        obrigada bom boa dia amanhã ontem hoje muito mais mas também tudo não sim você
    """,
    "Dutch, Polish, Turkish": """
        het een van niet met voor naar door maar ook nog wel mijn jouw zijn haar onze deze dit
        wat wie waar wanneer hoe waarom kan kun wil moet hebben heeft was hallo dank bedankt
        goed vandaag gisteren nie jest dla jak kiedy gdzie czy tak ale też mój moja moje ten
        tego mam może chcę cześć dzień dobry dziękuję dzisiaj wczoraj jutro bir için ile ama
        nasıl zaman nerede kim neden bana benim senin merhaba teşekkürler bugün yarın dün var
        yok
    """,
    "Russian, Ukrainian": """
        это этот эта эти что как где когда кто чей почему зачем или для без при над под мой моя
        моё мои твой ваш наш она они оно его них нам вам мне меня тебя был была было были есть
        нет уже ещё очень тоже только можно нужно надо хочу можешь может привет здравствуйте
        спасибо пожалуйста сегодня завтра вчера все всё так там тут цей ця що коли хто чому або
        мій вона вони його був була було були вже дуже також тільки треба можеш привіт дякую
        сьогодні вчора
    """,
}
STOP_WORDS = frozenset(word for words in _BY_LANGUAGE.values() for word in words.split())
