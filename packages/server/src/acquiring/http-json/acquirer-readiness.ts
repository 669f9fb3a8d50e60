// Tracks the readiness of an HTTP acquirer with echoes and backoff.

/** `Ready`: signed response that the acquirer accepts payments. `NoResponse`: no HTTP response. */
export type Echo = 'Ready' | 'NotReady' | 'Silent';

export type Readiness = {
  isReady(): boolean;
  /** Records a payment response, which proves readiness like an echo. */
  seen(): void;
  /** Number of recorded responses. */
  answers(): number;
  /** Sends an echo now, after a transport error. */
  doubt(): void;
  /**
   * Records that a request could not be sent. The acquirer becomes not ready until the next echo. If it
   * responded to another request since, it is overloaded: it stays ready until an echo says otherwise.
   *
   * @param responsesBefore number of responses when the request started
   */
  lost(answersBefore: number): void;
  stop(): void;
};

type Deps = {
  /** Never throws. */
  echo: () => Promise<Echo>;
  onChange: (isReady: boolean) => void;
  everyMs?: number;
  backOffMs?: readonly number[];
};

const everyDefaultMs = 30_000;
const backOffDefaultMs = [1000, 2000, 5000, 10_000, 30_000] as const;

/** @example const readiness = createReadiness({ echo, onChange }); */
export function createReadiness(deps: Deps): Readiness {
  const { everyMs = everyDefaultMs, backOffMs = backOffDefaultMs } = deps;
  let isReady = false;
  let isStopped = false;
  let isAsking = false;
  let wasSeen = false;
  let answers = 0;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;

  function set(value: boolean): void {
    if (value === isReady) return;
    isReady = value;
    deps.onChange(value);
  }

  function askIn(delayMs: number): void {
    clearTimeout(timer);
    if (isStopped) return;
    timer = setTimeout(() => void look(), delayMs);
    timer.unref();
  }

  async function look(): Promise<void> {
    if (isAsking || isStopped) return;
    if (isReady && wasSeen) {
      wasSeen = false;
      askIn(everyMs);
      return;
    }
    isAsking = true;
    const before = answers;
    const echo = await deps.echo();
    isAsking = false;
    if (isStopped) return;
    if (isReady && echo === 'Silent' && answers !== before) {
      askIn(backOffMs[0] ?? everyMs);
      return;
    }
    const answered = echo === 'Ready';
    failures = answered ? 0 : failures + 1;
    set(answered);
    askIn(answered ? everyMs : (backOffMs[Math.min(failures, backOffMs.length) - 1] ?? everyMs));
  }

  function doubt(): void {
    wasSeen = false;
    askIn(0);
  }

  void look();

  return {
    isReady: () => isReady,
    seen() {
      wasSeen = true;
      answers += 1;
    },
    answers: () => answers,
    doubt,
    lost(answersBefore) {
      if (answers !== answersBefore) return doubt();
      set(false);
      askIn(backOffMs[0] ?? everyMs);
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
