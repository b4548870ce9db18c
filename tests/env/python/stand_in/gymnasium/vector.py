import enum


class AutoresetMode(enum.Enum):
    NEXT_STEP = "NextStep"
    SAME_STEP = "SameStep"
    DISABLED = "Disabled"


class VectorEnv:
    metadata = {}
    closed = False

    @property
    def unwrapped(self):
        return self

    def close(self, **arguments):
        if not self.closed:
            self.close_extras(**arguments)
            self.closed = True
