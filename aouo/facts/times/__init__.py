"""Reads times as people write them, by composition.

Text comes in; a moment, a day, a length of time or what comes again goes out, or a refusal that
names its sentence. A language's table maps words to typed items; rules that know no language join
neighbours to times, which are sets of features: two join if no feature conflicts. The longest time
wins, then what exists. What is left of a text is never part of a time: it is looked at by whoever
asked, with `is_timelike`.
"""

from aouo.facts.times.days import Days as Days
from aouo.facts.times.days import Prefer as Prefer
from aouo.facts.times.days import TimeRefused as TimeRefused
from aouo.facts.times.finding import Span as Span
from aouo.facts.times.finding import find as find
from aouo.facts.times.finding import is_sure as is_sure
from aouo.facts.times.finding import is_timelike as is_timelike
from aouo.facts.times.reading import Kind as Kind
from aouo.facts.times.reading import is_span as is_span
from aouo.facts.times.reading import plan as plan
from aouo.facts.times.reading import read as read
from aouo.facts.times.reading import say_day as say_day
from aouo.facts.times.reading import say_moment as say_moment
from aouo.facts.times.reading import value_of as value_of
from aouo.facts.times.recurring import Recurrence as Recurrence
from aouo.facts.times.resolving import existing as existing
