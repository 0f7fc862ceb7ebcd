"""`python -m kubewright` is the program `kubewright`."""

from kubewright.cli import main

main()
