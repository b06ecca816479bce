//! A real three-zone Kubernetes on one Linux machine, as a library and the lab command.
