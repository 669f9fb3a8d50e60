// Handles the control connection of a point of sale, and answers each message by its request ID.
import {
  ClaimMessage,
  closeCodes,
  connectorLimits,
  defined,
  errorCodes,
  type PosAnswer,
  type PosMessage,
  parseJsonObject,
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
import { type ConcurrencyCounter, isoTime } from '../../platform/index.ts';
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
import { claimTokenOf } from '../sessions/claim-token.ts';
import type { ClaimedDevice, Claims, DeviceStatus, PosCaller } from './claim-requests.ts';
import type { Revocation } from './end-revoked-sessions.ts';

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

type HeldClaim = {
  readonly claimedDevice: ClaimedDevice;
  /** Ends the subscription and frees the place of the claim. */
  readonly release: () => void;
  isActive: boolean;
};

type Deps = {
  readonly peer: WebSocketConnection;
  readonly claims: Claims;
  /** Counts the claims of all connections, both in progress and stored. */
  readonly claimLimit: Pick<ConcurrencyCounter, 'tryBegin'>;
  readonly caller: Caller;
  readonly token: string;
  readonly presentedCertificate: PresentedCertificate;
  readonly verify: (token: string, presentedCertificate: PresentedCertificate) => Promise<Caller>;
  readonly posCallerOf: (caller: Caller) => PosCaller;
  /** The deadline of the first claim. */
  readonly claimDeadline: number;
  /** How long the POS may read none of its messages. */
  readonly slowReaderMs: number;
  readonly now: () => number;
  /** False if the POS sends too many messages. */
  readonly takeMessage: () => boolean;
  readonly onFault: (fault: ConnectorFault) => void;
  /** Ends sessions on any node. */
  readonly revoke: (lostClaims: readonly Revocation[]) => void;
  readonly onError: (error: unknown) => void;
};

/** Too many claims are in progress; they finish within this time. */
const busySeconds = 1;
const unauthorizedStatus = 401;
/** The number of stored sessions that the server checks for each claim without a free place. */
const claimsCheckedMax = 4;

/**
 * Returns undefined for an internal fault, such as an unavailable database, which says nothing
 * about the token.
 */
function findTokenFault(error: unknown): 'unauthorized' | 'token_expired' | undefined {
  const code = toProblemError(error)?.code;
  if (code === undefined || code === 'token_expired') return code;
  return errorCodes[code].status === unauthorizedStatus ? 'unauthorized' : undefined;
}

/** @throws bad_message */
function readPosMessage(text: string): PosMessage {
  const parsed = parseJsonObject(text) ?? throwFault('bad_message');
  const type = parsed['type'];
  const schema =
    typeof type === 'string' && Object.hasOwn(schemas, type)
      ? schemas[type as keyof typeof schemas]
      : throwFault('bad_message');
  return Check(schema, parsed) ? (parsed as unknown as PosMessage) : throwFault('bad_message');
}

/** Finds the request ID for the answer, even if the rest of the message is invalid. */
function readRequestId(text: string): string | undefined {
  const requestId = parseJsonObject(text)?.['requestId'];
  return typeof requestId === 'string' && requestId.length <= 64 ? requestId : undefined;
}

const statusMessage = ({ tsn, online, claimed, lastSeenAt }: DeviceStatus) => ({
  type: 'deviceStatus' as const,
  tsn,
  online,
  claimed,
  ...defined({ lastSeenAt: lastSeenAt === undefined ? undefined : isoTime(lastSeenAt) }),
});

/** Returns why the token does not allow claims any more, or undefined. */
async function findRevocation(
  {
    verify,
    presentedCertificate,
    claims,
  }: Pick<Deps, 'verify' | 'presentedCertificate' | 'claims'>,
  token: string,
): Promise<RevocationReason | 'token_expired' | undefined> {
  try {
    const verifiedCaller = await verify(token, presentedCertificate);
    return verifiedCaller.permissions.has('cc.pos')
      ? await claims.roleFault(verifiedCaller)
      : 'role_missing';
  } catch (error) {
    const fault = findTokenFault(error);
    if (fault === undefined) throw error;
    return fault;
  }
}

/** The message has no answer and may get lost, so the server repeats it at each recheck. */
function publishRenewedToken(
  claims: Claims,
  activeClaims: readonly [string, HeldClaim][],
  caller: Caller,
): void {
  for (const [id, { claimedDevice }] of activeClaims)
    claims.publishRenewedToken(claimedDevice, id, claimTokenOf(caller));
}

/** @example const connection = openPosConnection(deps); */
export function openPosConnection(deps: Deps): PosConnection {
  const { peer, claims } = deps;
  let { caller, token } = deps;
  let hasClaimed = false;
  let running = 0;
  let isClosed = false;
  const closed = new AbortController();
  const claimsById = new Map<string, HeldClaim>();

  // If the POS does not read its answers, the server stops reading its requests.
  const outgoing = createForwarder({ from: peer, to: peer, now: deps.now, onForwarded: () => {} });
  const sendAnswer = (message: PosAnswer) => sendText(JSON.stringify(message));
  const activeClaims = () => [...claimsById].filter(([, { isActive }]) => isActive);

  function closeWithFault(fault: ConnectorFault): void {
    if (isClosed) return;
    isClosed = true;
    deps.onFault(fault);
    peer.send(errorMessageText(fault, peer.correlationId));
    peer.close(closeCodeForFault(fault.code), fault.code);
  }

  /** Sends no error message, because it would only use more memory. */
  function closeSlowReader(): void {
    if (isClosed) return;
    isClosed = true;
    peer.close(closeCodes.slowConsumer, 'slow_consumer');
  }

  function sendText(text: string): void {
    outgoing.forward(Buffer.from(text), false);
    // Status messages arrive even while the server does not read from the POS, so the queue can
    // grow.
    if (peer.buffered() > slowBytes) closeSlowReader();
  }

  function handleDeviceMessage(sessionId: string, message: Message): void {
    const claim = claimsById.get(sessionId);
    if (claim === undefined || isClosed) return;
    if (message['kind'] === 'ended' && message['sessionId'] === sessionId) claim.isActive = false;
    if (message['kind'] !== 'status') return;
    const { online, claimed, lastSeenAt } = message;
    // The connection may have missed the message about the end of the session.
    if (claimed !== true) claim.isActive = false;
    const { tsn } = claim.claimedDevice.device;
    const state = { online: online === true, claimed: claimed === true };
    sendAnswer(statusMessage({ tsn, ...state, lastSeenAt: Number(lastSeenAt) }));
  }

  /**
   * A claim replaces an earlier claim of the same device and, at the limit, claims that have ended.
   */
  function storeClaim(claimedDevice: ClaimedDevice, releaseSlot: () => void): void {
    const { sessionId, device } = claimedDevice;
    for (const [id, { claimedDevice: earlier, isActive }] of claimsById) {
      const isSameClient = earlier.device.physicalDeviceId === device.physicalDeviceId;
      const isCapacityNeeded = !isActive && claimsById.size >= connectorLimits.claimsPerConnection;
      if (isSameClient || isCapacityNeeded) removeClaim(id);
    }
    const stopWatching = claims.watch(device, (message) => handleDeviceMessage(sessionId, message));
    const release = () => {
      stopWatching();
      releaseSlot();
    };
    claimsById.set(sessionId, { claimedDevice, release, isActive: true });
  }

  function removeClaim(sessionId: string): void {
    claimsById.get(sessionId)?.release();
    claimsById.delete(sessionId);
  }

  /**
   * Checks the oldest claims, because a missed end would block new claims for ever. Checked claims
   * move to the end, so that the next check takes others.
   */
  async function recheckOldest(): Promise<void> {
    const oldest = activeClaims().slice(0, claimsCheckedMax);
    for (const [sessionId, claim] of oldest) {
      claimsById.delete(sessionId);
      claimsById.set(sessionId, claim);
    }
    const recheckClaim = async ([sessionId, claim]: [string, HeldClaim]) => {
      if (!(await claims.hasSession(claim.claimedDevice, sessionId))) claim.isActive = false;
    };
    await Promise.all(oldest.map(recheckClaim));
  }

  const isFull = () => activeClaims().length + running > connectorLimits.claimsPerConnection;

  /** @throws too_many_claims */
  async function requireClaimCapacity(): Promise<void> {
    if (isFull()) await recheckOldest();
    if (isFull()) throwFault('too_many_claims');
  }

  /**
   * Takes a place; if none is free, the server frees the place of an ended session of this
   * connection.
   *
   * @throws rate_limited
   */
  async function acquireSlot(): Promise<() => void> {
    const { claimLimit } = deps;
    const clientKey = clientKeyOf(caller);
    const first = claimLimit.tryBegin(clientKey);
    if (typeof first === 'function') return first;
    const findEnded = () => [...claimsById].find(([, { isActive }]) => !isActive);
    if (findEnded() === undefined) await recheckOldest();
    const ended = findEnded();
    if (ended !== undefined) removeClaim(ended[0]);
    const second = claimLimit.tryBegin(clientKey);
    return typeof second === 'function'
      ? second
      : throwFault('rate_limited', { retryAfterSeconds: busySeconds });
  }

  async function requestClaim(claimMessage: ClaimMessage): Promise<ClaimedDevice> {
    const posCaller = deps.posCallerOf(caller);
    const claimedDevice = await claims.claim(posCaller, claimMessage, closed.signal);
    if (!isClosed) {
      if (posCaller.caller !== caller)
        claims.publishRenewedToken(claimedDevice, claimedDevice.sessionId, claimTokenOf(caller));
      return claimedDevice;
    }
    await claims.release(claimedDevice, claimedDevice.sessionId);
    return throwFault('restarting');
  }

  async function claim(claimMessage: ClaimMessage): Promise<PosAnswer> {
    hasClaimed = true;
    await requireClaimCapacity();
    const releaseSlot = await acquireSlot();
    const claimedDevice = await requestClaim(claimMessage).catch((error: unknown) => {
      releaseSlot();
      throw error;
    });
    storeClaim(claimedDevice, releaseSlot);
    return {
      type: 'claimed',
      requestId: claimMessage.requestId,
      tsn: claimedDevice.device.tsn,
      sessionId: claimedDevice.sessionId,
      sessionUrl: claimedDevice.sessionUrl,
      expiresIn: Math.ceil(claimedDevice.expiresInMs / 1000),
      resumeToken: claimedDevice.resumeToken,
      ...(claimedDevice.isResumed ? { resumed: true } : {}),
    };
  }

  /** Finds the session of a broken control connection by its terminal and its owner. */
  function findByTerminal({
    tsn,
    posId,
  }: ReleaseMessage): Promise<Pick<ClaimedDevice, 'device' | 'owner'>> {
    if (tsn === undefined) return throwFault('session_unknown');
    return claims.findDeviceAndOwner(deps.posCallerOf(caller), { tsn, posId });
  }

  async function release(message: ReleaseMessage): Promise<PosAnswer> {
    const { requestId, sessionId } = message;
    const isReleased = await claims.release(
      claimsById.get(sessionId)?.claimedDevice ?? (await findByTerminal(message)),
      sessionId,
    );
    // The claim is removed only now, so that the POS can retry a failed release.
    removeClaim(sessionId);
    if (!isReleased) throwFault('session_unknown');
    return { type: 'released', requestId, sessionId };
  }

  async function renew(message: RenewTokenMessage): Promise<PosAnswer> {
    const renewed = await deps
      .verify(message.token, deps.presentedCertificate)
      .catch((error: unknown) => {
        const fault = findTokenFault(error);
        if (fault === undefined) throw error;
        return throwFault(fault);
      });
    const isSameClient =
      renewed.clientId === caller.clientId && renewed.organizationId === caller.organizationId;
    if (!isSameClient) throwFault('unauthorized');
    if (!renewed.permissions.has('cc.pos')) throwFault('role_missing');
    const fault = await claims.roleFault(renewed);
    if (fault !== undefined) throwFault(fault);
    caller = renewed;
    token = message.token;
    publishRenewedToken(claims, activeClaims(), caller);
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
        return { ...statusMessage(await claims.status(deps.posCallerOf(caller), tsn)), requestId };
      }
      case 'release':
        return release(message);
      default:
        return renew(message);
    }
  }

  async function handleMessage(text: string): Promise<void> {
    const requestId = readRequestId(text);
    running += 1;
    try {
      const posAnswer = await answer(readPosMessage(text));
      if (!isClosed) sendAnswer(posAnswer);
    } catch (error) {
      if (!(error instanceof ConnectorFault)) deps.onError(error);
      if (isClosed) return;
      const fault = error instanceof ConnectorFault ? error : new ConnectorFault('unavailable');
      // The server disconnects a client that does not follow the protocol.
      if (fault.code === 'bad_message') return closeWithFault(fault);
      deps.onFault(fault);
      sendText(errorMessageText(fault, peer.correlationId, requestId));
    } finally {
      running -= 1;
    }
  }

  function tick(now: number): void {
    if (now - (outgoing.slowSince() ?? now) >= deps.slowReaderMs) closeSlowReader();
    else if (now >= caller.expiresAt) closeWithFault(new ConnectorFault('token_expired'));
    else if (!hasClaimed && now >= deps.claimDeadline)
      closeWithFault(new ConnectorFault('timeout'));
  }

  async function recheck(): Promise<void> {
    if (isClosed) return;
    const checkedToken = token;
    const activeBefore = activeClaims();
    const reason = await findRevocation(deps, checkedToken);
    // The POS has sent another token since then; the next round checks that one.
    if (checkedToken !== token) return;
    if (reason === undefined) {
      if (token !== deps.token) publishRenewedToken(claims, activeClaims(), caller);
      return;
    }
    // Includes claims that came during the check, and earlier claims if the connection is now
    // closed.
    const lostClaims = new Map([...activeBefore, ...activeClaims()]);
    closeWithFault(new ConnectorFault(reason));
    // An expired token was valid before, so its sessions continue.
    if (reason === 'token_expired') return;
    deps.revoke(
      [...lostClaims].flatMap(([sessionId, { claimedDevice, isActive }]) => {
        const { device, owner } = claimedDevice;
        return isActive ? { claimedDevice: { device, owner }, sessionId, reason } : [];
      }),
    );
  }

  function close(): void {
    isClosed = true;
    closed.abort();
    for (const sessionId of [...claimsById.keys()]) removeClaim(sessionId);
  }

  function handleFrame(data: Buffer, isBinary: boolean): void {
    if (isClosed) return;
    if (isBinary) closeWithFault(new ConnectorFault('bad_message'));
    else if (running > connectorLimits.claimsPerConnection || !deps.takeMessage()) {
      closeWithFault(new ConnectorFault('rate_limited'));
    } else void handleMessage(data.toString());
  }

  peer.onMessage(handleFrame);
  peer.onClose(close);

  return { close, recheck, tick };
}
