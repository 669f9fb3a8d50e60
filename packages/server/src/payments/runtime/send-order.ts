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
      // Whoever steps back early must not let the next one past those before.
      const over = mine.then(() => passed.promise);
      last.set(link, over);
      void over.then(() => {
        if (last.get(link) === over) last.delete(link);
      });
      return { mine, pass: passed.resolve };
    },
  };
}
