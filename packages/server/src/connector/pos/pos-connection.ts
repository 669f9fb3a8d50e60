// Handles the control connection of a point of sale, and answers each message by its request ID.
import {
  ClaimMessage,
  closeCodes,
  connectorLimits,
  defined,
  errorCodes,
  type PosAnswer,
  type PosMessage,
  ReleaseMessage,
  RenewTokenMessage,
  StatusMessage,
} from '@switchyard/contract';
import { Check } from 'typebox/schema';
import {
  type Caller,
  clientKeyOf,
  type PresentedCertificate,
  toProblemError,
} from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import { createForwarder, slowBytes } from '../forwarding/forward-messages.ts';
import type { WebSocketConnection } from '../forwarding/websocket-connections.ts';
import type { Message } from '../nodes/backplane.ts';
import {
  ConnectorFault,
  closeCodeForFault,
  errorMessageText,
  type RevocationReason,
  throwFault,
} from '../protocol/connector-fault.ts';
import { parseJsonObject } from '../protocol/parse-json-object.ts';
import type { ConcurrencyLimit } from '../runtime/concurrency-limit.ts';
import { claimTokenOf } from '../sessions/claim-token.ts';
import type { Asking, Claims, DeviceState, Got } from './claim-requests.ts';
import type { Cut } from './end-revoked-sessions.ts';

const schemas = {
  claim: ClaimMessage,
  status: StatusMessage,
  release: ReleaseMessage,
  renewToken: RenewTokenMessage,
} as const;

export type PosConnection = {
  /**
   * Closes the connection if the token expires, the first claim is late, or the POS does not read.
   */
  tick(now: number): void;
  recheck(): Promise<void>;
  close(): void;
};

type Held = {
  readonly got: Got;
  /** Ends the subscription and frees the place of the claim. */
  readonly end: () => void;
  isLive: boolean;
};

type Deps = {
  readonly peer: WebSocketConnection;
  readonly claims: Claims;
  /** Counts the claims of all connections, both in progress and stored. */
  readonly places: ConcurrencyLimit;
  readonly caller: Caller;
  readonly token: string;
  readonly presented: PresentedCertificate;
  readonly verify: (token: string, presented: PresentedCertificate) => Promise<Caller>;
  readonly askingOf: (caller: Caller) => Asking;
  /** The deadline of the first claim. */
  readonly claimBy: number;
  /** How long the POS may read none of its messages. */
  readonly slowMs: number;
  readonly now: () => number;
  /** False if the POS sends too many messages. */
  readonly mayAsk: () => boolean;
  readonly told: (fault: ConnectorFault) => void;
  /** Ends sessions on any node. */
  readonly cut: (lost: readonly Cut[]) => void;
  readonly broken: (error: unknown) => void;
};

/** Too many claims are in progress; they finish within this time. */
const busySeconds = 1;
const unauthorizedStatus = 401;
/** The number of stored sessions that the server checks for each claim without a free place. */
const lookedAtMost = 4;

/**
 * Returns undefined for an internal fault, such as an unavailable database, which says nothing
 * about the token.
 */
function tokenFaultOf(error: unknown): 'unauthorized' | 'token_expired' | undefined {
  const code = toProblemError(error)?.code;
  if (code === undefined || code === 'token_expired') return code;
  return errorCodes[code].status === unauthorizedStatus ? 'unauthorized' : undefined;
}

/** @throws bad_message */
function readMessage(text: string): PosMessage {
  const sent = parseJsonObject(text) ?? throwFault('bad_message');
  const type = sent['type'];
  const schema =
    typeof type === 'string' && Object.hasOwn(schemas, type)
      ? schemas[type as keyof typeof schemas]
      : throwFault('bad_message');
  return Check(schema, sent) ? (sent as unknown as PosMessage) : throwFault('bad_message');
}

/** Finds the request ID for the answer, even if the rest of the message is invalid. */
function requestIdIn(text: string): string | undefined {
  const requestId = parseJsonObject(text)?.['requestId'];
  return typeof requestId === 'string' && requestId.length <= 64 ? requestId : undefined;
}

const stateMessage = ({ tsn, online, claimed, lastSeenAt }: DeviceState) => ({
  type: 'deviceStatus' as const,
  tsn,
  online,
  claimed,
  ...defined({ lastSeenAt: lastSeenAt === undefined ? undefined : isoTime(lastSeenAt) }),
});

/** Returns why the token does not allow claims any more, or undefined. */
async function lostRight(
  { verify, presented, claims }: Pick<Deps, 'verify' | 'presented' | 'claims'>,
  token: string,
): Promise<RevocationReason | 'token_expired' | undefined> {
  try {
    const known = await verify(token, presented);
    return known.permissions.has('cc.pos') ? await claims.roleFault(known) : 'role_missing';
  } catch (error) {
    const fault = tokenFaultOf(error);
    if (fault === undefined) throw error;
    return fault;
  }
}

