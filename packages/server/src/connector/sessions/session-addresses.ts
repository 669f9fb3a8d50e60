// Manages the session addresses of this node; each address can be used only once.

import type { End } from '../forwarding/forward-messages.ts';
import type { FarSessions, User } from '../nodes/index.ts';
import type { Ending, Session } from './session.ts';

export type JoinedEnd = {
  heard(data: Buffer, isBinary: boolean): void;
  /** `isDone` is true if the POS closed with the code `done` and does not reconnect. */
  lost(isDone: boolean): void;
};

type Holder = { readonly session: Session | undefined };

type Deps<Held extends Holder> = {
  /** The keys are session identifiers, which are the secret part of the session addresses. */
  readonly sessions: ReadonlyMap<string, Held>;
  readonly endSession: (held: Held, ending: Ending) => void;
  readonly released: Ending;
  readonly far: Pick<FarSessions, 'offer'> | undefined;
};

/** @example const addresses = createAddresses({ sessions, endSession, released, far }); */
export function createAddresses<Held extends Holder>(deps: Deps<Held>) {
  const { sessions, endSession, released, far } = deps;
  const offers = new Map<string, () => void>();

  const addresses = {
    /**
     * Uses up the address of a session; returns false if the address is not valid for this user.
     */
    useAddress(sessionId: string, by?: User): boolean {
      const session = sessions.get(sessionId)?.session;
      if (session === undefined) return false;
      const { organizationId, clientId } = session.claimant;
      const isOwn =
        by === undefined || (by.organizationId === organizationId && by.clientId === clientId);
      return isOwn && session.useAddress();
    },

    /**
     * Connects a POS that used the address; returns undefined if the session has ended since then.
     */
    join(sessionId: string, end: End): JoinedEnd | undefined {
      const entry = sessions.get(sessionId);
      const session = entry?.session;
      if (entry === undefined || session === undefined) return undefined;
      session.open(end);
      return {
        heard: (data, isBinary) => session.fromPos(data, isBinary),
        lost(isDone) {
          const isKept = session.posLost(end);
          if (entry.session !== session || (isKept && !isDone)) return;
          endSession(entry, released);
        },
      };
    },

    /** True if the session is on this node, even if its address was already used. */
    knows: (sessionId: string): boolean => sessions.has(sessionId),

    /** Lets points of sale on other nodes connect to this session. */
    offer(sessionId: string): void {
      if (far === undefined) return;
      const use = (by: User | undefined) => addresses.useAddress(sessionId, by);
      const join = (end: End) => addresses.join(sessionId, end);
      offers.set(sessionId, far.offer(sessionId, { use, join }));
    },
    withdraw(sessionId: string): void {
      offers.get(sessionId)?.();
      offers.delete(sessionId);
    },
  };
  return addresses;
}
