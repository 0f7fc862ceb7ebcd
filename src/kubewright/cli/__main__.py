"""`python -m kubewright.cli` is the program `kubewright`."""

from kubewright.cli import main

main()
