"""evenhand as a package: built, installed and used from outside of the repository; see `.ci/packages`."""
