"""Sources: what turns an event into deliveries and their outcomes into Lambda's answer."""
