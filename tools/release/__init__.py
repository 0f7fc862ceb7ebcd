"""Builds and checks a release: `make release`.

It writes to `dist/`:

- the sdist and the wheel, built twice from the last commit in different folders; a difference fails the release
- `kubewright-VERSION.cdx.json`, the bill of materials, and `RELEASE-NOTES.md`, from the section of the changelog
- `SHA256SUMS`, the checksums of all of these

Before that, it installs the sdist, the wheel, and the wheel with each extra alone, each into an empty environment, and
runs `smoke.py` there. Nothing is published: docs/release.md describes that step.
"""
