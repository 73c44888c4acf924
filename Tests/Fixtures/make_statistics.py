"""Goldens for DibitStatistics and DibitBaselines from scikit-learn and SciPy: make_statistics.py OUT"""

import json
import sys
from types import SimpleNamespace

import numpy as np
from scipy import sparse, stats
from sklearn import metrics
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.preprocessing import StandardScaler

rng = np.random.default_rng(20260)


def rounded(values, places=6):
    """Short decimals: the file stays small, and both sides read the same doubles."""
    return np.round(values, places)


def classification(n, labels, skill):
    truth = rng.integers(0, labels, n)
    guess = np.where(rng.random(n) < skill, truth, rng.integers(0, labels, n))
    row = {"labels": labels, "truth": truth.tolist(), "prediction": guess.tolist()}
    for average in ["macro", "micro", "weighted"]:
        p, r, f, _ = metrics.precision_recall_fscore_support(truth, guess, average=average, zero_division=0)
        row[average] = [p, r, f]
    row["accuracy"] = metrics.accuracy_score(truth, guess)
    row["balanced"] = metrics.balanced_accuracy_score(truth, guess)
    row["kappa"] = metrics.cohen_kappa_score(truth, guess)
    row["mcc"] = metrics.matthews_corrcoef(truth, guess)
    return row


def tags(n, labels, density):
    truth = (rng.random((n, labels)) < density).astype(int)
    flips = rng.random((n, labels)) < 0.2
    guess = np.where(flips, 1 - truth, truth)
    scores = rounded(rng.random((n, labels)) + 0.5 * truth)
    row = {"labels": labels, "truth": [np.flatnonzero(t).tolist() for t in truth],
           "prediction": [np.flatnonzero(g).tolist() for g in guess], "scores": scores.tolist()}
    for average in ["macro", "micro", "samples"]:
        p, r, f, _ = metrics.precision_recall_fscore_support(truth, guess, average=average, zero_division=0)
        row[average] = [p, r, f, metrics.jaccard_score(truth, guess, average=average, zero_division=0)]
    row["subset"] = metrics.accuracy_score(truth, guess)
    row["hamming"] = metrics.hamming_loss(truth, guess)
    order = np.argsort(-scores, axis=1)[:, :3]
    found = np.take_along_axis(truth, order, axis=1).sum(axis=1)
    row["precision_at_3"] = float(np.mean(found / 3))
    has = truth.sum(axis=1) > 0
    row["recall_at_3"] = float(np.mean(found[has] / truth.sum(axis=1)[has]))
    return row


def forecasts(n, labels):
    truth = rng.integers(0, labels, n)
    logits = rounded(rng.normal(size=(n, labels)) * 1.5 + 1.5 * np.eye(labels)[truth])
    logp = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    p = np.exp(logp)
    confidence, guess = p.max(axis=1), p.argmax(axis=1)
    hit = (guess == truth).astype(float)
    row = {"truth": truth.tolist(), "logits": logits.tolist()}
    row["log_loss"] = metrics.log_loss(truth, p, labels=range(labels))
    row["brier"] = float(((p - np.eye(labels)[truth]) ** 2).sum(axis=1).mean())
    row["confidence_brier"] = metrics.brier_score_loss(hit, confidence)
    row["auroc_ovr"] = metrics.roc_auc_score(truth, p, multi_class="ovr", average="macro")
    row["auroc_confidence"] = metrics.roc_auc_score(hit, confidence)
    row["auroc_ties"] = metrics.roc_auc_score(hit, np.round(confidence, 1))
    edges = np.linspace(0, 1, 11)
    index = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, 9)
    gaps = [(np.sum(index == b), abs(confidence[index == b].mean() - hit[index == b].mean())) for b in range(10) if np.any(index == b)]
    row["ece_width"] = float(sum(c * g for c, g in gaps) / n)
    row["mce_width"] = float(max(g for _, g in gaps))
    parts = np.array_split(np.argsort(confidence, kind="stable"), 10)
    gaps = [(len(part), abs(confidence[part].mean() - hit[part].mean())) for part in parts]
    row["ece_mass"] = float(sum(c * g for c, g in gaps) / n)
    row["mce_mass"] = float(max(g for _, g in gaps))
    errors = np.cumsum(1 - hit[np.argsort(-confidence, kind="stable")])
    row["aurc"] = float(np.mean(errors / np.arange(1, n + 1)))
    return row


