// Shares one session among parallel messages of a point of sale, such as a payment and its abort.
import { hash } from 'node:crypto';
import { ProblemError, throwProblem } from '@switchyard/contract';
import type { Terminal } from '../../provisioning/index.ts';
import { deviceKeyOf } from '../devices/check-device-access.ts';
import { BackplaneError } from '../nodes/backplane.ts';
import { type ClaimOptions, ownerOf, type PosCaller } from '../pos/claim-requests.ts';
import { withProblems } from '../protocol/fault-to-problem.ts';
import type { RetailApiDeps } from './retail-dependencies.ts';
import { openTerminalSession, type TerminalSession } from './terminal-session.ts';

export type SessionLease = { readonly session: TerminalSession; release(): void };

type PoolEntry = {
  readonly opening: Promise<TerminalSession>;
  /** Aborted when no request waits for the session any more. */
  readonly cancelOpening: AbortController;
  /** Set when the session is open. */
  session: TerminalSession | undefined;
  /** The requests that wait for the session to open, without disconnected clients. */
  waitingRequests: number;
  activeRequests: number;
  stopAnswering: () => void;
};

export type TerminalSessionPool = ReturnType<typeof createTerminalSessionPool>;

/** The key depends on the terminal and the owner, so no other client can name the session. */
async function sessionKeyOf(
  posCaller: PosCaller,
  terminal: Terminal,
  { posId }: ClaimOptions,
): Promise<string> {
  const owner = await withProblems(async () => ownerOf(posCaller.caller, posId));
  return hash('sha256', `${deviceKeyOf(terminal)}|${owner}`, 'hex');
}

/** The errors after which a request keeps waiting for the terminal. */
const retryableCodes: ReadonlySet<string> = new Set(['device_offline', 'device_claimed']);

const backplaneKeyOf = (key: string) => `retail.${key}`;

