// Who may hand a message to a link next: in the order in which they came, one after another.

export type Turn = {
  /** Resolves once everybody before has handed over or stepped back. */
  mine: Promise<void>;
  /** Lets the next one go; twice is once. */
  pass(): void;
};

export type Turns = { take(link: string): Turn };

/** @example const turn = turns.take(linkId); await turn.mine; send(); turn.pass(); */
export function createTurns(): Turns {
  const last = new Map<string, Promise<void>>();
  return {
    take(link) {
      const mine = last.get(link) ?? Promise.resolve();
      const passed = Promise.withResolvers<void>();
      last.set(link, passed.promise);
      void passed.promise.then(() => {
        if (last.get(link) === passed.promise) last.delete(link);
      });
      return { mine, pass: passed.resolve };
    },
  };
}
