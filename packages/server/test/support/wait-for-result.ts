// Waits for an answer in tests, with a limit.

/** Waits for a condition, looking often, with a limit. */
export async function until<T>(
  look: () => Promise<T | undefined> | T | undefined,
  /** Told once it has taken too long; a function is asked then. */
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