/** @example const { session, release } = await sessionPool.acquire(posCaller, terminal, options, signal); */
export function createTerminalSessionPool({
  connector,
  clock,
}: Pick<RetailApiDeps, 'connector' | 'clock'>) {
  const entries = new Map<string, PoolEntry>();
  let isStopping = false;

  function requireRunning(): void {
    if (!isStopping) return;
    throwProblem('shutting_down', 'The server is shutting down and sends no more messages.', {
      retryAfterMs: 1000,
    });
  }

  async function open(
    posCaller: PosCaller,
    options: ClaimOptions,
    signal: AbortSignal,
  ): Promise<TerminalSession> {
    const claimedDevice = await withProblems(() =>
      connector.claims.claim(posCaller, options, signal),
    ).catch((error: unknown) => {
      requireRunning();
      throw error;
    });
    const session = await openTerminalSession((end) =>
      connector.joinSession(claimedDevice.sessionId, end),
    );
    if (session !== undefined && !signal.aborted) return session;
    session?.end('done');
    await withProblems(() => connector.claims.release(claimedDevice, claimedDevice.sessionId));
    requireRunning();
    throw new ProblemError('device_offline', 'The terminal is not reachable.', {
      retryAfterMs: 1000,
    });
  }

  function startOpening(key: string, posCaller: PosCaller, options: ClaimOptions): PoolEntry {
    const cancelOpening = new AbortController();
    const opening = open(posCaller, options, cancelOpening.signal).then((session) => {
      acceptForwardedMessages(key, entry, session);
      return session;
    });
    const entry: PoolEntry = {
      opening,
      cancelOpening,
      session: undefined,
      stopAnswering: () => {},
      waitingRequests: 0,
      activeRequests: 0,
    };
    entries.set(key, entry);
    opening.catch(() => removeEntry(key, entry));
    return entry;
  }

  /**
   * Registers the session for messages that other nodes forward to it, such as an abort. A node
   * that still waits for the terminal registers nothing, because another node may have the
   * terminal.
   */
  function acceptForwardedMessages(key: string, entry: PoolEntry, session: TerminalSession): void {
    entry.session = session;
    try {
      entry.stopAnswering = connector.backplane.answerRequests(
        backplaneKeyOf(key),
        async ({ text }) => ({
          isSent: typeof text === 'string' && session.send(text),
        }),
      );
    } catch (error) {
      session.end('done');
      throw error;
    }
  }

  /** Waits until the session is open; the claim ends when all waiting clients have disconnected. */
  async function waitUntilOpen(entry: PoolEntry, signal: AbortSignal): Promise<TerminalSession> {
    const stopWaiting = () => {
      entry.waitingRequests -= 1;
      if (entry.waitingRequests === 0) entry.cancelOpening.abort();
    };
    entry.activeRequests += 1;
    entry.waitingRequests += 1;
    if (signal.aborted) stopWaiting();
    else signal.addEventListener('abort', stopWaiting);
    try {
      return await entry.opening;
    } finally {
      signal.removeEventListener('abort', stopWaiting);
    }
  }

  /** A request that joined a shorter wait opens its own session for the rest of its time. */
  async function findSession(
    key: string,
    posCaller: PosCaller,
    options: ClaimOptions,
    signal: AbortSignal,
  ): Promise<{ entry: PoolEntry; session: TerminalSession; isJoined: boolean }> {
    const waitUntil = clock.now() + (options.waitSeconds ?? 0) * 1000;
    for (
      let stopWaiting = options.waitSeconds;
      ;
      stopWaiting = Math.ceil((waitUntil - clock.now()) / 1000)
    ) {
      requireRunning();
      const existing = entries.get(key);
      const entry =
        existing ?? startOpening(key, posCaller, { ...options, waitSeconds: stopWaiting });
      try {
        const session = await waitUntilOpen(entry, signal);
        return { entry, session, isJoined: existing !== undefined };
      } catch (error) {
        const mayWait = error instanceof ProblemError && retryableCodes.has(error.code);
        const isTimeOver = signal.aborted || clock.now() >= waitUntil;
        if (existing === undefined || !mayWait || isTimeOver) throw error;
      }
    }
  }

  function removeEntry(key: string, entry: PoolEntry): void {
    entry.stopAnswering();
    if (entries.get(key) === entry) entries.delete(key);
  }

  function release(key: string, entry: PoolEntry, session: TerminalSession): void {
    entry.activeRequests -= 1;
    if (entry.activeRequests > 0) return;
    removeEntry(key, entry);
    session.end('done');
  }

  return {
    /** @throws shutting_down */
    requireRunning,

    async acquire(
      posCaller: PosCaller,
      terminal: Terminal,
      options: ClaimOptions,
      signal: AbortSignal,
    ): Promise<SessionLease> {
      const key = await sessionKeyOf(posCaller, terminal, options);
      const { entry, session, isJoined } = await findSession(key, posCaller, options, signal);
      if (isJoined && !session.isOpen()) {
        release(key, entry, session);
        const retryAfterMs = 1000;
        throw new ProblemError(
          'device_claimed',
          'A session with the terminal is ending. Retry the request.',
          {
            retryAfterMs,
          },
        );
      }
      let isReleased = false;
      return {
        session,
        release() {
          if (isReleased) return;
          isReleased = true;
          release(key, entry, session);
        },
      };
    },

    /**
     * Sends the text to the session that another node has with the terminal; false if none has one.
     */
    async sendToOtherNode(
      posCaller: PosCaller,
      terminal: Terminal,
      options: ClaimOptions,
      text: string,
    ) {
      const key = await sessionKeyOf(posCaller, terminal, options);
      const ownEntry = entries.get(key);
      if (ownEntry?.session?.isOpen() === true) return false;
      // An ended session receives nothing more, and a newer session may be on another node.
      ownEntry?.stopAnswering();
      try {
        const answer = await connector.backplane.request(backplaneKeyOf(key), { text });
        return answer?.['isSent'] === true;
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
      const sessionEnds = [...entries.values()].map(async ({ opening, cancelOpening }) => {
        cancelOpening.abort();
        (await opening.catch(() => undefined))?.end('restarting');
      });
      await Promise.all(sessionEnds);
    },
  };
}
