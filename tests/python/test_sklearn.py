"""Estimators of scikit-learn: they fit, predict and score, and searches, folds and pipelines take them. Skipped without scikit-learn."""
import pickle
import sys
import unittest
import unittest.mock
import warnings

import case

try:
    import numpy as np
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.metrics import accuracy_score
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from sklearn.utils import estimator_checks
except ImportError:
    print("1..0 # SKIP scikit-learn is not installed")
    sys.exit(0)

import brim
import brim.sklearn
from brim.sklearn import TextClassifier, TextRegressor

MODEL = str(case.folder() / "model")
GOOD = ["a good film", "great fun", "good good", "great plot"]
BAD = ["a bad film", "dull", "bad bad", "poor plot"]
TEXTS, CLASSES = (GOOD + BAD) * 9, np.array((["yes"] * 4 + ["no"] * 4) * 9)
OPTIONS = {"epochs": 6, "learning_rate": 4e-3}


class Classifiers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fitted = TextClassifier(MODEL, **OPTIONS).fit(TEXTS, CLASSES)

    def test_predictions(self):
        """classes as they came in, probabilities in their order, a score"""
        self.assertEqual((self.fitted.classes_.tolist(), self.fitted.predict(["great film", "dull"]).tolist()), (["no", "yes"], ["yes", "no"]))
        shares = self.fitted.predict_proba(TEXTS)
        self.assertTrue(np.allclose(shares.sum(1), 1) and (self.fitted.classes_[shares.argmax(1)] == self.fitted.predict(TEXTS)).all())
        self.assertTrue(((self.fitted.decision_function(TEXTS) > 0) == (shares[:, 1] > 0.5)).all())
        self.assertEqual(self.fitted.score(TEXTS, CLASSES), accuracy_score(CLASSES, self.fitted.predict(TEXTS)))
        self.assertGreater(self.fitted.score(TEXTS, CLASSES), 0.9)
        self.assertEqual(pickle.loads(pickle.dumps(self.fitted)).predict_proba(["dull"]).tolist(), self.fitted.predict_proba(["dull"]).tolist())
        self.assertIs(brim.sklearn.TextClassifier, TextClassifier)

    def test_again(self):
        """each fit of a loaded model begins with the same weights; a column of Arrow is texts"""
        estimator = TextClassifier(self.fitted.model_, max_steps=2, lr=1e-2)
        first, second = (estimator.fit(TEXTS, CLASSES).decision_function(TEXTS).tolist() for _ in range(2))
        self.assertEqual(first, second)
        self.assertEqual(len(estimator.predict(case.module("pyarrow").array(TEXTS))), len(TEXTS))

    def test_kept_heads(self):
        """a head that is kept has its classes in its order; probabilities come in that of classes_"""
        made = brim.train(MODEL, {"text": TEXTS, "label": CLASSES.tolist()}, labels=["yes", "no", "maybe"], epochs=6, lr=4e-3, progress=False).model
        made.save(case.folder() / "kept")
        for fitted in (TextClassifier(str(case.folder() / "kept"), keep_head=True, max_steps=1), TextClassifier(made, max_steps=1)):
            fitted.fit(TEXTS, CLASSES)
            self.assertEqual(fitted.classes_.tolist(), ["maybe", "no", "yes"])
            self.assertEqual(fitted.predict(TEXTS).tolist(), [one.label for one in fitted.model_.predict(TEXTS)])

    def test_forms(self):
        """arrays, columns, pairs; whole numbers and booleans come back as such"""
        short = {"max_steps": 2}
        made = TextClassifier(MODEL, **short).fit(np.array(TEXTS, dtype=object)[:, None], CLASSES == "yes")
        self.assertEqual((made.classes_.dtype, made.predict(np.array(["dull"])).dtype), (bool, bool))
        made = TextClassifier(MODEL, **short).fit([(text, "film") for text in TEXTS], [7 if one == "yes" else 3 for one in CLASSES])
        self.assertIn(made.predict([("dull", "film")])[0], (3, 7))
        for wrong in ([], ["a", 3], "a", [("a", "b", "c")]):
            self.assertRaises(ValueError, made.predict, wrong)
        for call in (made.predict, made.predict_proba, lambda X: made.score(X, [3]), lambda X: TextClassifier(MODEL, max_steps=1).fit(X, [3, 7])):
            for wrong, words in (({"text": ["a", "b"]}, "X is a dict"), ({"a", "b"}, "X is a set"), (np.array("ab"), "X is one text"), (b"ab", "X is one text"), (3, "X is a int")):
                with self.assertRaisesRegex((TypeError, ValueError), words):
                    call(wrong)
        self.assertRaises(ValueError, TextClassifier(MODEL).fit, ["a", "b"], [1, 1])
        for classes, words in (([None, "x"], "row 0 of y has no class"), ([1.0, np.nan], "row 1 of y has no class"), ([0.5, 1.5], "continuous")):
            with self.assertRaisesRegex(ValueError, words):
                TextClassifier(MODEL, max_steps=1).fit(["a", "b"], classes)
        with self.assertRaisesRegex(ValueError, "folds leave no model"):
            TextClassifier(MODEL, folds=2).fit(TEXTS, CLASSES)
        numbers = TextClassifier(MODEL, **short).fit(TEXTS, np.where(CLASSES == "yes", -1, 1))
        self.assertEqual((numbers.model_.labels.values, set(numbers.predict(TEXTS)) <= {-1, 1}), ([-1, 1], True))
        self.assertRaises(NotFittedError, TextClassifier(MODEL).predict, ["a"])

    def test_sample_weight(self):
        """a row of twice the weight counts as two, one of none is not there"""
        weights = np.array([2.0 if i % 8 == 0 else 0.0 if i % 8 == 7 else 1.0 for i in range(len(TEXTS))])
        rows = [i for i, weight in enumerate(weights) for _ in range(int(weight))]
        by_weight = TextClassifier(MODEL, **OPTIONS).fit(TEXTS, CLASSES, sample_weight=weights)
        by_rows = TextClassifier(MODEL, **OPTIONS).fit([TEXTS[i] for i in rows], CLASSES[rows])
        self.assertEqual(by_weight.predict_proba(GOOD).tolist(), by_rows.predict_proba(GOOD).tolist())
        for wrong in (-np.ones(len(TEXTS)), np.zeros(len(TEXTS)), np.ones(3), np.full(len(TEXTS), np.nan)):
            self.assertRaises(ValueError, TextClassifier(MODEL).fit, TEXTS, CLASSES, sample_weight=wrong)

    def test_weights_and_rows_held_out(self):
        """a share is held out before rows are repeated: what is evaluated is not trained on"""
        texts = [f"{'good' if i % 2 else 'bad'} film {'plot ' * (i // 2)}" for i in range(20)]
        for share in ({"validation_split": 0.2}, {"eval": "20%", "fold_seed": 3}):
            seen = []
            with unittest.mock.patch.object(brim.sklearn, "train", lambda model, data, **options: seen.append((data, options)) or brim.train(model, data, **options)):
                fitted = TextClassifier(MODEL, epochs=1, **share).fit(texts, ["a", "b"] * 10, sample_weight=[1, 3] * 9 + [0, 1])
            (data, options), = seen
            held_out = options["eval"]["eval"]["text"]
            self.assertEqual((len(held_out), set(held_out) & set(data["text"]), fitted.n_iter_), (4, set(), -(-len(data["text"]) // 16)))
            self.assertEqual({*held_out, *data["text"]}, {text for at, text in enumerate(texts) if at != 18})

    def test_no_rows(self):
        """one text, and what has no order or no rows, is refused, not taken letter by letter"""
        fitted = TextClassifier(MODEL, max_steps=1).fit(TEXTS, CLASSES)
        for rows, kind in (("a film", ValueError), (np.array("a film"), ValueError), ({"text": GOOD}, TypeError), (set(GOOD), TypeError)):
            for call in (fitted.predict, fitted.predict_proba, lambda X: fitted.fit(X, ["a", "b", "a", "b"])):
                self.assertRaises(kind, call, rows)

    def test_weights_of_any_size(self):
        """shares with a common measure are kept exactly; others are drawn, each within one of what it should be, and right on average"""
        from brim.sklearn import _times

        self.assertEqual(_times(np.array([0.3, 0.7, 1.2, 0.0]), 0).tolist(), [3, 7, 12, 0])
        self.assertEqual(_times(np.array([1 / 3, 1 / 3, 2.0]), 0).tolist(), [1, 1, 6])
        self.assertEqual(_times(np.array([2.0, 2.0]), 0).tolist(), [1, 1])
        weights = np.random.default_rng(1).random(40)
        draws = np.array([_times(weights, seed) for seed in range(2000)])
        want = weights * 40 / weights.sum()
        self.assertTrue((np.abs(draws - want) < 1).all() and np.allclose(draws.mean(0), want, atol=0.05) and (draws.sum(1) == 40).all())
        self.assertTrue((draws[0] == _times(weights, 0)).all())
        fitted = TextClassifier(MODEL, **OPTIONS).fit(TEXTS, CLASSES, sample_weight=np.where(CLASSES == "yes", 1, 1e-9))
        self.assertEqual(set(fitted.predict(TEXTS)), {"yes"})

    def test_searches(self):
        """folds, a search over options, a pipeline, clones"""
        one = TextClassifier(MODEL, **OPTIONS)
        self.assertEqual(clone(one.set_params(epochs=5)).get_params(), {"model": MODEL, "epochs": 5, "learning_rate": 4e-3})
        self.assertGreater(cross_val_score(one, TEXTS, CLASSES, cv=2).mean(), 0.9)
        line = make_pipeline(FunctionTransformer(lambda texts: [text.lower() for text in texts]), TextClassifier(MODEL, epochs=6))
        search = GridSearchCV(line, {"textclassifier__lr": [1e-7, 4e-3]}, cv=2).fit([text.upper() for text in TEXTS], CLASSES)
        self.assertEqual(search.best_params_, {"textclassifier__lr": 4e-3})
        self.assertIn("TextClassifier", search.best_estimator_._repr_html_())

    def test_checks(self):
        """scikit-learn's own, as far as texts may be their input; check_estimator itself leaves out all that give numbers"""
        named = ["check_no_attributes_set_in_init", "check_estimator_cloneable", "check_estimator_repr", "check_parameters_default_constructible",
                 "check_get_params_invariance", "check_set_params", "check_valid_tag_types", "check_estimator_tags_renamed", "check_mixin_order",
                 "check_estimators_unfitted", "check_estimator_sparse_tag"]
        checks = [getattr(estimator_checks, name) for name in named if hasattr(estimator_checks, name)]
        self.assertGreater(len(checks), 6)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind in (TextClassifier, TextRegressor):
                estimator_checks.check_estimator(kind())
                for check in checks:
                    with self.subTest(kind.__name__, check=check.__name__):
                        check(kind.__name__, kind())


class Regressors(unittest.TestCase):
    def test_failed_fit(self):
        """What cannot be fitted leaves what was fitted before."""
        one = TextClassifier(str(MODEL), max_steps=1).fit(["good", "bad"], ["x", "y"])
        with self.assertRaisesRegex(ValueError, "row 1 of X"):
            one.fit(["a", None, "b"], ["k", "l", "m"])
        self.assertEqual((one.classes_.tolist(), one.predict_proba(["a"]).shape), (["x", "y"], (1, 2)))
        for mixed in (["k", 1], np.array(["k", 1], object)):
            with self.assertRaisesRegex(TypeError, "y mixes strings"):
                one.fit(["a", "b"], mixed)
        for wrong in ({"x": 1, "y": 2}, "xy", np.array([["x", "y"]] * 2)):
            with self.assertRaisesRegex(ValueError, "y has the shape"):
                one.fit(["a", "b"], wrong)

    def test_label_in_x(self):
        """a column of labels is no second text"""
        frame = case.module("pandas").DataFrame({"text": ["a", "b"], "label": ["x", "y"]})
        with self.assertRaisesRegex(ValueError, 'X has the column "label"'):
            TextClassifier(MODEL, max_steps=1).fit(frame, frame["label"])
        made = TextClassifier(MODEL, max_steps=1).fit(frame[["text"]], frame["label"])
        self.assertEqual(TextClassifier(MODEL, max_steps=1).fit(frame.rename(columns={"label": "text_pair"}), frame["label"]).classes_.tolist(), made.classes_.tolist())

    def test_tables_of_arrow(self):
        """of one column, and of two; a column alone"""
        pa = case.module("pyarrow")
        texts, y = ["a", "b"], ["x", "y"]
        one, two = pa.table({"review": texts}), pa.table({"text": texts, "other": texts})
        short = lambda X: TextClassifier(MODEL, max_steps=1).fit(X, y).predict_proba(X).tolist()
        for X in (one, one.to_batches()[0], one["review"], one["review"].combine_chunks()):
            self.assertEqual(short(X), short(texts))
        for X in (two, two.to_batches()[0]):
            self.assertEqual(short(X), short(list(zip(texts, texts))))
        with self.assertRaisesRegex(ValueError, 'X has the column "label"'):
            short(pa.table({"text": texts, "label": y}))

    def test_what_fit_is_given(self):
        """options that fit itself says are no parameters"""
        for kind in (TextClassifier, TextRegressor):
            for name, value in (("task", "regression"), ("labels", ["a", "b"]), ("train", "a.csv"), ("text_column", "q"), ("label_column", "y")):
                with self.assertRaisesRegex(ValueError, f"^{name} is no parameter of {kind.__name__}"):
                    kind(MODEL, max_steps=1, **{name: value}).fit(["a", "b"], [0, 1])

    def test_values(self):
        """a value a text, and R squared as its score"""
        values = [1.0 if one == "yes" else 0.0 for one in CLASSES]
        made = TextRegressor(MODEL, epochs=12, lr=4e-3).fit(TEXTS, values)
        self.assertGreater(made.score(TEXTS, values), 0.5)
        good, bad = made.predict(["great fun", "dull"])
        self.assertGreater(good, bad + 0.3)


if __name__ == "__main__":
    case.main()
