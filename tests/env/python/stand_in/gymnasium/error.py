class Error(Exception):
    pass


class ResetNeeded(Error):
    pass


class InvalidAction(Error):
    pass
