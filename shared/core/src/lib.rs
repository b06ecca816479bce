//! Pure building blocks of the Ballast operators: names, Kubernetes objects, config writers, conditions, plans.
