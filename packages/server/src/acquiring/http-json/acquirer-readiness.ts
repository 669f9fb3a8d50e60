// Tracks the readiness of an HTTP acquirer with echoes and backoff.
import type { EchoResult } from './signed-exchange.ts';

export type AcquirerReadiness = ReturnType<typeof createAcquirerReadiness>;

type Options = {
  /** Never throws. */
  sendEcho: () => Promise<EchoResult>;
  onChange: (isReady: boolean) => void;
  echoIntervalMs?: number;
  retryDelaysMs?: readonly number[];
};

const defaultEchoIntervalMs = 30_000;
const defaultRetryDelaysMs = [1000, 2000, 5000, 10_000, 30_000] as const;

export function createAcquirerReadiness(options: Options) {
  const { echoIntervalMs = defaultEchoIntervalMs, retryDelaysMs = defaultRetryDelaysMs } = options;
  const [firstRetryDelayMs = echoIntervalMs] = retryDelaysMs;
  let isReady = false;
  let isStopped = false;
  let isEchoPending = false;
  let hasRecentResponse = false;
  let responseCount = 0;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;

  function setReady(value: boolean): void {
    if (value === isReady) return;
    isReady = value;
    options.onChange(value);
  }

  function scheduleCheck(delayMs: number): void {
    clearTimeout(timer);
    if (isStopped) return;
    timer = setTimeout(() => void checkReadiness(), delayMs);
    timer.unref();
  }

  async function checkReadiness(): Promise<void> {
    if (isEchoPending || isStopped) return;
    if (isReady && hasRecentResponse) {
      hasRecentResponse = false;
      return scheduleCheck(echoIntervalMs);
    }
    isEchoPending = true;
    const responsesBefore = responseCount;
    const echo = await options.sendEcho();
    isEchoPending = false;
    if (isStopped) return;
    if (isReady && echo === 'NoResponse' && responseCount !== responsesBefore)
      return scheduleCheck(firstRetryDelayMs);
    const isNowReady = echo === 'Ready';
    setReady(isNowReady);
    const retryDelayMs = retryDelaysMs[failures] ?? retryDelaysMs.at(-1) ?? echoIntervalMs;
    failures = isNowReady ? 0 : failures + 1;
    scheduleCheck(isNowReady ? echoIntervalMs : retryDelayMs);
  }

  /** After a transport error. */
  function checkNow(): void {
    hasRecentResponse = false;
    scheduleCheck(0);
  }

  void checkReadiness();

  return {
    isReady: () => isReady,
    /** A payment response proves readiness like an echo. */
    recordResponse(): void {
      hasRecentResponse = true;
      responseCount += 1;
    },
    countResponses: () => responseCount,
    checkNow,
    /**
     * The acquirer becomes not ready until the next echo. If it responded to another request since
     * `responsesBefore`, it is overloaded: it stays ready until an echo says otherwise.
     */
    recordSendFailure(responsesBefore: number): void {
      const isOverloaded = responseCount !== responsesBefore;
      if (!isOverloaded) setReady(false);
      hasRecentResponse &&= !isOverloaded;
      scheduleCheck(isOverloaded ? 0 : firstRetryDelayMs);
    },
    stop(): void {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
