/** A session with one terminal: claimed, connected, resumed after a break, released. */
import {
  type ClaimedMessage,
  connectorLimits,
  defined,
  type PosAnswer,
} from '@switchyard/contract';
import type { WebSocket } from 'ws';
import { demandUrl } from './addresses.ts';
import { type Clock, unlessAborted } from './clock.ts';
import type { Control } from './control.ts';
import { errorOfEnd } from './control-messages.ts';
import { closed, PosError } from './errors.ts';
import type { PosTls } from './http.ts';
import { sendThrough } from './sending.ts';
import { openSocket } from './socket.ts';
import type { SocketEnd } from './socket-end.ts';
import type { Tokens } from './tokens.ts';

/** Ended, or left behind by a terminal that has gone elsewhere: nothing is held any more. */
const gone: ReadonlySet<string> = new Set(['session_unknown', 'device_unknown', 'wrong_store']);

/**
 * How a terminal is claimed.
 *
 * @example
 * const wanted: ClaimOptions = { waitSeconds: 10 };
 */
export type ClaimOptions = {
  /** How long the connector waits for a terminal that is away or in use: 0 to 30; default 0. */
  readonly waitSeconds?: number | undefined;
  /** Ends a session that the same point of sale has already. */
  readonly takeOver?: boolean | undefined;
  /** With `takeOver`: also where data flowed a moment ago. The platform writes it down. */
  readonly force?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
};

/**
 * What happens to a session.
 *
 * @example
 * const events: SessionEvents = { message: (data) => read(data), broken: (error) => warn(error.code) };
 */
export type SessionEvents = {
  /** Text stays text; bytes stay bytes. */
  readonly message: (data: string | Buffer) => void;
  /** The connection broke: `resume` gets the session back within half a minute. */
  readonly broken: (error: PosError) => void;
};

/**
 * A session with one terminal. What is sent arrives as it is, in order, or the session breaks.
 *
 * @example
 * const session: Session = await client.claim(tsn, { waitSeconds: 10 }, { message, broken });
 */
export type Session = {
  readonly tsn: string;
  /** Changes when the session is resumed. */
  readonly sessionId: () => string;
  readonly isOpen: () => boolean;
  /** Resolves once handed to the network. @throws PosError: `NotProcessed` where nothing has left */
  readonly send: (data: string | Uint8Array) => Promise<void>;
  /**
   * Gets the session back after a break: what the terminal said meanwhile comes first. True where it is
   * the one from before; false where that was over and a new one was claimed.
   */
  readonly resume: (options?: ClaimOptions) => Promise<boolean>;
  /** Ends the session and frees the terminal. */
  readonly release: (options?: { signal?: AbortSignal | undefined }) => Promise<void>;
};

export type SessionDeps = {
  readonly control: Control;
  readonly tokens: Tokens;
  readonly tls: PosTls;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly posId: string | undefined;
};

const secondMs = 1000;
const orderly = 1000;
const unauthorizedStatus = 401;

function demandClaimed(answer: PosAnswer): ClaimedMessage {
  if (answer.type === 'claimed') return answer;
  throw new PosError('Relay', `a claim was answered by ${answer.type}`, {
    code: 'answer_unreadable',
  });
}