class SplitMix64:
    mask = (1 << 64) - 1

    def __init__(self, seed, purpose):
        digest = 0xCBF29CE484222325
        for byte in purpose.encode():
            digest = ((digest ^ byte) * 0x100000001B3) & self.mask
        self.state = seed
        self.state = self.next() ^ digest

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & self.mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & self.mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & self.mask
        return z ^ (z >> 31)

    def below(self, bound):
        product = self.next() * bound
        if product & self.mask < bound:
            threshold = (1 << 64) % bound
            while product & self.mask < threshold:
                product = self.next() * bound
        return product >> 64


def bootstrap(n, resamples, seed):
    data = rounded(rng.gamma(2.0, size=n))
    generator = SplitMix64(seed, "bootstrap")
    samples = np.array([[generator.below(n) for _ in range(n)] for _ in range(resamples)])
    row = {"data": data.tolist(), "resamples": resamples, "seed": seed}
    for name, statistic in {"mean": np.mean, "variance": np.var}.items():
        replicates = statistic(data[samples], axis=1)
        for method in ["percentile", "BCa"]:
            result = stats.bootstrap(
                (data,), statistic, n_resamples=0, method=method, confidence_level=0.9, vectorized=True,
                bootstrap_result=SimpleNamespace(bootstrap_distribution=replicates))
            row[f"{name}_{method.lower()}"] = [float(result.confidence_interval.low), float(result.confidence_interval.high)]
            row[f"{name}_error"] = float(result.standard_error)
    return row


def holm(p):
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate((len(p) - np.arange(len(p))) * np.array(p)[order]))
    return adjusted


def corrections(n):
    p = rounded(rng.random(n) ** 3)
    p[3] = p[7]
    return {"p": p.tolist(), "holm": holm(p).tolist(), "bh": stats.false_discovery_control(p, method="bh").tolist()}


def naive_bayes():
    words = [f"w{i}" for i in range(40)] + ["Zug", "I", "x_1", "42"]
    texts, labels = [], []
    for i in range(45):
        label = int(rng.choice(3, p=[0.5, 0.3, 0.2]))
        weights = rng.random(len(words)) + 2 * (np.arange(len(words)) % 3 == label)
        texts.append(" ".join(rng.choice(words, size=int(rng.integers(3, 12)), p=weights / weights.sum())) + ".")
        labels.append(label)
    vectorizer = CountVectorizer(token_pattern=r"(?u)\w+")
    counts = vectorizer.fit_transform(texts[:30])
    probes = texts[30:] + ["", "unseen words only!"]
    asked = vectorizer.transform(probes)
    return {"texts": texts[:30], "labels": labels[:30], "probes": probes,
            "log_probabilities": MultinomialNB(alpha=0.5).fit(counts, labels[:30]).predict_log_proba(asked).tolist(),
            "complement": ComplementNB(alpha=0.5).fit(counts, labels[:30]).predict_log_proba(asked).tolist()}


def logistic(penalty, standardize):
    n, d, labels = 60, 6, 3
    truth = rng.integers(0, labels, n)
    centers = rng.normal(size=(labels, d)) * 1.2
    x = rounded((centers[truth] + rng.normal(size=(n, d))) * [1, 2, 0.5, 1, 3, 1] + 1, 3).astype(np.float32).astype(float)
    scaler = StandardScaler().fit(x[:45]) if standardize else None
    z = scaler.transform(x) if standardize else x
    model = LogisticRegression(C=1 / penalty, tol=1e-14, max_iter=100000, solver="newton-cholesky").fit(z[:45], truth[:45])
    return {"penalty": penalty, "standardize": standardize, "rows": x[:45].tolist(), "labels": truth[:45].tolist(),
            "probes": x[45:].tolist(), "log_probabilities": model.predict_log_proba(z[45:]).tolist()}


def centroid():
    n, d, labels = 40, 5, 4
    truth = np.arange(n) % labels
    x = rounded(rng.normal(size=(labels, d))[truth] + 0.7 * rng.normal(size=(n, d)), 3).astype(np.float32).astype(float)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    centers = np.array([unit[:30][truth[:30] == k].mean(axis=0) for k in range(labels)])
    return {"rows": x[:30].tolist(), "labels": truth[:30].tolist(), "probes": x[30:].tolist(),
            "cosines": metrics.pairwise.cosine_similarity(x[30:], centers).tolist()}


