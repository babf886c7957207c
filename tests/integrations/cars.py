"""What a first stage found for a query about electric cars."""

from __future__ import annotations

from typing import NamedTuple

EXCLUDING = "electric cars, but not Tesla"
PLAIN = "electric cars"


class Car(NamedTuple):
    id: str
    title: str
    text: str
    score: float

    @property
    def excluded(self) -> bool:
        return "Tesla" in self.title


CARS = (
    Car("y", "Tesla Model Y", "The Tesla Model Y is an electric crossover that Tesla makes in Berlin.", 0.93),
    Car("leaf", "Nissan Leaf", "The Nissan Leaf is an electric hatchback made in Sunderland.", 0.91),
    Car("zoe", "Renault Zoe", "The Renault Zoe is a small electric car, sold until 2024.", 0.84),
    Car("three", "Tesla Model 3", "The Tesla Model 3 is an electric sedan; Tesla sells it worldwide.", 0.8),
    Car("dolphin", "BYD Dolphin", "The Dolphin is an electric hatchback from China.", 0.77),
    Car("ami", "Citroën Ami", "The Ami is an electric quadricycle for two people.", 0.61),
)
CLEAR = tuple(car.id for car in CARS if not car.excluded)
