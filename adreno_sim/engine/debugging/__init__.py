"""Code under the debugger: scalar code that tells where it is, keeps the values of variables, and records stores."""
