"""Another team's app. It stands for code outside of this repository: the tests copy it elsewhere and build it there."""
