"""English words of numbers and dates."""

from __future__ import annotations

# fmt: off
ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
]
# fmt: on


def number_words(number: int) -> str:
    """Write a number in English words.

    Args:
        number: From 0 to 999.

    Returns:
        The words.

    Example:
        >>> number_words(342)
        'three hundred and forty-two'
    """
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10] + ("-" + ONES[number % 10] if number % 10 else "")
    return ONES[number // 100] + " hundred" + (" and " + number_words(number % 100) if number % 100 else "")