def terms():
    """Texts of three labels with words in several scripts, and the same pipeline for each choice of terms."""
    draw = np.random.default_rng(20261)
    words = [f"w{i}" for i in range(24)] + ["Zug", "I", "x_1", "42", "Über", "naïve", "привет", "日本語の文", "don't", "e-mail", "(so)", "a,b"]
    texts, labels = [], []
    for i in range(56):
        label = int(draw.choice(3, p=[0.5, 0.3, 0.2]))
        weights = draw.random(len(words)) + 2 * (np.arange(len(words)) % 3 == label)
        chosen = draw.choice(words, size=int(draw.integers(1, 12)), p=weights / weights.sum())
        texts.append(str(draw.choice([" ", "  ", "\n", " \t"])).join(chosen) + str(draw.choice(["", ".", "! "])))
        labels.append(label)
    probes = texts[40:] + ["", "   ", "?!", "unseen words only!", "W1 w1 W1 unseen w1"]
    fits = []
    for kinds, penalty, least in [(["words"], 1.0, 1), (["pairs"], 0.25, 1), (["letters"], 0.05, 1), (["pairs", "letters"], 0.2, 1), (["letters"], 0.5, 3)]:
        vectorizers = [{
            "words": TfidfVectorizer(token_pattern=r"(?u)\w+", sublinear_tf=True, min_df=least),
            "pairs": TfidfVectorizer(token_pattern=r"(?u)\w+", ngram_range=(1, 2), sublinear_tf=True, min_df=least),
            "letters": TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, min_df=least)}[kind] for kind in kinds]
        rows = sparse.hstack([vectorizer.fit_transform(texts[:40]) for vectorizer in vectorizers]).toarray()
        asked = sparse.hstack([vectorizer.transform(probes) for vectorizer in vectorizers]).toarray()
        # Fewer columns than weights would need: the penalty picks the same point among the rows' combinations, where Newton's steps are exact.
        left, sizes, right = np.linalg.svd(rows, full_matrices=False)
        model = LogisticRegression(C=1 / penalty, tol=1e-14, max_iter=100000, solver="newton-cholesky").fit(rows @ right.T, labels[:40])
        fits.append({"kinds": kinds, "penalty": penalty, "columns": rows.shape[1],
                     "log_probabilities": model.predict_log_proba(asked @ right.T).tolist()})
    return {"texts": texts[:40], "labels": labels[:40], "probes": probes, "fits": fits}


probabilities = [1e-300, 1e-20, 1e-6, 0.001, 0.02, 0.02425, 0.025, 0.1, 0.3, 0.5, 0.7, 0.975, 0.999, 1 - 1e-9]
goldens = {
    "classification": [classification(60, 4, 0.6), classification(40, 9, 0.3), classification(12, 20, 0.5)],
    "tags": [tags(25, 6, 0.3), tags(10, 12, 0.05)],
    "forecasts": [forecasts(83, 4), forecasts(40, 7)],
    "normal": [[p, float(stats.norm.ppf(p))] for p in probabilities],
    "binomial": [[k, n, p, float(stats.binom.cdf(k, n, p)), float(stats.binom.pmf(k, n, p))]
                 for k, n, p in [(0, 1, 0.5), (3, 10, 0.5), (7, 10, 0.2), (40, 100, 0.5), (480, 1000, 0.5), (99000, 200000, 0.5), (30, 40, 0.9), (1, 500, 0.01)]],
    "mcnemar": [[b, c, float(stats.binomtest(b, b + c, 0.5).pvalue)] for b, c in [(1, 0), (5, 0), (6, 0), (10, 2), (30, 30), (31, 30), (120, 80), (1500, 1300)]],
    "wilson": [[k, n, level, *map(float, stats.binomtest(k, n).proportion_ci(level, method="wilson"))]
               for k, n, level in [(0, 10, 0.95), (10, 10, 0.95), (1, 10, 0.9), (81, 100, 0.95), (1999, 2000, 0.99)]],
    "bootstrap": bootstrap(30, 200, 7),
    "corrections": [corrections(12), corrections(30)],
    "naive_bayes": naive_bayes(),
    "logistic": [logistic(1.0, True), logistic(0.25, False)],
    "centroid": centroid(),
    "terms": terms(),
}
with open(f"{sys.argv[1]}/goldens.json", "w") as file:
    json.dump(goldens, file, separators=(",", ":"))
    file.write("\n")
