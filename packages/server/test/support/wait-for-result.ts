// Waits for a result in tests, with a time limit.

/** Polls until the result is there, or throws after the limit. */
export async function until<T>(
  look: () => Promise<T | undefined> | T | undefined,
  /** The text of the timeout error; a function is called only after the timeout. */
  what: string | (() => Promise<string> | string),
  limitMs = 60_000,
): Promise<T> {
  const end = Date.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) {
      throw new Error(`waited too long for ${typeof what === 'string' ? what : await what()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
