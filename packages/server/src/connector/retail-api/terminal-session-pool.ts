// Shares one session among parallel messages of a point of sale, such as a payment and its abort.
import { hash } from 'node:crypto';
import { ProblemError, throwProblem } from '@switchyard/contract';
import type { Terminal } from '../../provisioning/index.ts';
import { deviceKeyOf } from '../devices/connector-devices.ts';
import { BackplaneError } from '../nodes/backplane.ts';
import { type Asking, ownerOf, type Wanted } from '../pos/claim-requests.ts';
import { withProblems } from '../protocol/fault-to-problem.ts';
import type { RetailDeps } from './retail-dependencies.ts';
import { type Line, openLine } from './terminal-session.ts';

export type Lease = { readonly line: Line; free(): void };

type Entry = {
  readonly opening: Promise<Line>;
  /** Aborted when no request waits for the session any more. */
  readonly leaving: AbortController;
  /** Set when the session is open. */
  line: Line | undefined;
  /** The requests that wait for the session to open, without disconnected clients. */
  waiting: number;
  users: number;
  disown: () => void;
};

export type Lines = ReturnType<typeof createLines>;

/** The key depends on the terminal and the owner, so no other client can name the session. */
async function keyFor(asking: Asking, terminal: Terminal, { posId }: Wanted): Promise<string> {
  const owner = await withProblems(async () => ownerOf(asking.caller, posId));
  return hash('sha256', `${deviceKeyOf(terminal)}|${owner}`, 'hex');
}

/** The errors after which a request keeps waiting for the terminal. */
const passing: ReadonlySet<string> = new Set(['device_offline', 'device_claimed']);

const topicOf = (key: string) => `retail.${key}`;

/** @example const { line, free } = await lines.take(asking, terminal, wanted, signal); */
export function createLines({ relay, clock }: Pick<RetailDeps, 'relay' | 'clock'>) {
  const entries = new Map<string, Entry>();
  let isStopping = false;

  function demandGoing(): void {
    if (!isStopping) return;
    throwProblem('shutting_down', 'The process sends no more messages.', { retryAfterMs: 1000 });
  }

  async function open(asking: Asking, wanted: Wanted, signal: AbortSignal): Promise<Line> {
    const got = await withProblems(() => relay.claims.claim(asking, wanted, signal)).catch(
      (error: unknown) => {
        demandGoing();
        throw error;
      },
    );
    const line = await openLine((end) => relay.join(got.sessionId, end));
    if (line !== undefined && !signal.aborted) return line;
    line?.end('done');
    await withProblems(() => relay.claims.release(got, got.sessionId));
    demandGoing();
    throw new ProblemError('device_offline', 'The terminal could not be reached.', {
      retryAfterMs: 1000,
    });
  }

  function begin(key: string, asking: Asking, wanted: Wanted): Entry {
    const leaving = new AbortController();
    const opening = open(asking, wanted, leaving.signal).then((line) => {
      answerFor(key, entry, line);
      return line;
    });
    const none = { line: undefined, disown: () => {} };
    const entry: Entry = { opening, leaving, ...none, waiting: 0, users: 0 };
    entries.set(key, entry);
    opening.catch(() => forget(key, entry));
    return entry;
  }

  /**
   * Registers the session for messages that other nodes forward to it, such as an abort. A node
   * that still waits for the terminal registers nothing, because another node may have the
   * terminal.
   */
  function answerFor(key: string, entry: Entry, line: Line): void {
    entry.line = line;
    try {
      entry.disown = relay.backplane.answerRequests(topicOf(key), async ({ text }) => ({
        isSent: typeof text === 'string' && line.send(text),
      }));
    } catch (error) {
      line.end('done');
      throw error;
    }
  }

  /** Waits until the session is open; the claim ends when all waiting clients have disconnected. */
  async function opened(entry: Entry, signal: AbortSignal): Promise<Line> {
    const left = () => {
      entry.waiting -= 1;
      if (entry.waiting === 0) entry.leaving.abort();
    };
    entry.users += 1;
    entry.waiting += 1;
    if (signal.aborted) left();
    else signal.addEventListener('abort', left);
    try {
      return await entry.opening;
    } finally {
      signal.removeEventListener('abort', left);
    }
  }

  /** A request that joined a shorter wait opens its own session for the rest of its time. */
  async function lineFor(
    key: string,
    asking: Asking,
    wanted: Wanted,
    signal: AbortSignal,
  ): Promise<{ entry: Entry; line: Line; isJoined: boolean }> {
    const until = clock.now() + (wanted.waitSeconds ?? 0) * 1000;
    for (let left = wanted.waitSeconds; ; left = Math.ceil((until - clock.now()) / 1000)) {
      demandGoing();
      const known = entries.get(key);
      const entry = known ?? begin(key, asking, { ...wanted, waitSeconds: left });
      try {
        const line = await opened(entry, signal);
        return { entry, line, isJoined: known !== undefined };
      } catch (error) {
        const mayWait = error instanceof ProblemError && passing.has(error.code);
        const isOver = signal.aborted || clock.now() >= until;
        if (known === undefined || !mayWait || isOver) throw error;
      }
    }
  }

  function forget(key: string, entry: Entry): void {
    entry.disown();
    if (entries.get(key) === entry) entries.delete(key);
  }

  function release(key: string, entry: Entry, line: Line): void {
    entry.users -= 1;
    if (entry.users > 0) return;
    forget(key, entry);
    line.end('done');
  }

  return {
    /** @throws shutting_down */
    demandGoing,

    async take(
      asking: Asking,
      terminal: Terminal,
      wanted: Wanted,
      signal: AbortSignal,
    ): Promise<Lease> {
      const key = await keyFor(asking, terminal, wanted);
      const { entry, line, isJoined } = await lineFor(key, asking, wanted, signal);
      if (isJoined && !line.isOpen()) {
        release(key, entry, line);
        const retryAfterMs = 1000;
        throw new ProblemError('device_claimed', 'A session with it ends just now.', {
          retryAfterMs,
        });
      }
      let isFree = false;
      return {
        line,
        free() {
          if (isFree) return;
          isFree = true;
          release(key, entry, line);
        },
      };
    },

    /**
     * Sends the text to the session that another node has with the terminal; false if none has one.
     */
    async sendElsewhere(asking: Asking, terminal: Terminal, wanted: Wanted, text: string) {
      const key = await keyFor(asking, terminal, wanted);
      const own = entries.get(key);
      if (own?.line?.isOpen() === true) return false;
      // An ended session receives nothing more, and a newer session may be on another node.
      own?.disown();
      try {
        const told = await relay.backplane.request(topicOf(key), { text });
        return told?.['isSent'] === true;
      } catch (error) {
        // The claim that follows reports that the node is not reachable.
        if (error instanceof BackplaneError) return false;
        throw error;
      }
    },

    /**
     * Ends all sessions. A client that waits for an answer gets an unknown outcome. A client that
     * waits for a terminal learns that the server sent nothing.
     */
    async stop(): Promise<void> {
      isStopping = true;
      const ends = [...entries.values()].map(async ({ opening, leaving }) => {
        leaving.abort();
        (await opening.catch(() => undefined))?.end('restarting');
      });
      await Promise.all(ends);
    },
  };
}
