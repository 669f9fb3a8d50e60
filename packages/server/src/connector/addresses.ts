// The addresses of the sessions of this node: each is used once, here or by way of another node.
import type { FarSessions, User } from './nodes/index.ts';
import type { End } from './relay.ts';
import type { Ending, Session } from './session.ts';

export type JoinedEnd = {
  heard(data: Buffer, isBinary: boolean): void;
  /** `isDone`: it closed in good order, and does not come back. */
  lost(isDone: boolean): void;
};

type Holder = { readonly session: Session | undefined };

type Deps<Held extends Holder> = {
  /** By their identifiers, which are the secrets in their addresses. */
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
    /** The session behind an address, which is used up by that. */
    useAddress(sessionId: string, by?: User): boolean {
      const session = sessions.get(sessionId)?.session;
      if (session === undefined) return false;
      const { organizationId, clientId } = session.claimant;
      const isOwn =
        by === undefined || (by.organizationId === organizationId && by.clientId === clientId);
      return isOwn && session.useAddress();
    },

    /** Connects a POS whose address was used; undefined where the session has ended meanwhile. */
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

    /** Whether it is one of this node, whatever has become of its address. */
    knows: (sessionId: string): boolean => sessions.has(sessionId),

    /** Lets points of sale come by way of other nodes too. */
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