/** The message has no answer and may get lost, so the server repeats it at each recheck. */
function tellRenewed(claims: Claims, live: readonly [string, Held][], caller: Caller): void {
  for (const [id, { got }] of live) claims.renewed(got, id, claimTokenOf(caller));
}

/** @example const connection = openPosConnection(deps); */
export function openPosConnection(deps: Deps): PosConnection {
  const { peer, claims } = deps;
  let { caller, token } = deps;
  let isAsked = false;
  let running = 0;
  let isClosed = false;
  const leaving = new AbortController();
  const held = new Map<string, Held>();

  // If the POS does not read its answers, the server stops reading its requests.
  const toPos = createForwarder({ from: peer, to: peer, now: deps.now, onForwarded: () => {} });
  const say = (message: PosAnswer) => tell(JSON.stringify(message));
  const live = () => [...held].filter(([, { isLive }]) => isLive);

  function end(fault: ConnectorFault): void {
    if (isClosed) return;
    isClosed = true;
    deps.told(fault);
    peer.send(errorMessageText(fault, peer.correlationId));
    peer.close(closeCodeForFault(fault.code), fault.code);
  }

  /** Sends no error message, because it would only use more memory. */
  function giveUp(): void {
    if (isClosed) return;
    isClosed = true;
    peer.close(closeCodes.slowConsumer, 'slow_consumer');
  }

  function tell(text: string): void {
    toPos.forward(Buffer.from(text), false);
    // Status messages arrive even while the server does not read from the POS, so the queue can
    // grow.
    if (peer.buffered() > slowBytes) giveUp();
  }

  function hearNews(sessionId: string, news: Message): void {
    const claim = held.get(sessionId);
    if (claim === undefined || isClosed) return;
    if (news['kind'] === 'ended' && news['sessionId'] === sessionId) claim.isLive = false;
    if (news['kind'] !== 'status') return;
    const { online, claimed, lastSeenAt } = news;
    // The connection may have missed the message about the end of the session.
    if (claimed !== true) claim.isLive = false;
    const { tsn } = claim.got.device;
    const state = { online: online === true, claimed: claimed === true };
    say(stateMessage({ tsn, ...state, lastSeenAt: Number(lastSeenAt) }));
  }

  /**
   * A claim replaces an earlier claim of the same device and, at the limit, claims that have ended.
   */
  function remember(got: Got, leave: () => void): void {
    const { sessionId, device } = got;
    for (const [id, { got: former, isLive }] of held) {
      const isSame = former.device.physicalDeviceId === device.physicalDeviceId;
      const isRoomNeeded = !isLive && held.size >= connectorLimits.claimsPerConnection;
      if (isSame || isRoomNeeded) forget(id);
    }
    const unwatch = claims.watch(device, (news) => hearNews(sessionId, news));
    const endBoth = () => {
      unwatch();
      leave();
    };
    held.set(sessionId, { got, end: endBoth, isLive: true });
  }

  function forget(sessionId: string): void {
    held.get(sessionId)?.end();
    held.delete(sessionId);
  }

  /**
   * Checks the oldest claims, because a missed end would block new claims for ever. Checked claims
   * move to the end, so that the next check takes others.
   */
  async function lookAtOldest(): Promise<void> {
    const oldest = live().slice(0, lookedAtMost);
    for (const [sessionId, claim] of oldest) {
      held.delete(sessionId);
      held.set(sessionId, claim);
    }
    const look = async ([sessionId, claim]: [string, Held]) => {
      if (!(await claims.holds(claim.got, sessionId))) claim.isLive = false;
    };
    await Promise.all(oldest.map(look));
  }

  const isFull = () => live().length + running > connectorLimits.claimsPerConnection;

  /** @throws too_many_claims */
  async function demandRoom(): Promise<void> {
    if (isFull()) await lookAtOldest();
    if (isFull()) throwFault('too_many_claims');
  }

  /**
   * Takes a place; if none is free, the server frees the place of an ended session of this
   * connection.
   *
   * @throws rate_limited
   */
  async function takePlace(): Promise<() => void> {
    const { places } = deps;
    const whose = clientKeyOf(caller);
    const first = places.acquire(whose);
    if (typeof first === 'function') return first;
    const findEnded = () => [...held].find(([, { isLive }]) => !isLive);
    if (findEnded() === undefined) await lookAtOldest();
    const ended = findEnded();
    if (ended !== undefined) forget(ended[0]);
    const second = places.acquire(whose);
    return typeof second === 'function'
      ? second
      : throwFault('rate_limited', { retryAfterSeconds: busySeconds });
  }

  async function claimed(wanted: ClaimMessage): Promise<Got> {
    const asking = deps.askingOf(caller);
    const got = await claims.claim(asking, wanted, leaving.signal);
    if (!isClosed) {
      if (asking.caller !== caller) claims.renewed(got, got.sessionId, claimTokenOf(caller));
      return got;
    }
    await claims.release(got, got.sessionId);
    return throwFault('restarting');
  }

  async function claim(wanted: ClaimMessage): Promise<PosAnswer> {
    isAsked = true;
    await demandRoom();
    const leave = await takePlace();
    const got = await claimed(wanted).catch((error: unknown) => {
      leave();
      throw error;
    });
    remember(got, leave);
    return {
      type: 'claimed',
      requestId: wanted.requestId,
      tsn: got.device.tsn,
      sessionId: got.sessionId,
      sessionUrl: got.sessionUrl,
      expiresIn: Math.ceil(got.expiresInMs / 1000),
      resumeToken: got.resumeToken,
      ...(got.isResumed ? { resumed: true } : {}),
    };
  }

  /** Finds the session of a broken control connection by its terminal and its owner. */
  function namedBy({ tsn, posId }: ReleaseMessage): Promise<Pick<Got, 'device' | 'owner'>> {
    if (tsn === undefined) return throwFault('session_unknown');
    return claims.own(deps.askingOf(caller), { tsn, posId });
  }

  async function release(message: ReleaseMessage): Promise<PosAnswer> {
    const { requestId, sessionId } = message;
    const isReleased = await claims.release(
      held.get(sessionId)?.got ?? (await namedBy(message)),
      sessionId,
    );
    // The claim is removed only now, so that the POS can retry a failed release.
    forget(sessionId);
    if (!isReleased) throwFault('session_unknown');
    return { type: 'released', requestId, sessionId };
  }

  async function renew(message: RenewTokenMessage): Promise<PosAnswer> {
    const renewed = await deps.verify(message.token, deps.presented).catch((error: unknown) => {
      const fault = tokenFaultOf(error);
      if (fault === undefined) throw error;
      return throwFault(fault);
    });
    const isSame =
      renewed.clientId === caller.clientId && renewed.organizationId === caller.organizationId;
    if (!isSame) throwFault('unauthorized');
    if (!renewed.permissions.has('cc.pos')) throwFault('role_missing');
    const fault = await claims.roleFault(renewed);
    if (fault !== undefined) throwFault(fault);
    caller = renewed;
    token = message.token;
    tellRenewed(claims, live(), caller);
    const expiresIn = Math.max(0, Math.floor((caller.expiresAt - deps.now()) / 1000));
    const { requestId } = message;
    return { type: 'tokenRenewed', ...defined({ requestId }), expiresIn };
  }

  async function answer(message: PosMessage): Promise<PosAnswer> {
    switch (message.type) {
      case 'claim':
        return claim(message);
      case 'status': {
        const { requestId, tsn } = message;
        return { ...stateMessage(await claims.status(deps.askingOf(caller), tsn)), requestId };
      }
      case 'release':
        return release(message);
      default:
        return renew(message);
    }
  }

  async function hear(text: string): Promise<void> {
    const requestId = requestIdIn(text);
    running += 1;
    try {
      const told = await answer(readMessage(text));
      if (!isClosed) say(told);
    } catch (error) {
      if (!(error instanceof ConnectorFault)) deps.broken(error);
      if (isClosed) return;
      const fault = error instanceof ConnectorFault ? error : new ConnectorFault('unavailable');
      // The server disconnects a client that does not follow the protocol.
      if (fault.code === 'bad_message') return end(fault);
      deps.told(fault);
      tell(errorMessageText(fault, peer.correlationId, requestId));
    } finally {
      running -= 1;
    }
  }

  function tick(now: number): void {
    if (now - (toPos.slowSince() ?? now) >= deps.slowMs) giveUp();
    else if (now >= caller.expiresAt) end(new ConnectorFault('token_expired'));
    else if (!isAsked && now >= deps.claimBy) end(new ConnectorFault('timeout'));
  }

  async function recheck(): Promise<void> {
    if (isClosed) return;
    const asked = token;
    const before = live();
    const word = await lostRight(deps, asked);
    // The POS has sent another token since then; the next round checks that one.
    if (asked !== token) return;
    if (word === undefined) {
      if (token !== deps.token) tellRenewed(claims, live(), caller);
      return;
    }
    // Includes claims that came during the check, and earlier claims if the connection is now
    // closed.
    const lost = new Map([...before, ...live()]);
    end(new ConnectorFault(word));
    // An expired token was valid before, so its sessions continue.
    if (word === 'token_expired') return;
    deps.cut(
      [...lost].flatMap(([sessionId, { got, isLive }]) => {
        const { device, owner } = got;
        return isLive ? { got: { device, owner }, sessionId, word } : [];
      }),
    );
  }

  function close(): void {
    isClosed = true;
    leaving.abort();
    for (const sessionId of [...held.keys()]) forget(sessionId);
  }

  function take(data: Buffer, isBinary: boolean): void {
    if (isClosed) return;
    if (isBinary) end(new ConnectorFault('bad_message'));
    else if (running > connectorLimits.claimsPerConnection || !deps.mayAsk()) {
      end(new ConnectorFault('rate_limited'));
    } else void hear(data.toString());
  }

  peer.onMessage(take);
  peer.onClose(close);

  return { close, recheck, tick };
}
