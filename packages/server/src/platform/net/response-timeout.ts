// How long others are waited for: acquirers, providers, receivers of webhooks.

/** Nobody is kept waiting for longer, however long the thread stood still. */
const maxGraceMs = 1000;

/**
 * Calls `over` once the time has passed, and not before what came in time is read: a thread that stood still finds
 * its timers before its sockets, so it reads on for as long as the timer was late.
 *
 * @param timeoutMs from now
 * @returns ends the wait, so that nothing is called any more
 * @example const answered = whenOver(timeoutMs, () => settle({ result: 'Timeout' }));
 */
export function startResponseTimeout(timeoutMs: number, onTimeout: () => void): () => void {
  const dueMs = performance.now() + timeoutMs;
  let pendingRead: NodeJS.Immediate | undefined;
  const readPendingData = () => {
    pendingRead = setImmediate(onTimeout);
  };
  let timer = setTimeout(() => {
    // A timer may come a part of a millisecond early.
    const lateMs = Math.max(0, performance.now() - dueMs);
    timer = setTimeout(readPendingData, Math.min(lateMs, maxGraceMs));
  }, timeoutMs);
  return () => {
    clearTimeout(timer);
    clearImmediate(pendingRead);
  };
}
