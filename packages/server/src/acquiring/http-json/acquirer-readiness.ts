// Knows whether an HTTP/JSON acquirer takes payments: asks it, and asks again with growing pauses.

/** `Ready` is said, signed, by who takes payments; `Silent` is who says nothing at all. */
export type Echo = 'Ready' | 'NotReady' | 'Silent';

export type Readiness = {
  isReady(): boolean;
  /** A payment was answered: as good as an echo. */
  seen(): void;
  /** How many were, so far. */
  answers(): number;
  /** Something went wrong on the way: it is asked now. */
  doubt(): void;
  /**
   * Nothing could be sent: it counts as away until it says otherwise. Who has answered somebody since, is there
   * and has much to do: it is asked, and takes payments until it says that it does not.
   *
   * @param answersBefore how many were answered when it was tried
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
