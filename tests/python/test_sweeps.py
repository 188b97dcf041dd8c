"""The sweeps over options and kinds of rows can fail: with a fault put in, each does."""
import itertools
import unittest

import brim
import case
import swept
import test_effects as effects
import test_options as options


def failures(kind, run):
    """What failed of a test of that kind whose body is run(test)."""
    test = type("One", (kind,), {"body": lambda self: run(self)})("body")
    result = unittest.TestResult()
    test.run(result)
    return [text for _, text in result.failures + result.errors]


class Call(effects.Named):
    """One that has an option."""

    def __init__(self, call):
        super().__init__("a call", call, lambda *, flag=False: None)
        self.options = {"flag": swept.Keyword("flag", "bool", False)}


def raises(error):
    def call(flag=False):
        if flag:
            raise error
        return 1
    return call


class Sweeps(unittest.TestCase):
    def effects(self, call):
        made = Call(call)
        return failures(effects.Effects, lambda test: test.sweep([(made, keyword) for keyword in made.options.values()], None, {}))

    def test_effects(self):
        """an option that does nothing, that is refused in other words, or of a call that differs by itself"""
        self.assertEqual(self.effects(lambda flag=False: flag), [])
        self.assertEqual(self.effects(raises(brim.errors.UsageError("flag: leave it out"))), [])
        number = itertools.count()
        for call, line in ((lambda flag=False: 1, "no effect, and no word"), (raises(brim.errors.UsageError("leave it out")), "leave it out"), (raises(TypeError("f() got an unexpected keyword argument 'flag'")), "unexpected keyword"),
                           (raises(AttributeError("flag")), "AttributeError"), (raises(brim.errors.UsageError("flag: two\nlines")), "two"), (lambda flag=False: next(number), "not the same twice")):
            found = self.effects(call)
            self.assertTrue(found and line in found[0], (line, found))

    def test_options(self):
        """a value of no kind that is taken, a refusal in Python's own words, and one that blames another option"""
        keyword = {"flag": swept.Keyword("flag", "bool", False), "other": swept.Keyword("other", "bool", False)}

        def checked(word):
            def call(**given):
                for name, value in given.items():
                    if value not in (True, False, None):
                        raise TypeError(word.format(name, value))
            return call

        sweep = lambda call, known=keyword: failures(options.Options, lambda test: test.sweep(call, known))
        self.assertEqual(sweep(checked("{}: True or False is needed")), [])
        for call, known in ((lambda **given: None, keyword), (checked("f() got an unexpected keyword argument '{}'"), keyword), (checked("other: it is needed"), keyword), (checked("{}: True"), {}),
                              (checked("{}: two\nlines"), keyword)):
            self.assertTrue(sweep(call, known))

    def test_no_cases(self):
        """a table that is empty is no test that passes"""
        for none in (lambda: swept.thinned([], None), lambda: swept.thinned(iter(()), 20), lambda: case.takes(0)):
            self.assertRaisesRegex(AssertionError, "there are no cases", none)
        self.assertTrue(failures(effects.Effects, lambda test: test.sweep([], 20)))


if __name__ == "__main__":
    case.main()
