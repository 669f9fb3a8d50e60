// Time-out for responses of other servers that tolerates a blocked event loop.

/** Maximum extra time, also if the event loop was blocked for longer. */
const maxGraceMs = 1000;

/**
 * Calls `onTimeout` after the time, but first reads data that arrived in time. After a blocked
 * event loop Node.js runs timers before sockets, so reading continues for as long as the timer was
 * late.
 *
 * @param timeoutMs from now
 * @returns stops the time-out
 * @example const stop = startResponseTimeout(timeoutMs, () => settle({ result: 'Timeout' }));
 */
export function startResponseTimeout(timeoutMs: number, onTimeout: () => void): () => void {
  const dueMs = performance.now() + timeoutMs;
  let pendingRead: NodeJS.Immediate | undefined;
  const readPendingData = () => {
    pendingRead = setImmediate(onTimeout);
  };
  let timer = setTimeout(() => {
    // A timer may fire a fraction of a millisecond early.
    const lateMs = Math.max(0, performance.now() - dueMs);
    timer = setTimeout(readPendingData, Math.min(lateMs, maxGraceMs));
  }, timeoutMs);
  return () => {
    clearTimeout(timer);
    clearImmediate(pendingRead);
  };
}
