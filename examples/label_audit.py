"""Which labels should somebody look at again? Ten of 569 were made wrong: where does the audit rank them?"""

import numpy as np
from sklearn.datasets import load_breast_cancer

from lazyforest import LazyForestClassifier, label_audit

WRONG = 10


def main():
    table = load_breast_cancer(as_frame=True)
    X, y = table.data, table.target_names[table.target]
    wrong = np.random.default_rng(0).choice(len(y), WRONG, replace=False)
    y[wrong] = np.where(y[wrong] == "benign", "malignant", "benign")

    suspects = label_audit(LazyForestClassifier(n_estimators=50, random_state=0), X, y)

    suspects["was made wrong"] = suspects["row"].isin(wrong)
    print(suspects.head(15).to_string(index=False, float_format="{:.2f}".format))
    found = int(suspects["was made wrong"][:WRONG].sum())
    print(f"\n{found} of the {WRONG} wrong labels are among the first {WRONG} of {len(y)} rows.")


if __name__ == "__main__":
    main()
