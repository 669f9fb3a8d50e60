// Waits for a condition that other processes and sockets change.

export async function waitUntil(condition: () => boolean, description: string): Promise<void> {
  const until = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > until) throw new Error(`condition not reached: ${description}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
