// Manages the session addresses of this node; each address can be used only once.

import type { MessageEndpoint } from '../forwarding/forward-messages.ts';
import type { RemoteSessions, SessionAddressClient } from '../nodes/index.ts';
import type { Session, SessionEnd } from './session.ts';

export type PosSessionConnection = {
  receive(data: Buffer, isBinary: boolean): void;
  /** `isDone` is true if the POS closed with the code `done` and does not reconnect. */
  disconnected(isDone: boolean): void;
};

type SessionHolder = { readonly session: Session | undefined };

type Deps<Holder extends SessionHolder> = {
  /** The keys are session identifiers, which are the secret part of the session addresses. */
  readonly sessions: ReadonlyMap<string, Holder>;
  readonly endSession: (holder: Holder, ending: SessionEnd) => void;
  readonly releasedEnd: SessionEnd;
  readonly remoteSessions: Pick<RemoteSessions, 'publish'> | undefined;
};

/** @example const addresses = createSessionAddresses({ sessions, endSession, releasedEnd, remoteSessions }); */
export function createSessionAddresses<Holder extends SessionHolder>(deps: Deps<Holder>) {
  const { sessions, endSession, releasedEnd, remoteSessions } = deps;
  const withdrawals = new Map<string, () => void>();

  const addresses = {
    /**
     * Uses up the address of a session; returns false if the address is not valid for this user.
     */
    useAddress(sessionId: string, user?: SessionAddressClient): boolean {
      const session = sessions.get(sessionId)?.session;
      if (session === undefined) return false;
      const { organizationId, clientId } = session.claimant;
      const isOwn =
        user === undefined ||
        (user.organizationId === organizationId && user.clientId === clientId);
      return isOwn && session.useAddress();
    },

    /**
     * Connects a POS that used the address; returns undefined if the session has ended since then.
     */
    join(sessionId: string, endpoint: MessageEndpoint): PosSessionConnection | undefined {
      const entry = sessions.get(sessionId);
      const session = entry?.session;
      if (entry === undefined || session === undefined) return undefined;
      session.open(endpoint);
      return {
        receive: (data, isBinary) => session.receiveFromPos(data, isBinary),
        disconnected(isDone) {
          const isResumable = session.posDisconnected(endpoint);
          if (entry.session !== session || (isResumable && !isDone)) return;
          endSession(entry, releasedEnd);
        },
      };
    },

    /** True if the session is on this node, even if its address was already used. */
    hasSession: (sessionId: string): boolean => sessions.has(sessionId),

    /** Lets points of sale on other nodes connect to this session. */
    publish(sessionId: string): void {
      if (remoteSessions === undefined) return;
      const useAddress = (user: SessionAddressClient | undefined) =>
        addresses.useAddress(sessionId, user);
      const join = (endpoint: MessageEndpoint) => addresses.join(sessionId, endpoint);
      withdrawals.set(sessionId, remoteSessions.publish(sessionId, { useAddress, join }));
    },
    withdraw(sessionId: string): void {
      withdrawals.get(sessionId)?.();
      withdrawals.delete(sessionId);
    },
  };
  return addresses;
}
