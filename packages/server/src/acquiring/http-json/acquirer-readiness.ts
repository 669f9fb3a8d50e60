// Tracks the readiness of an HTTP acquirer with echoes and backoff.

/** `Ready`: signed response that the acquirer accepts payments. `NoResponse`: no HTTP response. */
export type EchoResult = 'Ready' | 'NotReady' | 'NoResponse';

export type AcquirerReadiness = {
  isReady(): boolean;
  /** Records a payment response, which proves readiness like an echo. */
  recordResponse(): void;
  /** Number of recorded responses. */
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

type Deps = {
  /** Never throws. */
  sendEcho: () => Promise<EchoResult>;
  onChange: (isReady: boolean) => void;
  echoIntervalMs?: number;
  retryDelaysMs?: readonly number[];
};

const defaultEchoIntervalMs = 30_000;
const defaultRetryDelaysMs = [1000, 2000, 5000, 10_000, 30_000] as const;

/** @example const readiness = createReadiness({ echo, onChange }); */
export function createAcquirerReadiness(deps: Deps): AcquirerReadiness {
  const {
    echoIntervalMs: everyMs = defaultEchoIntervalMs,
    retryDelaysMs: backOffMs = defaultRetryDelaysMs,
  } = deps;
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
    deps.onChange(value);
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
      scheduleCheck(everyMs);
      return;
    }
    isEchoPending = true;
    const responsesBefore = responseCount;
    const echo = await deps.sendEcho();
    isEchoPending = false;
    if (isStopped) return;
    if (isReady && echo === 'NoResponse' && responseCount !== responsesBefore) {
      scheduleCheck(backOffMs[0] ?? everyMs);
      return;
    }
    const isNowReady = echo === 'Ready';
    failures = isNowReady ? 0 : failures + 1;
    setReady(isNowReady);
    scheduleCheck(
      isNowReady ? everyMs : (backOffMs[Math.min(failures, backOffMs.length) - 1] ?? everyMs),
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
      scheduleCheck(backOffMs[0] ?? everyMs);
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
