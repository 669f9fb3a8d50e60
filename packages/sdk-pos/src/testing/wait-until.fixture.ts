// Waits for a condition that other processes and sockets change.

export async function eventually(holds: () => boolean, what: string): Promise<void> {
  const until = performance.now() + 60_000;
  while (!holds()) {
    if (performance.now() > until) throw new Error(`did not come about: ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
