// How long others are waited for: acquirers, providers, receivers of webhooks.

/** Nobody is kept waiting for longer, however long the thread stood still. */
const graceMostMs = 1000;

/**
 * Calls `over` once the time has passed, and not before what came in time is read: a thread that stood still finds
 * its timers before its sockets, so it reads on for as long as the timer was late.
 *
 * @param timeoutMs from now
 * @returns ends the wait, so that nothing is called any more
 * @example const answered = whenOver(timeoutMs, () => settle({ result: 'Timeout' }));
 */
export function whenOver(timeoutMs: number, over: () => void): () => void {
  const dueMs = performance.now() + timeoutMs;
  let reading: NodeJS.Immediate | undefined;
  const readOn = () => {
    reading = setImmediate(over);
  };
  let timer = setTimeout(() => {
    // A timer may come a part of a millisecond early.
    const lateMs = Math.max(0, performance.now() - dueMs);
    timer = setTimeout(readOn, Math.min(lateMs, graceMostMs));
  }, timeoutMs);
  return () => {
    clearTimeout(timer);
    clearImmediate(reading);
  };
}