/** @throws PosError */
export async function claimSession(
  deps: SessionDeps,
  tsn: string,
  options: ClaimOptions,
  events: SessionEvents,
): Promise<Session> {
  const { control, tokens, tls, timeoutMs, clock, posId } = deps;
  let claimed: ClaimedMessage | undefined;
  let socket: WebSocket | undefined;
  let resumeToken: string | undefined;
  let coming: Promise<boolean> | undefined;
  let isReleased = false;
  const letGo = control.hold(tsn);

  async function free(sessionId: string, signal?: AbortSignal): Promise<void> {
    // Over a control connection that did not claim it, terminal and point of sale lead to the session.
    const named = { tsn, ...defined({ posId }) };
    await control.ask({ type: 'release', sessionId, ...named }, timeoutMs, signal);
  }

  function ended(which: WebSocket, end: SocketEnd): void {
    if (socket !== which) return;
    socket = undefined;
    if (!isReleased) events.broken(errorOfEnd(end));
  }

  /** A platform need not ask for it: the address is a secret itself. */
  async function tokenNow(
    signal: AbortSignal | undefined,
  ): Promise<{ token?: string; missing?: unknown }> {
    try {
      return { token: (await unlessAborted(tokens.get(), signal)).token };
    } catch (error) {
      if (signal?.aborted === true) throw error;
      return { missing: error };
    }
  }

  async function connectOnce(answer: ClaimedMessage, signal?: AbortSignal): Promise<void> {
    const { token, missing } = await tokenNow(signal);
    const early: (string | Buffer)[] = [];
    let made: WebSocket | undefined;
    const opened = await openSocket(
      {
        url: answer.sessionUrl,
        tls,
        timeoutMs,
        clock,
        signal,
        // A platform may want to see that the address is used by whoever was given it.
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        maxMessageBytes: connectorLimits.messageMaxBytes,
      },
      {
        message(data, isBinary) {
          const message = isBinary ? data : data.toString('utf8');
          if (made === undefined) early.push(message);
          else events.message(message);
        },
        closed: (end) => made !== undefined && ended(made, end),
      },
    ).catch((error: unknown) => {
      if (!(error instanceof PosError) || error.status !== unauthorizedStatus) throw error;
      // Where the platform asks for one, that there is none is what went wrong.
      if (token === undefined) throw missing;
      tokens.forget(token);
      throw error;
    });
    if (isReleased) {
      opened.close(orderly);
      throw closed();
    }
    made = opened;
    socket = opened;
    for (const message of early) events.message(message);
  }

  /** A token that was revoked before its end is replaced once; nobody has used the address then. */
  async function connect(answer: ClaimedMessage, signal?: AbortSignal): Promise<void> {
    demandUrl(answer.sessionUrl, 'sessionUrl', 'wss');
    try {
      await connectOnce(answer, signal);
    } catch (error) {
      if (!(error instanceof PosError) || error.status !== unauthorizedStatus) throw error;
      await connectOnce(answer, signal);
    }
  }

  async function begin(wanted: ClaimOptions): Promise<boolean> {
    const { waitSeconds = 0, takeOver, force, signal } = wanted;
    const answer = demandClaimed(
      await control.ask(
        {
          type: 'claim',
          tsn,
          waitSeconds,
          ...defined({ posId, takeOver, force, resumeToken }),
        },
        waitSeconds * secondMs + timeoutMs,
        signal,
      ),
    );
    try {
      // Whoever has released it meanwhile did not know of this one.
      if (isReleased) throw closed();
      claimed = answer;
      resumeToken = answer.resumeToken;
      await connect(answer, signal);
    } catch (error) {
      // An address that nobody uses would keep the terminal for a minute.
      await free(answer.sessionId).catch(() => control.isOpen());
      throw error;
    }
    return answer.resumed === true;
  }

  async function resume(wanted: ClaimOptions = {}): Promise<boolean> {
    if (isReleased) throw closed();
    if (socket !== undefined) return true;
    coming ??= begin(wanted).finally(() => {
      coming = undefined;
    });
    return unlessAborted(coming, wanted.signal);
  }

  async function release({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    if (isReleased) return;
    isReleased = true;
    letGo();
    const current = socket;
    socket = undefined;
    try {
      if (claimed !== undefined) await free(claimed.sessionId, signal);
    } catch (error) {
      // It has ended already, which is what was wanted.
      if (!(error instanceof PosError) || !gone.has(error.code)) throw error;
    } finally {
      current?.close(orderly);
    }
  }

  try {
    await begin(options);
  } catch (error) {
    letGo();
    throw error;
  }
  return {
    tsn,
    sessionId: () => claimed?.sessionId ?? '',
    isOpen: () => socket !== undefined,
    send: (data) => sendThrough(socket, data),
    resume,
    release,
  };
}
