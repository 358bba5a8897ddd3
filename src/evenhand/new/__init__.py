"""A first problem file: five questions, and the files that are written from the answers."""

from evenhand.new.questions import QUESTIONS, Answers, example, read
from evenhand.new.writing import write

__all__ = ["QUESTIONS", "Answers", "example", "read", "write"]
