"""A first problem file: five questions, and the files that are written from the answers."""

from evenhand.new.files import write
from evenhand.new.questions import QUESTIONS, Answers, example, read

__all__ = ["QUESTIONS", "Answers", "example", "read", "write"]
