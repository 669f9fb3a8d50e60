// Counts who waits on a connection: so many of a client, a device, an organisation, and in all.
import { Refusal } from '@switchyard/contract';
import type { Caller } from '../authentication/caller.ts';
import { connectionLimit } from '../limits/new-connection-limits.ts';

export type PlaceLimits = {
  readonly perClient: number;
  readonly perDevice: number;
  /** Of all its clients, wherever below it they act; its devices are counted by themselves. */
  readonly perOrganization: number;
  readonly inAll: number;
};

/** Of the connections some are left for requests that do not wait. */
export const defaultPlaceLimits: PlaceLimits = {
  perClient: 200,
  perDevice: 8,
  perOrganization: 1000,
  inAll: connectionLimit * 0.8,
};

const retryAfterMs = 5000;

type Place = { readonly end: (reason: string) => void };

export type Places = {
  /**
   * A place for somebody who waits, left by calling what it gives. A device that comes back has left
   * its oldest connection behind without the platform's knowing: that one is ended, with `replaced`.
   *
   * @throws Refusal rate_limited, overloaded
   */
  take(caller: Caller, end: (reason: string) => void): () => void;
  taken(): number;
};

export function createPlaces(limits: PlaceLimits = defaultPlaceLimits): Places {
  const places = new Map<string, Set<Place>>();
  const ofHome = new Map<string, number>();
  let taken = 0;

  /** Whoever acts below is counted where it comes from: it could have any number of organisations. */
  const homeOf = ({ organizationId, homeOrganizationId = organizationId }: Caller) =>
    homeOrganizationId;

  function countHome(caller: Caller, by: 1 | -1): void {
    if (caller.deviceId !== undefined) return;
    const home = homeOf(caller);
    const count = (ofHome.get(home) ?? 0) + by;
    if (count === 0) ofHome.delete(home);
    else ofHome.set(home, count);
  }

  function leave(key: string, own: Set<Place>, place: Place, caller: Caller): void {
    if (!own.delete(place)) return;
    taken -= 1;
    countHome(caller, -1);
    if (own.size === 0 && places.get(key) === own) places.delete(key);
  }

  /** Of one organisation and its device, or its client where no device is named. */
  function keyOf(caller: Caller): string {
    const { organizationId, clientId, deviceId } = caller;
    return deviceId === undefined
      ? `${homeOf(caller)}|${clientId}`
      : `${organizationId}||${deviceId}`;
  }

  return {
    take(caller, end) {
      const isDevice = caller.deviceId !== undefined;
      const key = keyOf(caller);
      const own = places.get(key) ?? new Set<Place>();
      const isFull = own.size >= (isDevice ? limits.perDevice : limits.perClient);
      if (isFull && !isDevice) {
        const detail = `The client waits on ${limits.perClient} connections already.`;
        throw new Refusal('rate_limited', detail, { retryAfterMs });
      }
      if (!isDevice && (ofHome.get(homeOf(caller)) ?? 0) >= limits.perOrganization) {
        const detail = `The organisation waits on ${limits.perOrganization} connections already.`;
        throw new Refusal('rate_limited', detail, { retryAfterMs });
      }
      if (!isFull && taken >= limits.inAll) {
        const detail = 'No more connections can wait for events here.';
        throw new Refusal('overloaded', detail, { retryAfterMs });
      }
      const [oldest] = own;
      if (isFull && oldest !== undefined) {
        leave(key, own, oldest, caller);
        oldest.end('replaced');
      }
      const place: Place = { end };
      own.add(place);
      places.set(key, own);
      taken += 1;
      countHome(caller, 1);
      return () => leave(key, own, place, caller);
    },
    taken: () => taken,
  };
}
