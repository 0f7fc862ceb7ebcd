"""`python -m kubewright` is the program `kubewright`."""

try:
    from kubewright.cli import main

    main()
except KeyboardInterrupt:
    raise SystemExit(130) from None  # CommandExit.INTERRUPTED: Ctrl-C before `main` was imported
