"""The providers, each with its scheme. `idem.webhooks.schemes` lists them, with what each was checked against."""
