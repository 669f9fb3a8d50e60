// Tracks the readiness of an HTTP acquirer with echoes and backoff.
import type { EchoResult } from './signed-exchange.ts';

export type AcquirerReadiness = {
  isReady(): boolean;
  /** A payment response proves readiness like an echo. */
  recordResponse(): void;
  countResponses(): number;
  /** Sends an echo now, after a transport error. */
  checkNow(): void;
  /**
   * Records that a request could not be sent. The acquirer becomes not ready until the next echo. If it
   * responded to another request since, it is overloaded: it stays ready until an echo says otherwise.
   *
   * @param responsesBefore number of responses when the request started
   */
  recordSendFailure(responsesBefore: number): void;
  stop(): void;
};

type Options = {
  /** Never throws. */
  sendEcho: () => Promise<EchoResult>;
  onChange: (isReady: boolean) => void;
  echoIntervalMs?: number;
  retryDelaysMs?: readonly number[];
};

const defaultEchoIntervalMs = 30_000;
const defaultRetryDelaysMs = [1000, 2000, 5000, 10_000, 30_000] as const;

/** @example const readiness = createAcquirerReadiness({ sendEcho, onChange }); */
export function createAcquirerReadiness(options: Options): AcquirerReadiness {
  const { echoIntervalMs = defaultEchoIntervalMs, retryDelaysMs = defaultRetryDelaysMs } = options;
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
      scheduleCheck(echoIntervalMs);
      return;
    }
    isEchoPending = true;
    const responsesBefore = responseCount;
    const echo = await options.sendEcho();
    isEchoPending = false;
    if (isStopped) return;
    if (isReady && echo === 'NoResponse' && responseCount !== responsesBefore) {
      scheduleCheck(retryDelaysMs[0] ?? echoIntervalMs);
      return;
    }
    const isNowReady = echo === 'Ready';
    failures = isNowReady ? 0 : failures + 1;
    setReady(isNowReady);
    scheduleCheck(
      isNowReady
        ? echoIntervalMs
        : (retryDelaysMs[Math.min(failures, retryDelaysMs.length) - 1] ?? echoIntervalMs),
    );
  }

  function checkNow(): void {
    hasRecentResponse = false;
    scheduleCheck(0);
  }

  void checkReadiness();

  return {
    isReady: () => isReady,
    recordResponse() {
      hasRecentResponse = true;
      responseCount += 1;
    },
    countResponses: () => responseCount,
    checkNow,
    recordSendFailure(responsesBefore) {
      if (responseCount !== responsesBefore) return checkNow();
      setReady(false);
      scheduleCheck(retryDelaysMs[0] ?? echoIntervalMs);
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
