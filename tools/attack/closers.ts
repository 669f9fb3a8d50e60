// Closes the resources of the attacks in reverse order. A failure is reported and does not stop the rest.
export type Closers = {
  add(close: () => unknown): void;
  close(): Promise<void>;
};

export function createClosers(): Closers {
  const steps: (() => unknown)[] = [];
  return {
    add: (close) => void steps.push(close),
    async close() {
      for (const step of steps.splice(0).reverse()) {
        const [result] = await Promise.allSettled([Promise.resolve().then(step)]);
        if (result.status === 'rejected') {
          process.stderr.write(`attack: closing failed: ${String(result.reason)}\n`);
        }
      }
    },
  };
}
