// Waits for a result in tests, with a time limit.

/** Polls until the result is there, or throws after the limit. */
export async function until<T>(
  readResult: () => Promise<T | undefined> | T | undefined,
  /** The text of the timeout error; a function is called only after the timeout. */
  description: string | (() => Promise<string> | string),
  limitMs = 60_000,
): Promise<T> {
  const end = Date.now() + limitMs;
  for (;;) {
    const result = await readResult();
    if (result !== undefined && result !== false) return result;
    if (Date.now() > end) {
      throw new Error(
        `waited too long for ${typeof description === 'string' ? description : await description()}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
